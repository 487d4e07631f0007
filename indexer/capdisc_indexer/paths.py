"""Where things lie by convention: the workspace, its index, and the folders that agents keep capabilities in."""

from __future__ import annotations

import hashlib
from pathlib import Path

# Earlier ones win over later ones. The first of each list is ours, the others belong to agents that share the format.
WORKSPACE_FOLDERS = (
    ".capdisc/capabilities",
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".gemini/skills",
    ".opencode/skills",
    ".cursor/skills",
    ".github/skills",
    ".goose/skills",
    ".wunderland/capabilities",
)
USER_FOLDERS = (
    ".capdisc/capabilities",
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".gemini/skills",
    ".config/opencode/skills",
    ".cursor/skills",
    ".copilot/skills",
    ".config/agents/skills",
    ".wunderland/capabilities",
)
_MARKS = (".capdisc", "capdisc.toml", ".git")


def workspace_of(cwd: Path, home: Path) -> Path:
    """The nearest folder upwards that holds capdisc's own files or a repository; else the folder itself.

    The home folder counts only when one stands in it: what lies there belongs to the user, not to every project.
    """
    upwards = [folder for folder in (cwd, *cwd.parents) if folder == cwd or folder != home]
    return next((folder for folder in upwards if any((folder / mark).exists() for mark in _MARKS)), cwd)


def default_index_dir(workspace: Path, cache_home: Path) -> Path:
    """The workspace's index below the user's cache folder; the digits keep equal folder names apart."""
    digits = hashlib.sha256(str(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return cache_home / "capdisc" / f"{workspace.name or 'root'}-{digits}"


def conventional_roots(workspace: Path, home: Path) -> list[tuple[str, Path]]:
    """Every conventional folder, strongest first, with the scope it belongs to ("workspace", "user")."""
    scoped = [("workspace", workspace / name) for name in WORKSPACE_FOLDERS]
    return scoped + [("user", home / name) for name in USER_FOLDERS if home / name not in {path for _, path in scoped}]
