"""Folders written from text, and what loading them gives; discovery tools over the data catalogue."""

from data_tools import ask, desk
from loaded_folders import codes, load, load_path

__all__ = ["ask", "codes", "desk", "load", "load_path"]
