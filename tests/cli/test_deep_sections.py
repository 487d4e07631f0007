"""What stands in the tenth section of a long body is found, and the hit says where."""

from __future__ import annotations

import pytest

FILLER = "The reader opens a file and looks at its pages one after the other, from first to last. "
SECTIONS = {
    "Read a file": f"{8 * FILLER}",
    "Count pages": f"{8 * FILLER}",
    "Rotate pages": f"Turn each page by a quarter. {7 * FILLER}",
    "Draw a watermark": f"Put a text behind each page. {7 * FILLER}",
    "qpdf": f"Remove the password:\n\n```sh\nqpdf --password=secret --decrypt in.pdf out.pdf\n```\n\n{5 * FILLER}",
    "Known limits": f"{6 * FILLER}",
}
BODY = "# Papers\n\n" + "\n\n".join(f"## {name}\n\n{text}" for name, text in SECTIONS.items())


@pytest.fixture
def library(capdisc, hermetic, write_skill):
    """Three skills with long bodies and two without, indexed."""
    folder = hermetic / "skills"
    write_skill(folder, "papers", "Works with printed documents. Use when asked.", BODY)
    for name, noun in (("kettles", "kettle"), ("cranes", "crane")):
        text = "\n\n".join(
            f"## {noun} {n}\n\n{f'A {noun} stands on its base. ' * 30}" for n in range(4)
        )
        write_skill(folder, name, f"Explains how a {noun} works.", text)
    write_skill(folder, "locks", "Opens locks. Use when a key or a password is lost.")
    write_skill(folder, "letters", "Writes letters.")
    assert capdisc("index", "skills").code == 0
    return folder


def test_a_section_beyond_the_beginning_is_found_and_named(capdisc, library) -> None:
    assert len("".join(list(SECTIONS.values())[:4])) > 2_000
    found = capdisc("search", "qpdf decrypt password")
    lines = found.out.splitlines()
    assert (found.code, lines[0].split()[1]) == (0, "skill:papers")
    assert lines[1].strip() == "section: qpdf"
    assert "no capability mentions" not in found.err


def test_json_names_the_section_and_show_prints_it(capdisc, library) -> None:
    hits = capdisc("search", "qpdf decrypt password", "--json").json["hits"]
    assert (hits[0]["id"], hits[0]["section"]) == ("skill:papers", "qpdf")
    assert {hit["section"] for hit in hits if hit["id"] == "skill:letters"} <= {None}
    shown = capdisc("show", hits[0]["id"], "--section", hits[0]["section"])
    assert "--decrypt in.pdf" in shown.out and "Rotate" not in shown.out


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_every_mode_finds_a_deep_section(capdisc, library, mode) -> None:
    hits = capdisc("search", "draw a watermark behind each page", "--mode", mode, "--json").json[
        "hits"
    ]
    assert hits[0]["id"] == "skill:papers"
    assert hits[0]["section"] == "Draw a watermark" or mode == "vector"


def test_words_that_no_section_has_are_named(capdisc, library) -> None:
    found = capdisc("search", "decrypt zanzibar")
    assert "zanzibar" in found.err and "decrypt" not in found.err


def test_a_misspelled_word_of_a_deep_section_is_found(capdisc, library) -> None:
    found = capdisc("search", "watermrak", "--json").json
    assert "skill:papers" in [hit["id"] for hit in found["hits"]] and not found["unmatched"]


def test_filters_hold_for_sections(capdisc, library) -> None:
    done = capdisc("search", "qpdf decrypt password", "--exclude", "papers", "--json")
    assert "skill:papers" not in [hit["id"] for hit in done.json["hits"]]


def test_a_context_shows_the_section_that_was_found_first(capdisc, library) -> None:
    context = capdisc("render", "qpdf decrypt password", "--tier", "2", "--budget", "420")
    assert context.code == 0
    assert "qpdf --password=secret --decrypt" in context.out


def test_a_setting_leaves_bodies_out(capdisc, library, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_BODY_PASSAGES", "0")
    assert capdisc("index", "skills").code == 0
    found = capdisc("search", "qpdf decrypt")
    assert (found.code, found.out) == (1, "")
    assert "no capability mentions: qpdf, decrypt" in found.err


def test_hidden_capabilities_stay_hidden_with_all_their_sections(
    capdisc, hermetic, library, write_skill
) -> None:
    path = write_skill(library, "papers", "Works with printed documents.", BODY)
    path.write_text(
        path.read_text().replace("name: papers", "name: papers\ndisable-model-invocation: true")
    )
    assert capdisc("index", "skills").code == 0
    found = capdisc("search", "qpdf decrypt password", "--json")
    assert "skill:papers" not in [hit["id"] for hit in found.json["hits"]]
