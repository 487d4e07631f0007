"""What differs between operating systems: `system` is the module for this one. No other module asks
which one that is.
"""

import sys

if sys.platform == "win32":
    from capdisc_indexer.platforms import windows as system
else:
    from capdisc_indexer.platforms import posix as system

__all__ = ["system"]
