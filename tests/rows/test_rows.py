"""Every row of the table holds when it is typed, and every need has its row."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from rows.table import REPOSITORY, Row, load_rows, main
from rows.transcript import find_failure, parse_transcript

ROWS = load_rows()
TYPED = [row for row in ROWS if row.typed]


def list_files(folder: Path) -> set[tuple[str, int]]:
    return {(str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("row", TYPED, ids=[row.name for row in TYPED])
def test_what_is_typed_gives_what_the_row_says(row: Row, open_workspace, capdisc) -> None:
    folder = open_workspace(row)
    before = list_files(folder)
    failure = find_failure(row.typed, capdisc, dict(os.environ))
    if failure and not row.open:
        pytest.fail(f"{row.name}: {row.need}\n{failure}", pytrace=False)
    if row.open and not failure:
        pytest.fail(f"{row.name} holds: take its `open` out of the table", pytrace=False)
    if row.is_shared:
        assert list_files(folder) == before, f"{row.name} needs `changes_files`"


def test_the_rows_are_322_needs_in_their_order() -> None:
    assert [row.name for row in ROWS] == [f"S{number}" for number in range(1, 323)]
    for row in ROWS:
        assert row.need.endswith("."), row.name
        assert "\n" not in row.need, row.name


def test_no_row_is_silent() -> None:
    """Each row is typed, names a test or is answered; what is typed in part is answered in part
    (S312)."""
    for row in ROWS:
        assert bool(row.typed) + bool(row.test) <= 1, row.name
        assert row.typed or bool(row.test) != bool(row.answer), row.name
        assert row.typed or not row.open, row.name


def test_most_rows_are_typed() -> None:
    """Few needs take a terminal, a server, another process or time."""
    assert len(TYPED) >= 290
    assert len([row for row in ROWS if row.test]) <= 10


def test_each_row_expects_something_of_stdout() -> None:
    """An exit status or a notice alone would also come from another feature."""
    for row in TYPED:
        expected = [line for step in parse_transcript(row.typed) for line in step.expected]
        assert any(not line.startswith(("exit ", "2> ", "! ")) for line in expected), row.name


def test_a_named_test_exists_and_names_its_row() -> None:
    for row in (row for row in ROWS if row.test):
        path, _, name = row.test.partition("::")
        tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
        (found,) = (
            node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name
        )
        assert re.search(rf"\b{row.name}\b", ast.get_docstring(found) or ""), row.name


def test_an_answer_is_a_sentence_that_says_where_to_read_it() -> None:
    for row in (row for row in ROWS if row.answer):
        assert row.answer.endswith("."), row.name
        assert "`" in row.answer, row.name


def test_rows_are_printed_with_what_is_typed(capsys) -> None:
    assert main(["S6", "S78"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("S6  typed: An unknown model counts as one that can call tools, and")
    assert "\n      $ capdisc render --model foo --json\n" in out
    assert "\nS78  answered: The loop passes the model a limit on its output.\n" in out


JSON = '{"tables": [{"name": "invoices", "rows": 2}, {"name": "tracks", "rows": 3}], "note": null}'


def run_echo(*words: str, stdin: str, env: dict[str, str]) -> SimpleNamespace:
    """A stand-in for capdisc that prints its words, or what stands behind a pipe."""
    if words[0] == "fail":
        return SimpleNamespace(code=2, out="", err="error: no such thing\n")
    return SimpleNamespace(code=0, out=f"{stdin or ' '.join(words)}\n", err=env.get("NOTE", ""))


@pytest.mark.parametrize(
    "expected",
    [
        "$ capdisc one two three\none\nthree\n! four",
        "$ capdisc fail\nexit 2\nnothing\n2> no such thing",
        "$ capdisc one\n$ capdisc one\nsame",
        "$ NOTE=hello capdisc one\n2> hello",
        "$ echo 'a | b' | capdisc show -\na | b",
        "$ capdisc one | tr a-z A-Z\nONE",
        f"$ capdisc '{JSON}'\n"
        '.tables[0].name == "invoices"\n.tables[*].rows == [2, 3]\n.tables.length == 2\n'
        '.tables[-1].rows > 2\n.note == null\n.tables[*].name ~ ["tracks"]\n'
        '.tables[0] !~ "columns"\n.tables[0].keys == ["name", "rows"]',
        "$ printf '%s\\n' '{\"a\": 1}' '{\"a\": 2}'\n[*].a == [1, 2]\n[1].a <= 2",
        "// a remark\n$ capdisc one \\\n    two\none two",
    ],
)
def test_a_transcript_holds(expected: str) -> None:
    assert find_failure(expected, run_echo, dict(os.environ)) == ""


@pytest.mark.parametrize(
    ("expected", "failure"),
    [
        ("$ capdisc one two\ntwo\none", "not on stdout there: one"),
        ("$ capdisc one\ntwo", "not on stdout: two"),
        ("$ capdisc one\n! one", "on stdout: one"),
        ("$ capdisc one\nnothing", "stdout is not empty"),
        ("$ capdisc one\n2> one", "not on stderr: one"),
        ("$ capdisc one\n$ capdisc two\nsame", "stdout is not that of the line before"),
        ("$ capdisc fail", "stderr is not empty"),
        ("$ capdisc fail\n2?", "exit 2 and not 0"),
        ("$ capdisc one\nexit 1", "exit 0 and not 1"),
        ("$ capdisc one two\ntokens > 9", "tokens > 9: it has 3"),
        ("$ capdisc one\n.a == 1", "no JSON on stdout for: .a == 1"),
        (f"$ capdisc '{JSON}'\n.tables[0].rows == 3", ".tables[0].rows == 3: it is 2"),
        (f"$ capdisc '{JSON}'\n.tables[0].size == 3", ".tables[0].size == 3: nothing is there"),
        (f"$ capdisc '{JSON}'\n.tables[*].name !~ \"tracks\"", '!~ "tracks": it is'),
    ],
)
def test_a_transcript_that_does_not_hold_says_why(expected: str, failure: str) -> None:
    assert failure in find_failure(expected, run_echo, dict(os.environ))
