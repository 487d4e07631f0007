"""Folders written from text, and what loading them gives."""

from loaded_folders import codes, load, load_path

__all__ = ["codes", "load", "load_path"]
