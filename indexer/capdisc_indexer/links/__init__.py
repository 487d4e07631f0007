"""Resolves the links of a capability to files of its folder or to the web."""
