"""`system`: the module for the operating system that this is."""

import sys

if sys.platform == "win32":
    from capdisc_indexer.platforms import windows as system
else:
    from capdisc_indexer.platforms import posix as system

__all__ = ["system"]
