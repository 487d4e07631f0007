"""Invisible characters are reported where nothing justifies them, and only there."""

from __future__ import annotations

import pytest

from capdisc_guard import invisible_offsets, show_invisible
from case_rows import read_rows


@pytest.mark.parametrize("text", read_rows(__file__, "justified"))
def test_what_has_a_cause_stays_as_it_is(text: str) -> None:
    assert show_invisible(text) == text
    assert not invisible_offsets(text)


@pytest.mark.parametrize(("text", "expected"), read_rows(__file__, "shown"))
def test_what_has_none_is_shown_by_its_number(text: str, expected: str) -> None:
    assert show_invisible(text) == expected


def test_a_part_of_a_line_is_seen_with_what_stands_before_it() -> None:
    line = "x" * 50 + "\u2764\ufe0f a\ufe0f" + "y" * 50
    assert invisible_offsets(line, 51, 60) == {54}
