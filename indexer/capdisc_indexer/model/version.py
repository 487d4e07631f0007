"""The release, which the distribution, the manifest of an index and MCP name."""

__version__ = "0.1.0"
