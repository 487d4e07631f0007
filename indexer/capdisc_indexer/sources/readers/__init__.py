"""Reads untrusted bytes, text, YAML and JSON within limits."""
