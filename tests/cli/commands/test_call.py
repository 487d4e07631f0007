"""capdisc call: one discovery tool, asked by name."""

import json

import pytest


@pytest.mark.parametrize("limit", [60, 90, 250, 500])
def test_an_answer_keeps_to_its_tokens_and_says_what_is_missing(capdisc, data, limit) -> None:
    """An answer keeps within --max-tokens and counts the entries it leaves out (S126, S241)."""
    from capdisc_indexer.lazy_imports import load_token_counter

    done = capdisc("call", "search_tool", "--max-tokens", str(limit))
    assert load_token_counter()(done.out) <= limit
    assert ("truncated" in done.json) == (limit < 250)
    if "truncated" in done.json:
        assert len(done.json["tools"]) + done.json["left_out"]["tools"] == done.json["total_count"]


def test_hidden_characters_in_a_catalogue_do_not_reach_a_terminal(
    capdisc, hermetic, monkeypatch
) -> None:
    line = {
        "kind": "tool",
        "name": "trick",
        "description": "Shows\u202e things\x1b[2J now.",
        "category": "x",
    }
    (hermetic / "capabilities.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    capdisc("index", "capabilities.jsonl")
    for argv in (("call", "search_tool", '{"query": "trick"}'), ("tools", "--only", "trick")):
        out = capdisc(*argv).out
        assert not {"\u202e", "\x1b"} & set(out)


def test_the_core_answers_without_the_terminal(process) -> None:
    """Discovery tools import no module of the command line and no heavy library (S123)."""
    import subprocess
    import sys

    heavy = [
        "capdisc",
        "typer",
        "rich",
        "lancedb",
        "pyarrow",
        "torch",
        "numpy",
        "pydantic",
        "asyncio",
        "jsonschema",
        "mcp",
    ]
    script = f"import sys, capdisc_indexer.tools; print([name for name in {heavy!r} if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_calls_are_in_the_log_with_tool_and_sources(capdisc, catalogue, monkeypatch) -> None:
    """With the log on, `log --top` counts the discovery tools, their queries and the ids they named;
    what execute_tool ran is a use (S244)."""
    monkeypatch.setenv("CAPDISC_LOG", "1")
    capdisc("call", "tool_search", '{"query": "join PDF files"}')
    capdisc("call", "search_all", '{"query": "join PDF files"}')
    capdisc("call", "tool_search", '{"query": "zxqv wvut"}')
    capdisc("call", "execute_tool", '{"tool_name": "say-hello"}', "--yes")
    capdisc(
        "call", "execute_tool", '{"tool_name": "search_tool", "arguments": {"query": "hello"}}'
    )
    capdisc("call", "list_skills")
    capdisc("call", "search_by_keywords", '{"keywords": ["merge", "pdf"]}')
    facts = capdisc("log", "--json").json
    called = {entry["name"]: entry["count"] for entry in facts["called"]}
    assert called == {
        "tool_search": 2, "search_all": 1, "execute_tool": 1, "search_tool": 1, "list_skills": 1,
        "search_by_keywords": 1,
    }  # fmt: skip
    assert facts["requests"] == 5
    assert {"query": "merge pdf", "count": 1} in facts["queries"]
    assert facts["nothing_found"] == [{"query": "zxqv wvut", "count": 1}]
    assert "skill:merge-pdfs" in [entry["id"] for entry in facts["found"]]
    assert facts["used"] == [{"id": "tool:say-hello", "count": 1}]
    top = capdisc("log", "--top").out
    assert top.startswith("called:\n     2  tool_search\n")
    assert "tool_search  join PDF files → skill:merge-pdfs" in capdisc("log").out


def test_a_name_that_no_session_can_have_stops_a_call_before_it_runs(
    capdisc, catalogue, hermetic
) -> None:
    catalogue("touch", "run: {command: [touch, made]}\n")
    call = ("call", "execute_tool", '{"tool_name": "touch"}', "--yes", "--session")
    done = capdisc(*call, "../x")
    assert (done.code, done.out) == (2, "")
    assert "cannot name a session" in done.err
    assert not list(hermetic.rglob("made"))
    assert capdisc(*call, "x").json["executed"] is True
    assert list(hermetic.rglob("made"))
    assert "tool:touch" in capdisc("session", "show", "x").out


def test_a_result_is_printed_where_its_session_cannot_be_written(
    capdisc, catalogue, monkeypatch
) -> None:
    from capdisc_indexer.model.errors import BusyError
    from capdisc_sessions import session_files

    def fail(*_: object, **__: object) -> None:
        raise BusyError("another process writes", "wait")

    monkeypatch.setattr(session_files, "update_session", fail)
    done = capdisc("call", "execute_tool", '{"tool_name": "say-hello"}', "--yes", "--session", "x")
    assert done.json["stdout"] == "hello\n"
    assert "notice: the session was not written: another process writes" in done.err
