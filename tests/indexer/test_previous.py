"""A last build with contents that no build writes is ignored, with a notice."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
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
    return generation.generation_folder(work / "index", described.number) / "meta" / name


def _sign(work: Path, name: str) -> None:
    """As if a build had written the file as it is now."""
    path = _file(work, name)
    gen, data = path.parent.parent, path.read_bytes()
    manifest = json.loads((gen / "MANIFEST").read_bytes())
    manifest["files"][f"meta/{name}"] = {
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (gen / "MANIFEST").write_text(json.dumps(manifest))
    digest = hashlib.sha256((gen / "MANIFEST").read_bytes()).hexdigest()
    (work / "index" / "CURRENT").write_text(f"{int(gen.name)} {digest}\n")


def _change_state(work: Path, statement: str) -> None:
    path = _file(work, "state")
    # The inode may be that of another generation as well.
    path.write_bytes(path.read_bytes())
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    _sign(work, "state")


def _forge_scan(work: Path) -> None:
    path = _file(work, "scan.json")
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"scanned_at_ns": "now"}))
    _sign(work, "scan.json")


def _overwrite_state(work: Path) -> None:
    _file(work, "state").write_bytes(b"[" * 100_000)
    _sign(work, "state")


_FORGERIES: Sequence[Callable[[Path], None]] = (
    lambda work: _change_state(work, "update file set root = 7"),
    lambda work: _change_state(work, "update file set stat = 'now'"),
    lambda work: _change_state(work, "update file set findings = '[5]'"),
    lambda work: _change_state(work, "delete from text where hash > '8'"),
    lambda work: _change_state(work, "drop table text"),
    lambda work: _change_state(work, "delete from nearest where number > 3"),
    _overwrite_state,
    _forge_scan,
)


@pytest.mark.parametrize("forge", _FORGERIES)
def test_what_no_build_has_written_is_built_anew(
    built: Path, write_skill: Callable[..., Path], forge: Callable[[Path], None]
) -> None:
    forge(built)
    write_skill(built / "skills", "one-more")
    report = _build(built)
    assert report.counts["capabilities"] == report.counts["parsed"] == 4
    (notice,) = report.degraded
    assert notice.startswith(("the last index cannot be read", "the index is damaged"))
    assert not _build(built).degraded


def test_it_is_an_error_where_nothing_may_be_built_anew(built: Path) -> None:
    _overwrite_state(built)
    with pytest.raises(IndexStateError, match="damaged"):
        _build(built, may_rebuild=False)


def test_a_changed_byte_in_a_large_state_of_files_is_no_bug(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of large files, only the size is compared at first."""
    monkeypatch.setattr(native_errors, "MAX_CHECKED_BYTES", -1)
    path = _file(built, "state")
    data = path.read_bytes()
    assert data.count(b"CREATE TABLE file") == 1
    path.write_bytes(data.replace(b"CREATE TABLE file", b"CREATE TABLE fill"))
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
