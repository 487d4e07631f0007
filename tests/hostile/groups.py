"""Every case, group by group: those that are data, a file of `cases/` for each group, and those that code
makes.

A table of such a file is a case: its outcome with the codes, what is written, and fields of `Case`. A long text is a
list of texts and of [text, times]. Written are: `fields`, the lines after the required ones of a sound manifest with
this `name` and `description`; `content`, a manifest whose `skillContent` is this, next to a folder `docs`, where no
output may show the first line of a password file; `manifest`, exactly this; `skill`, the body of a SKILL.md; `files`,
`links` and `outside` by their paths; `folders` and `pipes`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args

from hostile import checks
from hostile.case import Case, Kind
from hostile.generated import MADE, SECRETS
from hostile.writing import MANIFEST, NAME, SKILL_FILE, fields, linked, outside, put, skill_text

_FOLDER = Path(__file__).parent / "cases"
_WRITTEN = (
    "name description fields content manifest skill files links outside folders pipes".split()
)
_ORDER = (
    "controls", "yaml structure", "yaml scalars", "encodings", "fields", "secrets", "front matter", "hidden text",
    "terminal", "prompt", "paths", "links", "schema", "collisions", "ranking", "tree",
)  # fmt: skip


def _read_group(group: str) -> Iterator[Case]:
    path = _FOLDER / f"{group.replace(' ', '_')}.toml"
    if path.exists():
        for name, entry in tomllib.loads(path.read_text()).items():
            yield _read_case(name, entry)
    if group == "secrets":
        yield from SECRETS


def _read_case(name: str, entry: dict[str, Any]) -> Case:
    kind = next(kind for kind in get_args(Kind) if kind in entry)
    codes = tuple(entry.pop(kind).split())
    written = {key: entry.pop(key) for key in _WRITTEN if key in entry}
    if "content" in written:
        entry["unsaid"] = ["root:x:0:0"]
    asked = tuple(
        getattr(checks, check)(*words) if words else getattr(checks, check)
        for check, words in entry.pop("checks", {}).items()
    )
    more = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    write = MADE.get(name) or partial(_write, written)
    return Case(name=name, kind=kind, codes=codes, write=write, checks=asked, **more)


def _write(written: dict[str, Any], root: Path) -> None:
    named = {key: _join(written[key]) for key in ("name", "description") if key in written}
    if "fields" in written:
        put(root, MANIFEST, fields(_join(written["fields"]), **named))
    if "content" in written:
        put(root, MANIFEST, fields(f"skillContent: {_join(written['content'])}\n"))
        (root / NAME / "docs").mkdir()
    if "manifest" in written:
        put(root, MANIFEST, _join(written["manifest"]))
    if "skill" in written:
        put(root, SKILL_FILE, skill_text(_join(written["skill"])))
    for relative, content in written.get("files", {}).items():
        put(root, relative, _join(content))
    for relative, content in written.get("outside", {}).items():
        put(outside(root), relative, content)
    for relative, target in written.get("links", {}).items():
        linked(root, relative, target)
    for folder in written.get("folders", ()):
        (root / folder).mkdir(parents=True)
    for pipe in written.get("pipes", ()):
        (root / pipe).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / pipe)


def _join(text: str | list[Any]) -> str:
    parts = [text] if isinstance(text, str) else text
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)


GROUPS: dict[str, tuple[Case, ...]] = {group: tuple(_read_group(group)) for group in _ORDER}
CASES: dict[str, Case] = {case.name: case for cases in GROUPS.values() for case in cases}
