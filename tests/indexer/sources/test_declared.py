"""Sources declared in a configuration: the files they mean, and mistakes in a declaration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.config.configuration import Config, load_config
from capdisc_indexer.model.errors import InputError
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


def config(tmp_path: Path, text: str, name: str = "capdisc.toml", user: str = "") -> Config:
    put(tmp_path / "work" / name, text)
    user_file = put(tmp_path / "user.toml", user)
    return load_config(tmp_path / "work", user_file, {}, ":")


def test_with_named_folders_only_declarations_inside_them_count(tmp_path: Path) -> None:
    for name in ("in/a.json", "out/b.json"):
        put(tmp_path / name)
    declared = source("mcp", tmp_path / "**/*.json", within=(str(tmp_path / "in"),))
    assert [name for name, *_ in files(declared)] == ["a.json"]
    gone = source("mcp", tmp_path / "gone", within=(str(tmp_path / "in"),))
    assert files(gone) == []


@pytest.mark.parametrize("name", ["capdisc.toml", ".capdisc/config.toml", "pyproject.toml"])
def test_paths_are_meant_from_the_file_of_the_declaration(tmp_path: Path, name: str) -> None:
    """Paths of a declaration are relative to its file (S17, S18)."""
    table = "tool.capdisc.source" if name == "pyproject.toml" else "source"
    text = f'[[{table}]]\nformat = "sql"\npath = "data/shop.sqlite"\nname = "shop"\nsamples = 3\n'
    (one,) = config(tmp_path, text, name).sources
    assert (one.format, one.path, one.name) == (
        "sql",
        str(tmp_path / "work/data/shop.sqlite"),
        "shop",
    )
    assert one.options == {"samples": 3}
    assert one.trusted is False


def test_the_user_s_sources_come_beside_the_workspace_s(tmp_path: Path) -> None:
    one = '[[source]]\nformat = "mcp"\npath = "~/lists/*.json"\n'
    found = config(tmp_path, '[[source]]\nformat = "mcp"\npath = "a.json"\n', user=one).sources
    inside = str(tmp_path / "work")
    assert [(each.path, each.trusted, each.confined_to) for each in found] == [
        ("~/lists/*.json", True, ""), (f"{inside}/a.json", False, inside),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        'source = "a.json"',
        "[[source]]\nformat = 'mcp'",
        "[[source]]\nformat = 1\npath = 'a'",
        "source = [1]",
    ],
)
def test_what_is_no_declaration_names_its_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"capdisc\.toml"):
        config(tmp_path, text)


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


def test_folders_of_the_seed_s_variable_are_scanned_too(tmp_path: Path) -> None:
    """CAPDISC_DIRS, or else the variable of the design, adds folders (S158)."""
    both = {"CAPDISC_DIRS": "/a:/b", "WUNDERLAND_CAPABILITY_DIRS": "/c"}
    assert load_config(tmp_path, tmp_path / "none", both, ":")["roots"] == ["/a", "/b"]
    seed = {"WUNDERLAND_CAPABILITY_DIRS": "/c:/d"}
    assert load_config(tmp_path, tmp_path / "none", seed, ":")["roots"] == ["/c", "/d"]
