"""Folders written from text, and what loading them gives; cases that are typed."""

from loaded_folders import codes, load, load_path
from typed_cases import open_workspace, shared_folder, type_case, type_in_workspace

__all__ = [
    "codes",
    "load",
    "load_path",
    "open_workspace",
    "shared_folder",
    "type_case",
    "type_in_workspace",
]
