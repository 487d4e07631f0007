"""Every need in rows.toml is shown by a test or answered in a sentence."""

import pytest

from rows.report import find_coverage, main, row_numbers, summary


@pytest.fixture(scope="module")
def coverage():
    return find_coverage()


def test_no_row_is_silent(coverage) -> None:
    """Each row has a test or an answer; what the designs tested is among the rows (S217, S312)."""
    assert coverage.silent == ()


def test_the_rows_are_322_single_lines(coverage) -> None:
    assert list(coverage.needs) == list(range(1, 323))
    for number, need in coverage.needs.items():
        assert need.endswith("."), number
        assert "\n" not in need, number


def test_seven_of_eight_rows_are_shown_as_a_user_meets_them(coverage) -> None:
    """A test counts where it goes in by the command line, the MCP server or the front door of the
    library; inner functions do not.
    """
    assert len(coverage.tests) >= 280
    assert all(test.doors for tests in coverage.tests.values() for test in tests)


def test_a_row_with_words_of_its_own_is_shown_in_them(coverage) -> None:
    """Names of tools and keys of fields stand in the tests as the designs write them."""
    assert coverage.missing_words == {}


def test_a_test_of_inner_functions_shows_nothing(tmp_path) -> None:
    (tmp_path / "rows.toml").write_text('[a]\n1 = "One."\n2 = "Two."\n3 = "Three."\n')
    (tmp_path / "answered.toml").write_text("answered = []\n")
    (tmp_path / "words.toml").write_text('[words]\n2 = ["list_all"]\n3 = ["limit"]\n')
    (tmp_path / "test_a.py").write_text(
        'def test_inner():\n    "S1."\n    rank("x")\n\n'
        'def test_typed(capdisc):\n    "S2."\n    capdisc("search", "x")\n\n'
        'def find():\n    return cd.open_index("x", limit=3)\n\n'
        'def test_called():\n    "S3."\n    find()\n'
    )
    files = [tmp_path / name for name in ("rows.toml", "answered.toml", "words.toml")]
    partial = find_coverage([tmp_path], *files)
    assert {number: tests[0].doors for number, tests in partial.tests.items()} == {
        2: ("command line",),
        3: ("library",),
    }
    assert (partial.silent, partial.missing_words) == ((1,), {2: ("list_all",)})


def test_a_row_is_shown_or_answered_and_not_both(coverage) -> None:
    assert not coverage.tests.keys() & coverage.answers.keys()


def test_a_number_in_a_docstring_is_a_row(coverage) -> None:
    unknown = {
        number: names
        for number, names in {**coverage.inner_tests, **coverage.tests}.items()
        if number not in coverage.needs
    }
    assert unknown == {}
    assert coverage.answers.keys() <= coverage.needs.keys()


def test_a_docstring_says_more_than_numbers(coverage) -> None:
    """`S251.` tells a reader nothing; the docstring of a test says in words what it shows."""
    import ast

    from rows.report import TESTS

    bare = []
    for path in (path for folder in TESTS for path in sorted(folder.rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if row_numbers(text) and not any(map(str.isalpha, text.replace("S", ""))):
                    bare.append(f"{path.name}:{node.lineno} {node.name}")
    assert bare == []


def test_an_answer_is_a_sentence_that_says_where_to_read_it(coverage) -> None:
    for number, answer in coverage.answers.items():
        assert answer.endswith("."), number
        assert "`" in answer, number


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("S3.", (3,)),
        ("S7–S9, S1", (1, 7, 8, 9)),
        ("S7-S9: so", (7, 8, 9)),
        ("A sentence (S9, S10).", (9, 10)),
        ("AS3, S3a, S1234", ()),
        ("", ()),
    ],
)
def test_rows_are_named_singly_or_as_a_range(text, numbers) -> None:
    assert row_numbers(text) == numbers


def test_a_silent_row_is_named_and_fails(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "rows.toml").write_text('[a]\n1 = "One."\n[b]\n2 = "Two."\n3 = "Three."\n')
    (tmp_path / "answered.toml").write_text('[[answered]]\nrow = 2\nwhere = "`x`."\n')
    (tmp_path / "test_a.py").write_text(
        'def test_a(capdisc):\n    "S1."\n\ndef helper():\n    "S3."\n'
    )
    files = [tmp_path / name for name in ("rows.toml", "answered.toml", "words.toml")]
    partial = find_coverage([tmp_path], *files)
    assert partial.silent == (3,)
    monkeypatch.setattr("rows.report.find_coverage", lambda: partial)
    assert main(["--verbose"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "S1    One.",
        "      shown by command line: test_a.py::test_a",
        "S2    Two.",
        "      `x`.",
        "S3    Three.",
        "      silent",
        summary(partial),
    ]
