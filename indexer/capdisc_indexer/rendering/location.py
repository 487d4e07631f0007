"""Where does a capability's file lie, as a reader of a context can open it?"""

from __future__ import annotations

from pathlib import PurePath


def locate_file(path: str, workspace: PurePath | None) -> str:
    """The path of a capability's file: relative where it lies inside the workspace.

    Both are compared as written; what lies outside keeps its absolute path.

    >>> locate_file("/w/.claude/skills/pdf/SKILL.md", PurePath("/w"))
    '.claude/skills/pdf/SKILL.md'
    """
    file = PurePath(path)
    if workspace is not None and file.is_relative_to(workspace):
        return file.relative_to(workspace).as_posix()
    return file.as_posix()
