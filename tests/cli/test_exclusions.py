"""What a capability is not for does not help to find it, and counts against it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXCLUDING = {
    "en": ("Edits Word files. Do not use for spreadsheets or slides.", "make spreadsheets"),
    "en-not-for": ("Edits Word files (not for spreadsheets).", "make spreadsheets"),
    "en-instead": ("Edits Word files. For spreadsheets, use xlsx-files instead.", "make spreadsheets"),
    "en-list": ('"Edits Word files. Do not use for:\\n- slides\\n- spreadsheets"', "make spreadsheets"),
    "de": ("Bearbeitet Word-Dateien. Verwende diesen Skill nicht für Tabellen.", "Tabellen erstellen"),
    "fr": ("Modifie des documents. Ne pas utiliser pour les tableurs.", "tableurs"),
    "es": ("Edita documentos. No usar para hojas de cálculo.", "crear hojas de cálculo"),
    "zh": ("编辑文档。请勿用于电子表格。", "电子表格"),
    "ja": ("文書を編集します。表計算には使用しないでください。", "表計算"),
}  # fmt: skip


def _coverage(result, name: str) -> float:
    return next(
        (hit["signals"]["coverage"] for hit in result.json["hits"] if hit["id"] == name), 0.0
    )


@pytest.mark.parametrize("language", EXCLUDING)
def test_words_that_exclude_do_not_match(capdisc, hermetic, write_skill, language) -> None:
    description, request = EXCLUDING[language]
    write_skill(hermetic / "skills", "edit-word", description)
    write_skill(hermetic / "skills", "water-plants", "Waters plants.")
    capdisc("index", "skills")
    result = capdisc("search", request, "--json", "--mode", "lexical")
    assert _coverage(result, "skill:edit-word") == 0.0


@pytest.mark.parametrize(
    "description",
    [
        "Finds servers that do not use encryption.",
        "Turns on Do Not Disturb for spreadsheets and encryption.",
        "Lists files that are not used for encryption.",
        "Runs encryption for a not for profit.",
        "For details on encryption, see key-files.",
        "Encryption that never fails. Not only for experts.",
        "Ein Werkzeug für Encryption, das nicht nur für Profis ist.",
    ],
)
def test_what_merely_says_not_is_found_as_before(
    capdisc, hermetic, write_skill, description
) -> None:
    write_skill(hermetic / "skills", "guard", description)
    capdisc("index", "skills")
    result = capdisc("search", "encryption", "--json", "--mode", "lexical")
    assert _coverage(result, "skill:guard") == 1.0


@pytest.fixture
def office(capdisc, hermetic, write_skill) -> Path:
    """An index of skills for three sorts of files; one says that two of them are not its own."""
    folder = hermetic / "skills"
    body = "Word documents, spreadsheets with formulas, and PDF files."
    about = "Creates and edits documents with styles and tables. Do not use for spreadsheets or PDF files."
    write_skill(folder, "docx", about, body)
    write_skill(folder, "xlsx", "Creates workbooks with formulas and charts.")
    write_skill(folder, "pdf", "Merges and fills PDF files.")
    capdisc("index", "skills")
    return folder


def test_a_request_for_what_is_excluded_goes_to_another(capdisc, office) -> None:
    result = capdisc("search", "make a spreadsheet with formulas", "--json", "--explain")
    hits = {hit["id"]: hit for hit in result.json["hits"]}
    assert result.json["hits"][0]["id"] == "skill:xlsx"
    assert hits["skill:docx"]["signals"]["excluded"] > 0.2
    assert "excluded" not in hits["skill:xlsx"]["signals"]


def test_a_request_with_an_own_wish_keeps_its_capability(capdisc, office) -> None:
    result = capdisc("search", "edit a document with styles, then merge PDF files", "--json")
    hits = {hit["id"]: hit for hit in result.json["hits"]}
    assert "excluded" not in hits["skill:docx"]["signals"]
    assert {hit["id"] for hit in result.json["hits"][:2]} == {"skill:docx", "skill:pdf"}


def test_the_description_is_shown_as_it_is(capdisc, office) -> None:
    assert "Do not use for spreadsheets" in capdisc("show", "docx").out


@pytest.mark.parametrize("key", ["notFor", "not_for", "doNotUseFor"])
def test_a_manifest_says_what_it_is_not_for(capdisc, hermetic, key) -> None:
    path = hermetic / "skills" / "capabilities.jsonl"
    path.parent.mkdir()
    rows = [
        {"name": "edit", "kind": "tool", "description": "Edits documents.", key: ["spreadsheets"]},
        {"name": "count", "kind": "tool", "description": "Adds numbers up."},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert capdisc("validate", "skills").code == 0
    capdisc("index", "skills")
    hits = capdisc("search", "spreadsheets of documents", "--json").json["hits"]
    assert next(hit for hit in hits if hit["id"] == "tool:edit")["signals"]["excluded"] > 0.1
    assert "Not for: spreadsheets\n" in capdisc("show", "tool:edit").out


def test_a_text_of_a_field_is_split_at_commas(capdisc, hermetic, write_skill) -> None:
    path = write_skill(hermetic / "skills", "forms", "Fills forms.")
    front = "metadata:\n  not-for: scanned pages, contracts (with seals)\n---\n\n"
    path.write_text(path.read_text().replace("---\n\n", front))
    capdisc("index", "skills")
    assert "Not for: scanned pages, contracts (with seals)\n" in capdisc("show", "forms").out


def test_a_request_of_punctuation_lowers_nothing(capdisc, office) -> None:
    assert capdisc("search", "... 7 !").code in (0, 1)
