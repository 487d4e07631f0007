"""Reads files of capability descriptions: which there are, and what they say."""
