"""Which files are taken for sources, by name and by their beginning."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.sources.scan.file_scan import scan_roots


def put(path: Path, text: str | bytes = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(*roots: Path) -> list[tuple[str, str]]:
    return [(file.relative, file.format) for file in scan_roots(list(roots)).files]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("github.tools.json", "mcp"),
        ("tools.json", "mcp"),
        ("Openapi.YAML", "openapi"),
        ("shop.openapi.yml", "openapi"),
        ("swagger.json", "openapi"),
        ("chinook.sqlite", "sqlite"),
        ("a.sqlite3", "sqlite"),
        ("schema.sql", "ddl"),
        ("capabilities.jsonl", "catalogue"),
    ],
)
def test_a_name_tells_the_format(tmp_path: Path, name: str, expected: str) -> None:
    put(tmp_path / name)
    assert found(tmp_path) == [(name, expected)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("tmdb.json", '{ "openapi": "3.0.1",', "openapi"),
        ("tmdb.json", '\ufeff{"info": {}, "openapi":"3.1.0"', "openapi"),
        ("pets.json", '{\n  "swagger": "2.0",', "openapi"),
        ("pets.yaml", "# pets\nopenapi: 3.0.0\n", "openapi"),
        ("pets.yml", "openapi: '3.0.0'\n", "openapi"),
        ("shop.db", b"SQLite format 3\0" + bytes(84), "sqlite"),
    ],
)
def test_first_bytes_tell_where_a_name_does_not(
    tmp_path: Path, name: str, text: str | bytes, expected: str
) -> None:
    put(tmp_path / name, text)
    assert found(tmp_path) == [(name, expected)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", '{"name": "x", "openapi-types": "3"}'),
        ("old.json", '{"openapi": "4.0"}'),
        ("notes.yaml", "about: openapi 3 is fine"),
        ("late.json", '{"a": "' + "x" * 300 + '", "openapi": "3.0.0"}'),
        ("Thumbs.db", b"\xd0\xcf\x11\xe0" + bytes(600)),
        ("list.json", '[{"type": "function"}]'),
        ("notes.md", "openapi: 3"),
    ],
)
def test_other_files_are_none_of_our_business(
    tmp_path: Path, name: str, text: str | bytes
) -> None:
    put(tmp_path / name, text)
    assert found(tmp_path) == []


@pytest.mark.parametrize("owner", ["SKILL.md", "CAPABILITY.yaml"])
def test_what_lies_with_a_skill_is_no_source_of_its_own(tmp_path: Path, owner: str) -> None:
    put(tmp_path / "a" / owner)
    for name in ("tools.json", "assets/shop.openapi.yaml", "deep/er/chinook.sqlite"):
        put(tmp_path / "a" / name)
    put(tmp_path / "a/data/api.json", '{"openapi": "3.0.0"}')
    put(tmp_path / "b/tools.json")
    expected = "skill" if owner == "SKILL.md" else "capability"
    assert found(tmp_path) == [(f"a/{owner}", expected), ("b/tools.json", "mcp")]


def test_named_files_are_taken_wherever_they_lie(tmp_path: Path) -> None:
    put(tmp_path / "a/SKILL.md")
    path = put(tmp_path / "a/assets/openapi.yaml")
    beside = put(tmp_path / "a/tools.json")
    assert found(path) == [("openapi.yaml", "openapi")]
    assert found(beside) == [("tools.json", "mcp")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[\n {"type": "function", "function": {}}]', "functions"),
        ('[{"name": "a", "input_schema": {}}]', "functions"),
        ('{"functionDeclarations": []}', "functions"),
        ('{"tools": [{"name": "a"}]}', "mcp"),
        ('{"jsonrpc": "2.0", "result": {"tools": []}}', "mcp"),
        ('[{"name": "a", "inputSchema": {}}]', "mcp"),
        ('{"openapi": "3.0.0"}', "openapi"),
    ],
)
def test_a_named_file_is_looked_into(tmp_path: Path, text: str, expected: str) -> None:
    path = put(tmp_path / "my list.txt", text)
    assert found(path) == [("my list.txt", expected)]


def test_a_named_database_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "data")) as connection, connection:
        connection.execute("create table a (b)")
    assert found(tmp_path / "data") == [("data", "sqlite")]


def test_a_named_link_may_lead_to_its_neighbours_only(tmp_path: Path) -> None:
    put(tmp_path / "in/v2.tools.json")
    put(tmp_path / "out.json")
    (tmp_path / "in/now.tools.json").symlink_to("v2.tools.json")
    (tmp_path / "in/away.tools.json").symlink_to(tmp_path / "out.json")
    assert found(tmp_path / "in/now.tools.json") == [("now.tools.json", "mcp")]
    with pytest.raises(InputError):
        scan_roots([tmp_path / "in/away.tools.json"])


def test_a_named_file_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a capability file"):
        scan_roots([put(tmp_path / "package.json", '{"name": "x"}')])


def test_folders_with_the_name_of_a_file_are_gone_through(tmp_path: Path) -> None:
    put(tmp_path / "tools.json/near/tools.json")
    put(tmp_path / "old.sql/a.sql")
    assert found(tmp_path) == [("old.sql/a.sql", "ddl"), ("tools.json/near/tools.json", "mcp")]


def test_names_that_differ_by_case_are_two_lists(tmp_path: Path) -> None:
    put(tmp_path / "a.tools.json")
    put(tmp_path / "A.tools.json")
    assert len(found(tmp_path)) == 2


def test_a_link_out_of_the_folder_is_not_opened_for_a_look(tmp_path: Path) -> None:
    put(tmp_path / "secret.json", '{"openapi": "3.0.0"}')
    (tmp_path / "root").mkdir()
    (tmp_path / "root/api.json").symlink_to(tmp_path / "secret.json")
    assert found(tmp_path / "root") == []
