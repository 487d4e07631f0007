"""What differs between operating systems: `system` is the module for this one. No other module asks
which one that is.
"""

from capdisc_indexer.platforms.current import system
from capdisc_indexer.platforms.file_names import compose, resolve_path, spell_path

__all__ = ["compose", "resolve_path", "spell_path", "system"]
