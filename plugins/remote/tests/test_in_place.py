"""A shared index answers from the store, without a copy of it on the reader's machine."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.s3
IN_PLACE = ("--engine", "lancedb")


def test_a_search_in_place_finds_what_a_copy_finds_and_copies_nothing(
    capdisc, store, machine, skills, write_skill
) -> None:
    for number in range(20):
        write_skill(skills, f"case-{number}", f"Handles case {number}. Use when asked.")
    machine("ci")
    assert capdisc("index", str(skills)).code == 0
    home = machine("reader")
    for words in (["join pdf files"], ["send an emial"], ["case 7", "--exclude", "merge-pdfs"]):
        in_place = capdisc("search", *words, *IN_PLACE, "--ids")
        assert not (home / ".cache" / "capdisc").exists()
        copied = capdisc("search", *words, "--ids")
        assert in_place.out.split()[:3] == copied.out.split()[:3] != []
        assert in_place.err == ""
        home = machine(f"reader of {words[0]}")


def test_other_commands_answer_in_place_too(capdisc, monkeypatch, reader) -> None:
    monkeypatch.setenv("CAPDISC_ENGINE", "lancedb")
    assert "Joins several PDF files into one." in capdisc("render", "join pdf files").out
    assert "merge-pdfs" in capdisc("show", "merge-pdfs").out
    assert "send-mail" in capdisc("list").out
    assert capdisc("show", "merge-pfds").code == 2
    assert not (reader / ".cache" / "capdisc").exists()


def test_a_change_is_found_by_the_next_search(
    capdisc, machine, skills, write_skill, built
) -> None:
    write_skill(skills, "brew", "Brews espresso. Use when asked.")
    assert capdisc("index", str(skills)).code == 0
    machine("reader")
    assert capdisc("search", "brew espresso", *IN_PLACE, "--ids").out.split()[0] == "skill:brew"


def test_a_query_reads_no_file_of_a_copy(capdisc, store, reader) -> None:
    store.seen.clear()
    assert capdisc("search", "join pdf files", *IN_PLACE).code == 0
    parts = {key.split("/")[2] for key in store.seen if key.startswith("GET generations/")}
    assert parts == {"MANIFEST", "meta", "table"}


def test_a_damaged_list_of_terms_is_named(capdisc, store, machine, skills, monkeypatch) -> None:
    machine("ci")
    monkeypatch.setattr("capdisc_indexer.store.table_documents.encode_frequencies", lambda _: b"x")
    capdisc("index", str(skills))
    machine("reader")
    result = capdisc("search", "join pdf files", *IN_PLACE)
    assert (result.code, "the list of terms is damaged" in result.err) == (4, True)
