"""The memory of folders as a file: what comes back is what was kept, and of what no scan has learned, nothing."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from capdisc_indexer import memory_file
from capdisc_indexer.sources.memory import Shape

EMPTY = Shape(False, False, ("a", "b"), ())
SKILL = Shape(False, True, (), (("SKILL.md", "skill", ("schema.json",)),))
KNOWN = {"/s": ((1, 2, 3, 4), EMPTY), "/s/a": ((5, 6, 7, 8), SKILL), "/s/odd-\udcff": ((9, 9, 9, 9), SKILL)}


def _signed(value: Any) -> bytes:
    data = json.dumps(value, separators=(",", ":")).encode()
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _value() -> Any:
    return json.loads(memory_file.written(KNOWN).partition(b"\n")[2])


def test_what_was_kept_comes_back() -> None:
    assert memory_file.parsed(memory_file.written(KNOWN)) == KNOWN
    assert memory_file.parsed(memory_file.written({})) == {}
    assert memory_file.parsed(_signed(_value())) == KNOWN


def test_of_a_file_with_one_changed_or_missing_byte_nothing_is_believed() -> None:
    whole = memory_file.written(KNOWN)
    for at in range(len(whole)):
        assert memory_file.parsed(whole[:at]) == {}
        assert memory_file.parsed(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]) == {}


@pytest.mark.parametrize(
    ("part", "at", "value"),
    [
        (1, 0, 5),
        (1, 0, []),
        (2, 0, "1"),
        (2, 0, None),
        (3, 0, 2),
        (3, 0, -1),
        (3, 0, True),
        (4, 0, None),
        (4, 0, [False, False, "ab", []]),
        (4, 0, [False, False, ["../etc"], []]),
        (4, 0, [False, False, [".."], []]),
        (4, 0, [False, False, ["a\0"], []]),
        (4, 0, [0, False, [], []]),
        (4, 0, [False, False, [], [["SKILL.md", "skill"]]]),
        (4, 0, [False, False, [], [["SKILL.md", "no-format", []]]]),
        (4, 0, [False, False, [], [["/etc/passwd", "skill", []]]]),
        (4, 0, [False, False, [], [["SKILL.md", "skill", ["../x"]]]]),
        (4, 0, [False, False, [], [["SKILL.md", [], []]]]),
    ],
)
def test_of_what_no_scan_has_learned_nothing_is_believed_even_with_its_digest(part: int, at: int, value: Any) -> None:
    kept = _value()
    kept[part][at] = value
    assert memory_file.parsed(_signed(kept)) == {}


@pytest.mark.parametrize("rest", ["", "5]", "[],[],[]]", "[],[],[0],[]]", '["/s"],[1,2,3],[0],[]]', "[" * 100_000])
def test_of_a_file_of_another_form_nothing_is_believed_even_with_its_digest(rest: str) -> None:
    data = f'["{memory_file._RELEASE}",{rest}'.encode()
    assert memory_file.parsed(hashlib.sha256(data).hexdigest().encode() + b"\n" + data) == {}
