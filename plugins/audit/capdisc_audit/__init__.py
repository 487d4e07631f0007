"""Measures a collection: what clients show of it, how well it answers, and stubs of its functions."""
