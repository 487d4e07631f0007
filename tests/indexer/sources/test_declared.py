"""Sources declared in a configuration: the files they mean, and mistakes in a declaration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.model.types import DeclaredSource
from capdisc_indexer.sources.scan.declared_files import path_matcher
from capdisc_indexer.sources.scan.file_scan import scan_roots
from case_rows import read_rows

TOOLS = json.dumps({"tools": [{"name": "go", "description": "Goes."}]})


def put(path: Path, text: str = TOOLS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files(*declared: DeclaredSource, roots: tuple[Path, ...] = ()) -> list[tuple[str, str, str]]:
    result = scan_roots(roots, declared)
    assert result.findings == ()
    return [(Path(file.path).name, file.format, file.name) for file in result.files]


def source(format: str, path: Path | str, **more: Any) -> DeclaredSource:
    return DeclaredSource(format=format, path=str(path), **more)


def test_with_named_folders_only_declarations_inside_them_count(tmp_path: Path) -> None:
    for name in ("in/a.json", "out/b.json"):
        put(tmp_path / name)
    declared = source("mcp", tmp_path / "**/*.json", within=(str(tmp_path / "in"),))
    assert [name for name, *_ in files(declared)] == ["a.json"]
    gone = source("mcp", tmp_path / "gone", within=(str(tmp_path / "in"),))
    assert files(gone) == []


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    read_rows(__file__, "a_pattern_fits_as_in_other_tools"),
)
def test_a_pattern_fits_as_in_other_tools(pattern: str, fitting: str, others: str) -> None:
    fits = path_matcher(pattern)
    assert [path for path in f"{fitting} {others}".split() if fits(path)] == fitting.split()


def test_a_pattern_of_many_stars_is_no_burden() -> None:
    assert not path_matcher("**/" * 40 + "x")("a/" * 40 + "b")
    assert not path_matcher("*" * 60 + "x")("a" * 200)
    assert not path_matcher("*a" * 60 + "b")("a" * 200)
    assert not path_matcher("**/*a/" * 30 + "b")("a/" * 60 + "x")
