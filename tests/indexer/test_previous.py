"""A last build with contents that no build writes is ignored, with a notice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store import generation, native_errors


@pytest.fixture
def built(hermetic: Path, write_skill: Callable[..., Path]) -> Path:
    for number in range(3):
        write_skill(hermetic / "skills", f"skill-{number}")
    _build(hermetic)
    return hermetic


def _build(work: Path, **options: Any) -> Any:
    return build_index([work / "skills"], work / "index", BuildOptions(**options))


def _file(work: Path, name: str) -> Path:
    described = generation.load_unchecked(work / "index")
    assert described
    return generation.generation_folder(work / "index", described.number) / "meta" / f"{name}.json"


def _forge(work: Path, name: str, data: bytes) -> None:
    path = _file(work, name)
    path.write_bytes(data)
    gen = path.parent.parent
    manifest = json.loads((gen / "MANIFEST").read_bytes())
    manifest["files"][f"meta/{name}.json"] = {
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (gen / "MANIFEST").write_text(json.dumps(manifest))
    digest = hashlib.sha256((gen / "MANIFEST").read_bytes()).hexdigest()
    (work / "index" / "CURRENT").write_text(f"{int(gen.name)} {digest}\n")


def _other_root(data: bytes) -> bytes:
    first, one, *rest = data.split(b"\n")
    row = json.loads(one)
    return b"\n".join([first, json.dumps([row[0], 7, *row[2:]]).encode(), *rest])


def _nameless(data: bytes) -> bytes:
    first, one, *rest = data.split(b"\n")
    row = json.loads(one)
    row[4][0][0] = 5
    return b"\n".join([first, json.dumps(row).encode(), *rest])


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("files", _other_root),
        ("files", _nameless),
        ("files", lambda data: b"[" * 100_000),
        ("probes", lambda data: b'[[0.1, "a"]]'),
        ("probes", lambda data: b"[[0.1, []]]"),
        (
            "probes",
            lambda data: json.dumps([[None, text] for _, text in json.loads(data)]).encode(),
        ),
        ("scan", lambda data: json.dumps(json.loads(data) | {"scanned_at_ns": "now"}).encode()),
    ],
)
def test_what_no_build_has_written_is_built_anew(
    built: Path, write_skill: Callable[..., Path], name, forged
) -> None:
    _forge(built, name, forged(_file(built, name).read_bytes()))
    write_skill(built / "skills", "one-more")
    report = _build(built)
    assert report.counts["capabilities"] == report.counts["parsed"] == 4
    assert [notice.partition(" (")[0] for notice in report.degraded] == [
        "the last index cannot be read"
    ]
    assert not _build(built).degraded


def test_it_is_an_error_where_nothing_may_be_built_anew(built: Path) -> None:
    _forge(built, "files", _other_root(_file(built, "files").read_bytes()))
    with pytest.raises(IndexStateError, match="cannot be read"):
        _build(built, may_rebuild=False)


def test_a_changed_byte_in_a_large_state_of_files_is_no_bug(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of large files, only the size is compared at first."""
    monkeypatch.setattr(native_errors, "MAX_CHECKED_BYTES", -1)
    data = _file(built, "files").read_bytes()
    assert data.count(b'SKILL.md",0,') == 3
    _file(built, "files").write_bytes(data.replace(b'SKILL.md",0,', b'SKILL.md",8,', 1))
    assert _build(built).counts["parsed"] == 3


@pytest.mark.parametrize("part", ["scanned_at_ns", "roots", "stats"])
@pytest.mark.parametrize("value", [None, "x", [5], {"a": "b"}, 1.5])
def test_a_record_of_the_last_look_that_none_has_written_is_not_believed(
    built: Path, part: str, value: Any
) -> None:
    os.utime(built / "skills" / "skill-1" / "SKILL.md")
    assert not _build(built).published
    path = built / "index" / "scan.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {part: value}))
    report = _build(built)
    assert (report.published, report.degraded, report.dropped_roots) == (False, (), ())
