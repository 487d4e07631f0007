"""Measures of the product's own code: size, knots, names and walks. `just house` prints them."""
