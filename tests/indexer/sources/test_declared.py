"""Which files a declared source means; its paths and mistakes: declared.txt of the transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from capdisc_indexer.model.types import DeclaredSource
from capdisc_indexer.sources.scan.declared_files import path_matcher
from capdisc_indexer.sources.scan.file_scan import scan_roots
from case_rows import read_rows


def test_with_named_folders_only_declarations_inside_them_count(tmp_path: Path) -> None:
    for name in ("in/a.json", "out/b.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text('{"tools": [{"name": "go", "description": "Goes."}]}')
    for pattern, found in (("**/*.json", ["a.json"]), ("gone", [])):
        inside = (str(tmp_path / "in"),)
        declared = DeclaredSource(format="mcp", path=str(tmp_path / pattern), within=inside)
        result = scan_roots((), (declared,))
        assert ([Path(file.path).name for file in result.files], result.findings) == (found, ())


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
