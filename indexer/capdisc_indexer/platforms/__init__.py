"""What differs between operating systems: `system` is the module for this one. No other module
asks which one that is.
"""

from capdisc_indexer.platforms.file_names import resolve_path, spell_path, system, to_nfc

__all__ = ["resolve_path", "spell_path", "system", "to_nfc"]
