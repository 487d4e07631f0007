"""Cases that are typed."""

from typed_cases import open_workspace, shared_folder, type_case

__all__ = ["open_workspace", "shared_folder", "type_case"]
