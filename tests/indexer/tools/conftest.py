"""Discovery tools over the data catalogue."""

from data_tools import ask, desk

__all__ = ["ask", "desk"]
