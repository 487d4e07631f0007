"""Cases that are typed."""

from typed_cases import open_workspace, run_line, shared_folder, type_case

__all__ = ["open_workspace", "run_line", "shared_folder", "type_case"]
