"""Invisible characters are reported where nothing justifies them, and only there."""

from __future__ import annotations

import pytest

from capdisc_guard import invisible_offsets, show_invisible


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "warning \u26a0\ufe0f, heart \u2764\ufe0f, key 1\ufe0f\u20e3 #\ufe0f\u20e3",
        "\u00a9\ufe0f \u3297\ufe0f \u203c\ufe0f",
        "flag \U0001f3f3\ufe0f\u200d\U0001f308, family \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u8fbb\U000e0100 and \u5291\ufe00, \uff0c\ufe01",
        "\u2813\u2811\u2807\u2800\u283a\u2815 and \u2813 \u2800 \u283a",
        "\u115f\u1161\u11a8 \u1100\u1160",
        "\u0e44\u0e17\u0e22\u200b\u0e44\u0e17\u0e22 \u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ],
)
def test_what_has_a_cause_stays_as_it_is(text: str) -> None:
    assert show_invisible(text) == text
    assert not invisible_offsets(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name\ufe0f", "name<U+FE0F>"),
        ("( \ufe00)", "( <U+FE00>)"),
        ("\u2764\ufe0f\ufe0f\ufe01", "\u2764\ufe0f<U+FE0F><U+FE01>"),
        ("a\U000e0101b", "a<U+E0101>b"),
        ("x\u3164y\uffa0z\u115f\u1160\u2800", "x<U+3164>y<U+FFA0>z<U+115F><U+1160><U+2800>"),
        ("\u2800\u2800", "<U+2800><U+2800>"),
        ("te\u200dxt", "te<U+200D>xt"),
    ],
)
def test_what_has_none_is_shown_by_its_number(text: str, expected: str) -> None:
    assert show_invisible(text) == expected


def test_a_part_of_a_line_is_seen_with_what_stands_before_it() -> None:
    line = "x" * 50 + "\u2764\ufe0f a\ufe0f" + "y" * 50
    assert invisible_offsets(line, 51, 60) == {54}
