"""Documents by section: headings, borders of chunks, and what stays whole."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_data.document_blocks import of_markdown, of_text
from capdisc_data.document_capabilities import (
    CHUNK_CHARACTERS,
    WHOLE_CHARACTERS,
    split_sections,
)

HANDBOOK = """---
title: Staff Handbook
description: How we work together.
tags: [people, rules]
---
Welcome to everyone.

# Leave

Everyone has 25 days.

## Parental leave

Twelve weeks for each parent.

```sh
# not a heading
echo leave
```

## Sick leave

Call your manager before nine.

Expenses
========

| what  | limit |
|-------|-------|
| hotel | 120   |
"""


def test_plain_text_is_cut_by_paragraphs(tmp_path: Path) -> None:
    """Plain text is split between paragraphs into chunks, and nothing is lost (S41)."""
    paragraphs = [f"Paragraph {n}. " + "word " * 100 for n in range(10)]
    found_sections = list(split_sections(of_text("\n\n".join(paragraphs))))
    assert all(len(section.text) <= CHUNK_CHARACTERS for section in found_sections)
    assert [section.part for section in found_sections] == list(range(1, len(found_sections) + 1))
    assert "\n\n".join(section.text for section in found_sections) == "\n\n".join(paragraphs)


def test_tables_lists_and_code_stay_whole() -> None:
    """A table, list or code block longer than a chunk stays whole (S41)."""
    blocks = {
        "table": "| a | b |\n|---|---|\n"
        + "\n".join(f"| row {n} | {'x' * 30} |" for n in range(80)),
        "list": "\n\n".join(f"- item {n} {'y' * 40}" for n in range(60)),
        "code": "```py\n" + "\n\n".join(f"call({n})  # {'z' * 40}" for n in range(60)) + "\n```",
    }
    text = "\n\n".join(
        f"# {name}\n\nBefore it.\n\n{block}\n\nAfter it." for name, block in blocks.items()
    )
    found_sections = list(split_sections(of_markdown(text)))
    for name, block in blocks.items():
        assert CHUNK_CHARACTERS < len(block) < WHOLE_CHARACTERS
        assert [
            block in section.text for section in found_sections if section.title == name
        ].count(True) == 1


def test_a_paragraph_that_is_too_long_is_cut_after_a_sentence() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(200))
    parts = [section.text for section in split_sections(of_markdown(text))]
    assert len(parts) > 2
    assert all(part.endswith("here.") and len(part) <= CHUNK_CHARACTERS for part in parts)


def test_lines_of_sections_are_those_of_the_file() -> None:
    lines = HANDBOOK.split("\n")
    body = HANDBOOK.split("---\n", 2)[2]
    sections = list(split_sections(of_markdown(body, 6)))
    assert sections
    for section in sections:
        assert lines[section.line - 1] == section.text.split("\n")[0]


@given(
    st.lists(
        st.sampled_from(
            ["# A", "## B", "text", "- item", "", "```", "| a |", "===", "---", "  deep"]
        ),
        max_size=40,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_word_is_lost_between_the_sections(lines: list[str]) -> None:
    text = "\n".join(lines)
    pieces = list(of_markdown(text))
    held = " ".join(piece.text for piece in pieces).split()
    for word in ("text", "item", "deep"):
        assert held.count(word) == text.split().count(word)
