"""Files that are links, pipes, sockets, devices, folders, or far too large."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hostile.case import accepted, rejected, warned
from hostile.writing import (
    MANIFEST,
    NAME,
    SKILL_FILE,
    TOOL,
    fields,
    linked,
    outside,
    put,
    skill_text,
)


def _link_file(root: Path) -> None:
    put(root, MANIFEST, fields())
    linked(root, SKILL_FILE, "../../../outside/canary.md")


def _link_inside(root: Path) -> None:
    put(root, f"{NAME}/docs/long.md", "Loosen the ground, then pull.\n")
    put(root, MANIFEST, fields("skillContent: docs/short.md\n"))
    linked(root, f"{NAME}/docs/short.md", "long.md")


def _link_parent(root: Path) -> None:
    put(root, MANIFEST, fields("skillContent: docs/canary.md\n"))
    linked(root, f"{NAME}/docs", "../../../outside")


def _link_manifest(root: Path) -> None:
    put(outside(root), "manifest/CAPABILITY.yaml", fields(name="from-outside"))
    linked(root, MANIFEST, "../../../outside/manifest/CAPABILITY.yaml")


def _link_folder(root: Path) -> None:
    put(outside(root), "manifest/CAPABILITY.yaml", fields(name="from-outside"))
    linked(root, NAME, "../../outside/manifest")


def _link_loop(root: Path) -> None:
    linked(root, MANIFEST, "CAPABILITY.yml")
    linked(root, f"{NAME}/CAPABILITY.yml", "CAPABILITY.yaml")
    linked(root, f"{NAME}/again", "..")


def _dangling(root: Path) -> None:
    linked(root, MANIFEST, "nowhere.yaml")


def _device(root: Path) -> None:
    linked(root, MANIFEST, "/dev/zero")


def _pipe_content(root: Path) -> None:
    put(root, MANIFEST, fields("skillContent: rows.md\n"))
    os.mkfifo(root / NAME / "rows.md")


def _pipe_manifest(root: Path) -> None:
    (root / NAME).mkdir()
    os.mkfifo(root / MANIFEST)


def _socket(root: Path) -> None:
    (root / NAME).mkdir()
    os.mknod(root / SKILL_FILE, stat.S_IFSOCK | 0o600)


def _folder(root: Path) -> None:
    (root / MANIFEST).mkdir(parents=True)


def _unreadable(root: Path) -> None:
    put(root, MANIFEST, fields()).chmod(0)


def _sparse(root: Path) -> None:
    put(root, SKILL_FILE, skill_text("Pull."))
    os.truncate(root / SKILL_FILE, 2 * 1024**3)


CASES = (
    rejected("path-symlink-file", "path-escape symlink", _link_file),
    accepted("path-symlink-inside", _link_inside, indexed=(TOOL,)),
    rejected("path-symlink-parent", "path-escape symlink", _link_parent),
    rejected(
        "path-symlink-manifest", "path-escape symlink", _link_manifest, absent=("from-outside",)
    ),
    # Installers do link skill folders, so this one only warns.
    warned(
        "path-symlink-folder-out",
        "symlink",
        _link_folder,
        indexed=("tool:beside-path-symlink-folder-out",),
        absent=("from-outside",),
    ),
    rejected("path-symlink-loop", "path-escape path-missing symlink", _link_loop),
    rejected("path-symlink-dangling", "path-escape path-missing symlink", _dangling),
    rejected("path-symlink-device", "path-escape path-not-file symlink", _device, seconds=2),
    rejected("path-fifo", "path-not-file", _pipe_content, seconds=2),
    rejected("path-fifo-manifest", "path-not-file", _pipe_manifest, seconds=2),
    rejected("path-socket", "path-not-file", _socket, seconds=2),
    rejected("path-directory-named-manifest", "path-not-file", _folder),
    rejected("path-unreadable", "path-unreadable", _unreadable, needs="user"),
    rejected("path-sparse-giant", "file-too-large", _sparse, seconds=2, mebibytes=150),
)
