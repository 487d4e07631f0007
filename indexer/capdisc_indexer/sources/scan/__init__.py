"""Finds files of capabilities below roots, and remembers folders that did not change."""
