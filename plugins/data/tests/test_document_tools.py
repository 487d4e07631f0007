"""Documents, sections, pages."""

import pytest

from capdisc_indexer.model.errors import UsageError


def test_documents_have_name_type_format_description_and_tags(ask) -> None:
    """A document is listed with name, type, format, description and tags (S34, S39)."""
    first = ask("list_documents")["documents"][0]
    assert first == {
        "name": "handbook", "type": "file", "format": "markdown", "description": "Rules of the company.", "tags": [],
    }  # fmt: skip


def test_a_document_is_whole_whether_kept_in_parts_or_not(ask) -> None:
    """A document is returned whole, with its time under both names (S35)."""
    found = ask("get_document", name="handbook")
    assert found["content"].startswith("# Handbook")
    assert found["content"].endswith("Trains before planes.")
    assert found["last_updated"] == found["loaded_at"] == "2024-01-15T10:30:00Z"
    assert [each["title"] for each in found["sections"]] == [
        "handbook",
        "Leave policy",
        "Sick leave",
        "Travel",
    ]
    assert ask("get_document", name="notes")["content"].startswith("# Notes")


def test_a_phrase_deep_in_a_document_finds_its_section(ask) -> None:
    """A phrase deep in a document finds its section, with an excerpt (S36, S114)."""
    first = ask("search_documents", query="what is the code word zanzibar", limit=1)["results"][0]
    assert (first["document"], first["section"]) == ("handbook", "Sick leave")
    assert "zanzibar" in first["excerpt"]
    assert 0 < first["relevance"] <= 1


@pytest.mark.parametrize(("name", "words"), [("handbook", "leave"), ("notes", "first")])
def test_a_section_has_what_is_below_it_and_no_sibling(ask, name, words) -> None:
    """A section is returned with its subsections and without its siblings (S37)."""
    content = ask("get_document_section", name=name, section=words)["content"]
    assert ("Sick leave" in content) == (name == "handbook")
    assert ("### Inner part" in content) == (name == "notes")
    assert "Travel" not in content
    assert "Second part" not in content


def test_a_heading_in_code_is_none(ask) -> None:
    """A heading inside a code block starts no section (S41)."""
    titles = [each["title"] for each in ask("get_document", name="notes")["sections"]]
    assert titles == ["Notes", "First part", "Inner part", "Second part"]


def test_an_unknown_section_is_told_with_those_that_there_are(ask) -> None:
    with pytest.raises(UsageError) as caught:
        ask("get_document_section", name="handbook", section="salary")
    assert "Leave policy" in caught.value.hint


def test_page_n_is_part_n(ask) -> None:
    """Page n is part n of a document; the hint lists documents and page numbers (S226)."""
    page = ask("get_page_by_number", page_number=3, document="handbook")
    assert (page["section"], page["pages"]) == ("Sick leave", 4)
    with pytest.raises(UsageError) as caught:
        ask("get_page_by_number", page_number=3)
    assert "handbook, notes" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        ask("get_page_by_number", page_number=9, document="handbook")
    assert "1 to 4" in caught.value.hint
