"""The sections of a Markdown text: where they begin and end, and which one a name means."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.text.markdown import prose_lines
from capdisc_indexer.text.sections import find_section, section_slugs, split_sections
from case_rows import read_rows

TEXT = """Before all.

# Title

## First Part!

One.

### Inside

```
## not a heading
```

## Second `code` part ##

Two.

## First part

Three.

# C#
"""


def _outline(text: str) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in split_sections(text)]


def test_headings_stand_in_order_without_those_in_code() -> None:
    assert _outline(TEXT) == [
        (0, ""),
        (1, "Title"),
        (2, "First Part!"),
        (3, "Inside"),
        (2, "Second `code` part"),
        (2, "First part"),
        (1, "C#"),
    ]


def test_the_sections_of_the_highest_level_and_the_lead_make_the_whole_text() -> None:
    pieces = [TEXT[part.start : part.end] for part in split_sections(TEXT) if part.level < 2]
    assert "".join(pieces) == TEXT


def test_every_section_begins_with_its_heading() -> None:
    for section in split_sections(TEXT)[1:]:
        line = TEXT[section.start : section.end].split("\n")[0]
        assert line.startswith("#" * section.level + " " + section.heading)


@pytest.mark.parametrize(
    ("text", "outline"),
    read_rows(__file__, "a_text_without_headings_or_with_odd_ones"),
)
def test_a_text_without_headings_or_with_odd_ones(text: str, outline) -> None:
    assert [*map(list, _outline(text))] == outline


@pytest.mark.parametrize(
    ("name", "first", "last"),
    read_rows(__file__, "a_name_finds_its_section"),
)
def test_a_name_finds_its_section(name: str, first: str, last: str) -> None:
    section = find_section(TEXT, name)
    assert section is not None
    lines = TEXT[section.start : section.end].strip().splitlines()
    assert (lines[0], lines[-1]) == (first, last)


@pytest.mark.parametrize("name", ["not-a-heading", "nowhere", "", "  ", "#", "-", "!"])
def test_there_is_none_for_a_heading_that_does_not_exist(name: str) -> None:
    assert find_section(TEXT, name) is None


def test_a_beginning_of_two_headings_means_neither() -> None:
    assert find_section("# Install\n# Instruments\n", "inst") is None


def test_repeated_headings_have_anchors_of_their_own() -> None:
    assert section_slugs(split_sections(TEXT))[1:] == (
        "title",
        "first-part",
        "inside",
        "second-code-part",
        "first-part-1",
        "c",
    )


LINES = st.lists(
    st.sampled_from(
        ["# a", "## b ##", " ### c\t#", "    # d", "#", "####### e", "#f", "#\tg # h", "```", "````", "```py", "~~~", "~~~ `",
         "``` a`b", "   ```", "    ```", "``", "", " ", "text # no", "# i\r", "# j\u2028k"]
    )
).map("\n".join)  # fmt: skip


@settings(max_examples=500)
@given(LINES)
def test_headings_are_the_lines_outside_code_that_begin_with_signs(text: str) -> None:
    headings = [
        (match[1], (match[2] or "").strip())
        for _, line in prose_lines(text)
        if (match := re.fullmatch(r" {0,3}(#{1,6})(?:[ \t]+(.*))?", line))
    ]
    found = [section for section in split_sections(text) if section.level]
    assert [section.level for section in found] == [len(signs) for signs, _ in headings]
    for section, (signs, written) in zip(found, headings, strict=True):
        first_line = text[section.start : section.end].split("\n")[0]
        assert first_line.strip(" ").startswith(signs)
        assert written.startswith(section.heading)
        assert not written.removeprefix(section.heading).strip("# \t\r")
