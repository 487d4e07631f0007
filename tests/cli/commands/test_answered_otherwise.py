"""Needs of the designs that other commands answer: that these commands do."""

import json
import os
import shutil

import pytest


@pytest.fixture
def here(hermetic, monkeypatch, write_skill):
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    write_skill(hermetic / "skills", "alpha", "Folds paper cranes. Use when asked.")
    return hermetic


def test_an_index_follows_content_whatever_the_clock_says(capdisc, here, write_skill) -> None:
    """Counts follow content: an edit with the old time is updated, a touch is unchanged (S42)."""
    skill = here / "skills" / "alpha" / "SKILL.md"
    assert capdisc("index", "skills", "--json").json["counts"]["added"] == 1
    before = skill.stat()
    os.utime(skill, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert capdisc("index", "skills", "--json").json["counts"]["unchanged"] == 1
    write_skill(here / "skills", "alpha", "Folds paper boats and more. Use when asked.")
    os.utime(skill, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert capdisc("index", "skills", "--json").json["counts"]["updated"] == 1
    skill.unlink()
    assert capdisc("index", "skills", "--json").json["counts"]["removed"] == 1


def test_a_full_rebuild_gives_the_same_ids_and_a_newer_generation(capdisc, here) -> None:
    """A forced rebuild publishes a newer generation with the same ids (S43)."""
    capdisc("index", "skills")
    first, ids = capdisc("status", "--json").json["generation"], capdisc("list", "--ids").out
    capdisc("index", "skills", "--rebuild")
    assert capdisc("status", "--json").json["generation"] > first
    assert capdisc("list", "--ids").out == ids


def test_a_lost_index_is_made_again_from_the_files(capdisc, here) -> None:
    """After the index folder is deleted, a new build lists the same capabilities (S276)."""
    capdisc("index", "skills")
    before = capdisc("list", "--json").json
    shutil.rmtree(here / "index")
    capdisc("index", "skills")
    assert capdisc("list", "--json").json == before


def test_what_is_wrong_fails_and_json_is_whole_all_the_same(capdisc, here) -> None:
    """A manifest without a description fails validation, and stdout is still whole JSON (S294)."""
    (here / "CAPABILITY.yaml").write_text("name: x\nkind: tool\n")
    done = capdisc("validate", ".", "--json")
    assert done.code == 1
    assert done.json["findings"][0]["code"] == "field-missing"


def test_a_file_that_cannot_be_read_any_more_keeps_its_last_good_version(
    capdisc, here, write_skill
) -> None:
    """A broken file is an error at each build; its last good version is found and marked as stale
    in index, search, show, render and status, until the file is mended (S44)."""
    write_skill(here / "skills", "beta", "Cooks soup. Use when asked.")
    capdisc("index", "skills")
    alpha = here / "skills" / "alpha" / "SKILL.md"
    good = alpha.read_text()
    alpha.write_text("---\nname: alpha\n")
    for _ in range(2):
        done = capdisc("index", "skills")
        assert done.code == 1
        assert (
            "alpha/SKILL.md:1:1: error[frontmatter-unclosed]: the front matter is never closed"
            in done.err
        )
        assert done.out.startswith("2 capabilities from 2 files")
        assert "; 1 failed, 1 stale; " in done.out
    found = capdisc("search", "fold paper cranes", "--json").json["hits"]
    assert next((hit["id"], hit["stale"]) for hit in found) == ("skill:alpha", True)
    assert "stale: its file is broken now" in capdisc("search", "fold paper cranes").out
    assert "Stale: the file is broken now" in capdisc("show", "alpha").out
    assert capdisc("show", "alpha", "--json").json["capabilities"][0]["stale"] is True
    assert "Stale: the file is broken now" in capdisc("render", "fold paper cranes").out
    status = capdisc("status", "--json").json
    assert (status["errors"], status["stale"]) == (1, ["skill:alpha"])
    assert "stale       skill:alpha" in capdisc("status").out
    alpha.write_text(good)
    assert capdisc("index", "skills").code == 0
    assert capdisc("status", "--json").json["stale"] == []
    assert capdisc("search", "fold paper cranes", "--json").json["hits"][0]["stale"] is False


def test_the_last_good_version_goes_with_its_file(capdisc, here) -> None:
    """Of a broken file that is removed nothing stays in the index (S44)."""
    capdisc("index", "skills")
    alpha = here / "skills" / "alpha" / "SKILL.md"
    alpha.write_text("---\nname: alpha\n")
    assert capdisc("index", "skills").out.startswith("1 capability")
    alpha.unlink()
    assert "1 removed" in capdisc("index", "skills").out
    assert capdisc("list", "--ids").out == ""


def test_each_part_of_a_score_is_said(capdisc, data) -> None:
    """The parts of a score are signals in JSON, and --explain prints them (S239)."""
    first = capdisc("search", "erase a whole disk", "--json").json["hits"][0]
    assert first["signals"]["bm25"] > 0
    assert "bm25" in capdisc("search", "erase a whole disk", "--explain").out


def test_lines_of_calls_are_a_trace_that_can_be_played_again(capdisc, data, hermetic) -> None:
    """A file of calls can be replayed, with the same answers and their sources (S244)."""
    calls = [
        {"tool": "search_all", "arguments": {"query": "erase a whole disk"}},
        {"tool": "search_tool", "arguments": {"query": "wipe_disk"}},
    ]
    (hermetic / "trace.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    first = capdisc("call", "--batch", "trace.jsonl").out
    assert capdisc("call", "--batch", "trace.jsonl").out == first
    answers = [json.loads(line) for line in first.splitlines()]
    assert [each["tool"] for each in answers] == ["search_all", "search_tool"]
    assert answers[0]["results"]["sources"][0].endswith(".jsonl")
    assert "bm25" in capdisc("search", "erase a whole disk", "--explain").out


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_search_is_hybrid_by_default_and_can_be_one_half(capdisc, data, mode) -> None:
    """Search is hybrid by default, and --mode chooses words or vectors alone (S245)."""
    assert capdisc("search", "erase a disk", "--json").json["mode"] == "hybrid"
    assert capdisc("search", "erase a disk", "--mode", mode, "--json").json["mode"] == mode


def test_what_a_question_is_about_is_said_by_what_it_finds(capdisc, data) -> None:
    """A question about a table finds the table first, without any list of words."""
    found = capdisc("call", "search_all", '{"query": "compatibility of bolts"}').json
    assert found["results"][0]["kind"] == "table"


def test_an_answer_has_its_sources_and_no_words_of_a_model(capdisc, data, monkeypatch) -> None:
    """An answer has sources and needs neither a model nor a key (S234, S235, S240)."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = capdisc("call", "search_all", '{"query": "erase a whole disk"}').json
    assert found["sources"]
    assert "answer" not in found
    assert capdisc("render", "erase a whole disk").code == 0


def test_the_phases_of_a_search_are_groups_of_tools(capdisc, data) -> None:
    """Each tool in the list has a kind: discovery, schema, rows or content (S237)."""
    groups = {each["name"]: each["kind"] for each in capdisc("tools", "--all").json["tools"]}
    assert groups["search_tool"] == "discovery"
    assert groups["get_table_schema"] == "schema"
    assert groups["get_table_rows"] == "tables"
    assert groups["search_content"] == "content"


def test_ids_go_from_one_command_to_the_next(capdisc, data) -> None:
    """`search --ids` pipes into `show -` (S246)."""
    ids = capdisc("search", "erase a whole disk", "--ids", "-k", "1").out
    assert "Id: tool:wipe_disk" in capdisc("show", "-", stdin=ids).out


def test_a_pipe_gets_what_a_person_sees(capdisc, data) -> None:
    """Of hits of little relevance `search` prints a number, `--ids` nothing, and `--json` that they
    do not fit (S246)."""
    seen = capdisc("search", "disk")
    assert "more of little relevance" in seen.err
    shown = [line.split()[1] for line in seen.out.splitlines() if line[:2].strip().isdigit()]
    piped = capdisc("search", "disk", "--ids").out
    assert piped.splitlines() == shown
    assert capdisc("show", "-", stdin=piped).out.count(" | Id: ") == len(shown)
    hits = capdisc("search", "disk", "--json").json["hits"]
    assert [hit["id"] for hit in hits if hit["fits"]] == shown != [hit["id"] for hit in hits]
