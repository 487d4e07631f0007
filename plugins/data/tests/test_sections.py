"""Documents by section: headings, borders of chunks, and what stays whole."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_data import document_files
from capdisc_data.document_blocks import of_markdown, of_text
from capdisc_data.document_capabilities import (
    CHUNK_CHARACTERS,
    WHOLE_CHARACTERS,
    split_sections,
)
from capdisc_indexer.model.types import Descriptor, LoadedFile
from found_files import found

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


def load(
    tmp_path: Path, text: str, relative: str = "handbook.md", **changes: object
) -> LoadedFile:
    path = tmp_path / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return document_files.load(
        found(path, "document", **{"relative": relative, **changes}), path.read_bytes()
    )


def by_id(loaded: LoadedFile) -> dict[str, Descriptor]:
    return {each.id: each for each in loaded.descriptors}


def test_a_document_says_what_it_is(tmp_path: Path) -> None:
    """A document has title, tags, format, time of change and a list of sections (S34, S35)."""
    document = by_id(load(tmp_path, HANDBOOK))["document:handbook"]
    assert (document.title, document.tags) == ("Staff Handbook", ("people", "rules"))
    assert document.description.startswith(
        "How we work together. Sections: Leave, Parental leave,"
    )
    assert document.extra["format"] == "markdown"
    assert len(document.extra["last_updated"]) == len("2024-01-02T03:04:05Z")
    assert [(s["title"], s["level"], s["chunk"]) for s in document.extra["sections"]] == [
        ("Staff Handbook", 0, 1),
        ("Leave", 1, 2),
        ("Parental leave", 2, 3),
        ("Sick leave", 2, 4),
        ("Expenses", 1, 5),
    ]


def test_a_section_knows_its_place(tmp_path: Path) -> None:
    """A section knows its document, level, place and parents, and only its own text (S36, S37)."""
    section = by_id(load(tmp_path, HANDBOOK))["section:handbook.parental-leave"]
    assert section.extra == {
        "document": "document:handbook",
        "title": "Parental leave",
        "level": 2,
        "chunk": 3,
        "part": 1,
        "path": ["Staff Handbook", "Leave"],
    }
    assert section.description == (
        "Staff Handbook › Leave › Parental leave: Twelve weeks for each parent. ```sh # not a heading echo leave ```"
    )
    assert "Twelve weeks" in section.content and "Call your manager" not in section.content


def test_the_document_holds_all_of_its_text(tmp_path: Path) -> None:
    """A document keeps its whole text, with headings and tables (S35)."""
    content = by_id(load(tmp_path, HANDBOOK))["document:handbook"].content
    assert content.startswith(
        "Welcome to everyone.\n\n# Leave\n\nEveryone has 25 days.\n\n## Parental leave"
    )
    assert "| hotel | 120   |" in content


def test_the_name_is_the_place_below_the_declared_folder(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, "Text.\n", "guide/set up.md", root=str(tmp_path), is_alone=False, name="wiki"
    )
    assert [each.id for each in loaded.descriptors] == [
        "document:guide.set-up",
        "section:guide.set-up.guide-set-up",
    ]
    assert {each.category for each in loaded.descriptors} == {"wiki"}


def test_a_declared_file_has_the_declared_name(tmp_path: Path) -> None:
    path = tmp_path / "Handbook v3 FINAL.md"
    path.write_text("Text.\n")
    loaded = document_files.load(found(path, "document", name="rules"), path.read_bytes())
    assert "document:rules" in by_id(loaded)


def test_headings_of_one_title_have_ids_of_their_own(tmp_path: Path) -> None:
    loaded = load(tmp_path, "# A\n\n## Usage\n\none\n\n# B\n\n## Usage\n\ntwo\n")
    assert [each.id for each in loaded.descriptors[1:]] == [
        "section:handbook.usage",
        "section:handbook.usage-2",
    ]


def test_a_document_without_text_is_a_finding(tmp_path: Path) -> None:
    loaded = load(tmp_path, "# Only a heading\n")
    assert (loaded.descriptors, [finding.code for finding in loaded.findings]) == (
        (),
        ["document-empty"],
    )


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
