"""Relates capabilities: what they declare about each other, and what their interfaces show."""
