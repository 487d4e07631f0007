"""Lines of a capability that no transcript shows; the others: lines.txt."""

from __future__ import annotations

from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.rendering.capability_text import (
    availability_note,
    shorter_lines,
    summary_line,
)


def fold(description: str) -> Descriptor:
    source = SourceRef(path="/fold/CAPABILITY.yaml", format="capability")
    return Descriptor(
        id="tool:fold", kind="tool", name="fold", description=description, source=source
    )


def test_a_text_without_blanks_is_cut_and_one_of_121_characters_is_whole_in_a_full_line() -> None:
    """121 characters are whole in a full line; the shorter one cuts them (S136)."""
    unspaced = fold("把很多个文件合并成一个文件" * 20)
    assert all(len(line) <= 122 for line in shorter_lines(unspaced))
    one = fold("x" * 60 + " " + "y" * 60)
    assert "y" * 60 in summary_line(one)
    assert "y" * 60 not in shorter_lines(one)[0]


def test_a_name_cannot_break_the_line_it_is_missing_on() -> None:
    assert "\n" not in availability_note(["a\nb\x1b[2J", "c"])
    assert availability_note([]) == ""
