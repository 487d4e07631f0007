"""Folders and file names that a walk meets in the wild."""

from __future__ import annotations

import random
from pathlib import Path

from hostile.case import accepted, rejected, warned
from hostile.writing import (
    MANIFEST,
    NAME,
    SKILL_FILE,
    TOOL,
    fields,
    files,
    linked,
    put,
    skill_text,
)

_SKIPPED = (".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__")
_LEFTOVERS = (
    "CAPABILITY.yaml~",
    ".CAPABILITY.yaml.swp",
    "CAPABILITY.yaml.bak",
    "#CAPABILITY.yaml#",
    "4913",
    "SKILL.md.orig",
)
_ODD = (
    " leading", "trailing ", "-dash", "--help", "it's", 'a "quote"', "$(touch PWNED)", "`touch PWNED`", "* ? [a]",
    "back\\slash", "tab\there", "return\rhere",
)  # fmt: skip


def _leftovers(root: Path) -> None:
    for name in _LEFTOVERS:
        put(root, f"{NAME}/{name}", fields(name="leftover"))
    linked(root, f"{NAME}/.#CAPABILITY.yaml", "farmer@barn.4711:1700000000")


def _many_files(root: Path) -> None:
    put(root, SKILL_FILE, skill_text("Read [the first](references/0000.md)."))
    for number in range(1_500):
        put(root, f"{NAME}/references/{number:04}.md", f"Row {number}.\n")


def _binaries(root: Path) -> None:
    put(root, SKILL_FILE, skill_text("Run scripts/pull.py."))
    put(root, f"{NAME}/scripts/__init__.pyc", b"\xa7\r\r\n" + bytes(12) + b"\xe3\0\0\0")
    put(root, f"{NAME}/scripts/pull.so", b"\x7fELF\x02\x01\x01" + bytes(57))
    put(root, f"{NAME}/assets/rows.zip", b"PK\x05\x06" + bytes(18))


def _binaries_of_a_tool(root: Path) -> None:
    """What a manifest has beside it: a program without an ending, bytecode where an interpreter looks, a document."""
    put(root, MANIFEST, fields())
    put(root, f"{NAME}/bin/pull", b"\x7fELF\x02\x01\x01" + bytes(57))
    put(
        root,
        f"{NAME}/scripts/__pycache__/pull.cpython-311.pyc",
        b"\xa7\r\r\n" + bytes(12) + b"\xe3\0\0\0",
    )
    put(root, f"{NAME}/assets/rows.docx", b"PK\x03\x04" + bytes(26))


def _many_files_of_a_tool(root: Path) -> None:
    put(root, MANIFEST, fields())
    for number in range(1_500):
        put(root, f"{NAME}/references/{number:04}.md", f"Row {number}.\n")


def _not_utf8(root: Path) -> None:
    put(root, b"caf\xe9-\xff/CAPABILITY.yaml", fields())


def _random(seed: int) -> bytes:
    return random.Random(seed).randbytes(4_096)


CASES = (
    rejected(
        "tree-deep-nesting", "path-too-deep", files({"d/" * 300 + "CAPABILITY.yaml": fields()})
    ),
    accepted(
        "tree-ignored-places",
        files(
            {f"{place}/x/CAPABILITY.yaml": fields(name="from-ignored-place") for place in _SKIPPED}
        ),
        indexed=("tool:beside-tree-ignored-places",),
        absent=("from-ignored-place",),
    ),
    accepted(
        "tree-editor-leftovers",
        _leftovers,
        indexed=("tool:beside-tree-editor-leftovers",),
        absent=("leftover",),
    ),
    warned(
        "tree-wrong-file-names",
        "misnamed-manifest",
        files({"a/CAPABILITY.yml": fields(name="a"), "b/capability.yaml": fields(name="b")}),
        indexed=("tool:a", "tool:b"),
    ),
    warned("tree-many-files-in-skill", "too-many-files", _many_files, neighbour="skill"),
    warned("tree-binary-and-archives", "binary-file", _binaries, neighbour="skill"),
    warned("tree-many-files-in-tool", "too-many-files", _many_files_of_a_tool),
    warned("tree-binaries-of-a-tool", "binary-file", _binaries_of_a_tool),
    warned(
        "tree-odd-names",
        "path-character",
        files(
            {
                f"{odd}/CAPABILITY.yaml": fields(name=f"odd-{number}")
                for number, odd in enumerate(_ODD)
            }
        ),
        indexed=tuple(f"tool:odd-{number}" for number in range(len(_ODD))),
    ),
    warned("tree-non-utf8-name", "path-character", _not_utf8),
    accepted(
        "tree-longest-name", files({f"{'f' * 250}/CAPABILITY.yaml": fields()}), indexed=(TOOL,)
    ),
    warned(
        "tree-normalisation-twins",
        "path-twin",
        files(
            {
                "caf\u00e9/CAPABILITY.yaml": fields(name="one"),
                "cafe\u0301/CAPABILITY.yaml": fields(
                    name="two", description="Pulls beets from a field."
                ),
            }
        ),
    ),
    accepted(
        "tree-manifest-in-manifest",
        files(
            {
                MANIFEST: fields(),
                f"{NAME}/inner/CAPABILITY.yaml": fields(
                    name="inner", description="Cleans turnips."
                ),
            }
        ),
        indexed=(TOOL, "tool:inner"),
    ),
    rejected(
        "tree-skill-binary-body",
        "encoding control-character",
        files({SKILL_FILE: skill_text("Pull.").encode() + _random(1)}),
        neighbour="skill",
    ),
    rejected(
        "tree-random-bytes",
        "encoding yaml-syntax control-character",
        files({MANIFEST: _random(2)}),
    ),
)
