"""Where things lie by convention: the workspace, its index, and what is kept of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

MARKS = (".capdisc", "capdisc.toml", ".git")


def workspace_of(cwd: Path, home: Path) -> Path:
    """The nearest folder upwards that holds capdisc's own files or a repository; else the folder itself.

    The home folder counts only when one stands in it: what lies there belongs to the user, not to every project.
    """
    upwards = [folder for folder in (cwd, *cwd.parents) if folder == cwd or folder != home]
    return next((folder for folder in upwards if any((folder / mark).exists() for mark in MARKS)), cwd)


def default_index_dir(workspace: Path, cache_home: Path) -> Path:
    """The workspace's index below the user's cache folder; the digits keep equal folder names apart."""
    return cache_home / "capdisc" / _label(workspace)


def default_state_dir(workspace: Path, state_home: Path) -> Path:
    """Where what cannot be made again is kept: sessions and facts of the workspace, below the user's state folder."""
    return state_home / "capdisc" / _label(workspace)


def _label(workspace: Path) -> str:
    digits = hashlib.sha256(str(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{workspace.name or 'root'}-{digits}"
