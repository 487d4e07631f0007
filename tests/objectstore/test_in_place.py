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


def test_other_commands_answer_in_place_too(capdisc, store, machine, skills, monkeypatch) -> None:
    machine("ci")
    capdisc("index", str(skills))
    home = machine("reader")
    monkeypatch.setenv("CAPDISC_ENGINE", "lancedb")
    assert "Joins several PDF files into one." in capdisc("render", "join pdf files").out
    assert "merge-pdfs" in capdisc("show", "merge-pdfs").out
    assert "send-mail" in capdisc("list").out
    assert capdisc("show", "merge-pfds").code == 2
    assert not (home / ".cache" / "capdisc").exists()


def test_a_change_is_found_by_the_next_search(
    capdisc, store, machine, skills, write_skill
) -> None:
    machine("ci")
    capdisc("index", str(skills))
    write_skill(skills, "brew", "Brews espresso. Use when asked.")
    assert capdisc("index", str(skills)).code == 0
    machine("reader")
    assert capdisc("search", "brew espresso", *IN_PLACE, "--ids").out.split()[0] == "skill:brew"


def test_a_query_reads_a_part_of_the_index(capdisc, store, machine, tmp_path, write_skill) -> None:
    """What one query reads does not grow with the catalogue as the copy does."""
    body = "Some text that nobody asks for, of words such as these. " * 40
    for number in range(300):
        write_skill(tmp_path / "many", f"case-{number}", f"Handles case {number}.", body)
    machine("ci")
    assert capdisc("index", str(tmp_path / "many")).code == 0
    machine("reader")
    before = store.sent_bytes
    assert capdisc("search", "handle case 17", *IN_PLACE).code == 0
    in_place = store.sent_bytes - before
    before = store.sent_bytes
    assert capdisc("search", "handle case 17").code == 0
    assert in_place < store.sent_bytes - before


def test_an_index_without_vectors_says_that_it_has_no_table(
    capdisc, store, machine, skills, monkeypatch
) -> None:
    machine("ci")
    monkeypatch.setattr("capdisc_indexer.remote.shared_build.encode_frequencies", lambda _: b"x")
    capdisc("index", str(skills))
    machine("reader")
    result = capdisc("search", "join pdf files", *IN_PLACE)
    assert (result.code, "the list of terms is damaged" in result.err) == (4, True)
