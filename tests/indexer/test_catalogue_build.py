"""A catalogue of JSON lines in the index: a changed line costs only that line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, BuildReport
from capdisc_indexer.store.snapshot import Index

NUMBER = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "caps").mkdir()
    _write(tmp_path / "caps", {f"t{n}": f"Counts to {n}." for n in range(NUMBER)})
    return tmp_path


def _write(folder: Path, described: dict[str, str]) -> None:
    rows = [
        {"id": key, "kind": "tool", "name": f"count_{key}", "description": text}
        for key, text in described.items()
    ]
    (folder / "capabilities.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def _build(folder: Path) -> BuildReport:
    return build_index([folder / "caps"], folder / "index", BuildOptions())


def _described(folder: Path) -> dict[str, str]:
    with Index(folder / "index") as index:
        return {head["id"]: head["description"] for head in index.documents.all_headers()}


def test_a_line_that_changes_comes_or_goes_costs_no_other(folder) -> None:
    assert _build(folder).counts["added"] == NUMBER
    assert _described(folder)["t7"] == "Counts to 7."
    assert _build(folder).counts["parsed"] == 0
    changed = {f"t{n}": f"Counts to {n}." for n in range(NUMBER)} | {
        "t3": "Sings.",
        "new": "Dances.",
    }
    del changed["t5"]
    _write(folder / "caps", {"first": "Begins."} | changed)
    counts = _build(folder).counts
    assert (counts["added"], counts["updated"], counts["removed"]) == (2, 1, 1)
    assert counts["embedded"] == 3
    assert _described(folder) == {"first": "Begins."} | changed
    (folder / "caps" / "capabilities.jsonl").unlink()
    assert _build(folder).counts["removed"] == NUMBER + 1
    assert _described(folder) == {}
