"""Every need of the designs is shown by a test or answered in a sentence."""

import pytest

from rows.report import ALL, main, numbers, rows, summary


@pytest.fixture(scope="module")
def known():
    return rows()


def test_no_row_is_silent(known) -> None:
    """S217, S312: what the designs tested, they tested by rules, and each of these is a row with a test of its own."""
    assert known.silent == ()


def test_three_of_four_are_shown_by_a_test(known) -> None:
    assert len(known.shown) >= 240


def test_a_row_is_shown_or_answered_and_not_both(known) -> None:
    assert not known.shown.keys() & known.answered.keys()


def test_only_rows_that_there_are_have_tests_and_answers(known) -> None:
    assert known.shown.keys() | known.answered.keys() <= set(ALL)


def test_an_answer_is_a_sentence_that_says_where_to_read_it(known) -> None:
    for number, where in known.answered.items():
        assert where.endswith("."), number
        assert "`" in where, number


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("S3.", (3,)),
        ("S7–S9, S1", (1, 7, 8, 9)),
        ("S7-S9: so", (7, 8, 9)),
        ("AS3, S3a, S1234", ()),
        ("", ()),
    ],
)
def test_rows_are_named_one_by_one_or_as_a_range(text, named) -> None:
    assert numbers(text) == named


def test_what_is_silent_is_named_and_fails(tmp_path, monkeypatch, capsys, known) -> None:
    (tmp_path / "answered.toml").write_text('[[answered]]\nrow = 2\nwhere = "`x`."\n')
    (tmp_path / "test_a.py").write_text('def test_a():\n    "S1."\n\ndef helper():\n    "S3."\n')
    few = rows(tmp_path, tmp_path / "answered.toml")
    assert (few.shown, few.silent[0]) == ({1: ("test_a.py::test_a",)}, 3)
    monkeypatch.setattr("rows.report.rows", lambda: few)
    assert main(["--verbose"]) == 1
    assert capsys.readouterr().out.splitlines()[2::320] == ["S3    silent", summary(few)]
