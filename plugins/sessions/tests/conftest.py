"""Cases that are typed."""

from typed_cases import open_workspace, shared_folder, type_case, type_in_workspace

__all__ = ["open_workspace", "shared_folder", "type_case", "type_in_workspace"]
