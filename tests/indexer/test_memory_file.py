"""The file of remembered folders: it returns what was stored, and nothing unscanned."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from capdisc_indexer.indexing import cached_scan
from capdisc_indexer.sources.scan.directory_cache import DirectoryEntry

EMPTY = DirectoryEntry(False, False, ("a", "b"), ())
SKILL = DirectoryEntry(False, True, (), (("SKILL.md", "skill", ("schema.json",)),))
KNOWN = {
    "/s": ((1, 2, 3, 4), EMPTY),
    "/s/a": ((5, 6, 7, 8), SKILL),
    "/s/odd-\udcff": ((9, 9, 9, 9), SKILL),
}


def _signed(value: Any) -> bytes:
    data = json.dumps(value, separators=(",", ":")).encode()
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _value() -> Any:
    return json.loads(cached_scan.encode_cache(KNOWN).partition(b"\n")[2])


def test_what_was_kept_comes_back() -> None:
    assert cached_scan.decode_cache(cached_scan.encode_cache(KNOWN)) == KNOWN
    assert cached_scan.decode_cache(cached_scan.encode_cache({})) == {}
    assert cached_scan.decode_cache(_signed(_value())) == KNOWN


def test_of_a_file_with_one_changed_or_missing_byte_nothing_is_believed() -> None:
    whole = cached_scan.encode_cache(KNOWN)
    for at in range(len(whole)):
        assert cached_scan.decode_cache(whole[:at]) == {}
        assert (
            cached_scan.decode_cache(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]) == {}
        )


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
def test_of_what_no_scan_has_learned_nothing_is_believed_even_with_its_digest(
    part: int, at: int, value: Any
) -> None:
    kept = _value()
    kept[part][at] = value
    assert cached_scan.decode_cache(_signed(kept)) == {}


@pytest.mark.parametrize(
    "rest", ["", "5]", "[],[],[]]", "[],[],[0],[]]", '["/s"],[1,2,3],[0],[]]', "[" * 100_000]
)
def test_of_a_file_of_another_form_nothing_is_believed_even_with_its_digest(rest: str) -> None:
    data = f'["{cached_scan._CACHE_RELEASE}",{rest}'.encode()
    assert cached_scan.decode_cache(hashlib.sha256(data).hexdigest().encode() + b"\n" + data) == {}
