"""One module or package for each format of capabilities."""
