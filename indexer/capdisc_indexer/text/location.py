"""Where does a capability's file lie, as a reader of a context can open it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line

# The texts of these formats name other files by paths that start in their own folder.
FOLDER_FORMATS = frozenset({"skill", "capability"})


@frozen
class Location:
    """The path of a capability's file, and the folder in which the paths in its text start (""
    where its text names none).
    """

    path: str
    folder: str


def locate_file(path: str, workspace: PurePath | None) -> str:
    """The path of a capability's file: relative where it lies inside the workspace.

    Both are compared as written; what lies outside keeps its absolute path, and a URL stays as it
    is.

    >>> locate_file("/w/.claude/skills/pdf/SKILL.md", PurePath("/w"))
    '.claude/skills/pdf/SKILL.md'
    """
    if workspace is None:
        return path
    if _is_normal(path):  # as most are: the same in a fifth of the time
        base = f"{workspace.as_posix().rstrip('/')}/"
        return path[len(base) :] if path.startswith(base) else path
    file = type(workspace)(path)
    if file.is_relative_to(workspace):
        return file.relative_to(workspace).as_posix()
    return path


def locate(descriptor: Descriptor, workspace: PurePath | None) -> Location:
    """Where the capability lies, on one line each, for a reader in this workspace."""
    source = descriptor.source
    path = one_line(locate_file(source.path, workspace))
    is_own_folder = source.format in FOLDER_FORMATS and not source.pointer
    return Location(path, _folder_of(path) if is_own_folder else "")


def location_rule(identifier: str, kind: str, path: str) -> str:
    """Where the other capabilities of this kind lie if they lie like this one: in folders of their
    names, or in the same file.

    >>> location_rule("skill:pdf", "skill", ".claude/skills/pdf/SKILL.md")
    'skill:NAME is in .claude/skills/NAME/SKILL.md'
    >>> location_rule("tool:read", "tool", "tools.json")
    'tools.json, as each tool below'
    """
    prefix, _, name = identifier.partition(":")
    before, found, after = f"/{path}".rpartition(f"/{name}/")
    if not found:
        return f"{path}, as each {kind} below"
    return f"{prefix}:NAME is in {before[1:]}{'/' if before else ''}NAME/{after}"


def find_common_rules(files: Iterable[tuple[str, str, str]]) -> Mapping[str, str]:
    """By kind the rule that most of its capabilities follow, where more than one does; of each
    capability its id, kind and path.
    """
    counts: dict[str, Counter[str]] = {}
    for identifier, kind, path in files:
        counts.setdefault(kind, Counter())[location_rule(identifier, kind, path)] += 1
    first = {kind: rules.most_common(1)[0] for kind, rules in counts.items()}
    return {kind: rule for kind, (rule, count) in first.items() if count > 1}


def _folder_of(path: str) -> str:
    folder, _, _ = path.rpartition("/")
    return folder if folder and _is_normal(path) else PurePath(path).parent.as_posix()


def _is_normal(path: str) -> bool:
    """Whether an absolute path is written as `PurePath` writes it."""
    is_absolute = path.startswith("/") and not path.endswith(("/", "/."))
    return is_absolute and "//" not in path and "/./" not in path
