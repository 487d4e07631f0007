"""capdisc call: one discovery tool, asked by name."""

import json

import pytest


def test_a_tool_answers_in_json_and_nothing_else(capdisc, data) -> None:
    """A tool called by name prints one JSON document and leaves stderr empty (S12, S221)."""
    done = capdisc("call", "list_databases")
    assert (done.code, done.err) == (0, "")
    assert done.json["databases"][0]["name"] == "music"


def test_arguments_come_from_an_argument_an_option_or_stdin(capdisc, data) -> None:
    """JSON arguments come as an argument, with --args or on stdin, to the same effect (S221)."""
    given = '{"database": "music"}'
    first = capdisc("call", "list_tables", given).out
    assert capdisc("call", "list_tables", "--args", given).out == first
    assert capdisc("call", "list_tables", "-", stdin=given).out == first


@pytest.mark.parametrize(
    "words",
    [
        ("music", "artists"),
        ("database=music", "table=artists"),
        ("table=artists", "music"),
        ("artists",),
        ('{"database": "music", "table": "artists"}',),
    ],
)
def test_arguments_are_words_in_the_order_of_the_parameters_or_with_their_keys(
    capdisc, data, words
) -> None:
    done = capdisc("call", "get_table_schema", *words)
    assert (done.code, done.err, done.json["table"]) == (0, "", "artists")


def test_a_word_is_a_text_or_json_as_its_parameter_has_it(capdisc, data) -> None:
    """A question may hold a sign of equality, a limit is a number, and arguments are an object."""
    assert capdisc("call", "search_all", "2024", "limit=1").json["query"] == "2024"
    assert capdisc("call", "search_all", "is a = b", "limit=1").json["query"] == "is a = b"
    call = capdisc("call", "execute_tool", "wipe_disk", '{"device": "sda"}')
    assert "sda" in call.out + call.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("list_tables", "music", "more"),
            "'more' is not KEY=VALUE, and every parameter has a value",
        ),
        (("list_tables", "database=music", "nothing=1"), "nothing is unknown"),
        (("search_all", "x", "limit=few"), "limit must be an integer"),
        (("list_tabels", "music"), "list_tables"),
        (("list_tables", "music", "--args", "{}"), "given twice"),
        (("search_all", "query=x", "query=y"), "query is given twice"),
        (("search_all", '{"query": "x"}', "limit=1"), "JSON stand alone"),
    ],
)
def test_words_that_do_not_fit_are_an_error(capdisc, data, words, said) -> None:
    done = capdisc("call", *words)
    assert (done.code, done.out, said in done.err) == (2, "", True), done.err


def test_an_unknown_tool_is_an_error_with_the_nearest(capdisc, data) -> None:
    """An unknown tool is an error that names the nearest one and `search` (S15, S110, S221)."""
    done = capdisc("call", "lst_skills")
    assert (done.code, done.out) == (2, "")
    assert "list_skills" in done.err
    assert "capdisc search" in done.err


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("call",), 2, "name one tool"),
        (("call", "list_tables", "{"), 2, "cannot be read"),
        (("call", "list_tables", "[1]"), 2, "must be an object"),
        (("call", "list_tables", "{}", "--args", "{}"), 2, "given twice"),
        (
            ("call", "list_tables", '{"database": 5}'),
            2,
            "database must be a string, not an integer",
        ),
        (("call", "list_tables", '{"database": "none"}'), 2, "music"),
        (("call", "search_tables"), 2, "query is missing"),
        (("call", "list_tables", '{"a": ' + "[" * 100 + "]" * 100 + "}"), 2, "nested"),
        (("call", "--batch", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("call", "list_skills", "--batch", "x"), 2, "name one tool"),
        (("call", "execute_rest"), 3, "curl"),
        (
            ("call", "get_sample_values", '{"table": "parts", "column": "Bolt"}'),
            3,
            "no samples stored",
        ),
        (
            ("call", "resolve_skill_link", '{"name": "track-orders", "target": "/etc/passwd"}'),
            5,
            "not read",
        ),
    ],
)
def test_what_makes_no_sense_is_an_error_and_stdout_stays_empty(
    capdisc, data, argv, code, said
) -> None:
    """Wrong arguments exit with a status of their kind, a message and a hint (S33, S109, S199)."""
    done = capdisc(*argv)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "hint: " in done.err


def test_without_an_index_that_is_said(capdisc, hermetic) -> None:
    """Without an index, call prints nothing on stdout and exits with 4 (S199)."""
    done = capdisc("call", "list_skills")
    assert (done.code, done.out) == (4, "")


def test_a_search_for_what_the_index_has_none_of_finds_nothing(capdisc, hermetic) -> None:
    (hermetic / "caps").mkdir()
    assert capdisc("index", "caps", "--quiet").code == 0
    for thing in ("tables", "operations", "documents", "skills"):
        done = capdisc("call", f"search_{thing}", "anything")
        (rows,) = done.json.values()
        assert (done.code, rows) == (0, [])


def test_an_envelope_says_whether_it_worked(capdisc, data) -> None:
    """An error is JSON on stdout, text on stderr and an exit code (S111, S199)."""
    good = capdisc("call", "list_skills", "--envelope")
    assert good.json["status"] == "success"
    assert good.json["results"]["skills"][0]["name"] == "track-orders"
    bad = capdisc("call", "list_skill", "--envelope")
    assert (bad.code, bad.json["status"]) == (2, "error")
    assert "list_skills" in bad.json["hint"]
    assert "error: " in bad.err


def test_a_batch_goes_on_after_an_error(capdisc, data) -> None:
    """Each call of a batch has its line, also after an error, whatever its text (S232, S236)."""
    calls = [
        {"tool": "list_databases"},
        {"tool": "no_such_tool"},
        {"tool": "search_all", "arguments": {"query": "the answer"}},
    ]
    lines = "\n".join([*map(json.dumps, calls), "not json", '{"arguments": {}}'])
    done = capdisc("call", "--batch", "-", stdin=lines)
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [each["status"] for each in answers] == [
        "success",
        "error",
        "success",
        "error",
        "error",
    ]
    assert [each.get("line") for each in answers] == [None, 2, None, 4, 5]
    assert done.code == 1
    assert capdisc("call", "--batch", "-", stdin=json.dumps(calls[0])).code == 0


def test_a_batch_in_a_file_with_blank_lines(capdisc, data, hermetic) -> None:
    """A batch file may hold blank lines; they give no answer (S232)."""
    (hermetic / "calls.jsonl").write_text('\n{"name": "list_apis", "args": {}}\n\n')
    done = capdisc("call", "--batch", "calls.jsonl")
    assert done.code == 0
    assert len(done.out.splitlines()) == 1


@pytest.mark.parametrize("limit", [60, 90, 250, 500])
def test_an_answer_keeps_to_its_tokens_and_says_what_is_missing(capdisc, data, limit) -> None:
    """An answer keeps within --max-tokens and counts the entries it leaves out (S126, S241)."""
    from capdisc_indexer.lazy_imports import load_token_counter

    done = capdisc("call", "search_tool", "--max-tokens", str(limit))
    assert load_token_counter()(done.out) <= limit
    assert ("truncated" in done.json) == (limit < 250)
    if "truncated" in done.json:
        assert len(done.json["tools"]) + done.json["left_out"]["tools"] == done.json["total_count"]


def test_an_answer_that_cannot_be_cut_to_size_is_refused(capdisc, data) -> None:
    """A limit too small for any answer is a usage error (S126)."""
    done = capdisc("call", "search_tool", "--max-tokens", "3")
    assert (done.code, done.out) == (2, "")
    assert "--max-tokens" in done.err


def test_a_parameter_under_another_name_is_taken_with_a_notice(capdisc, data) -> None:
    """A parameter under another known name is accepted, and stderr says so (S242)."""
    done = capdisc("call", "get_table_info", '{"table_id": "artists"}')
    assert done.json["table"] == "artists"
    assert "took table_id for table" in done.err


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


def test_the_steps_that_the_help_names_lead_from_a_wish_to_a_call(capdisc, data) -> None:
    """Keywords, exact name and call lead to a result, as the help says (S91, S107, S243)."""
    assert "search_tool" in capdisc("call", "--help").out
    found = capdisc("call", "search_tool", '{"query": "list tables"}').json["tools"][0]
    known = capdisc("call", "search_tool", json.dumps({"query": found["name"]})).json["tool"]
    assert known["parameters"]["table"]["required"]
    call = {"tool_name": known["id"], "arguments": {"table": "x"}}
    assert capdisc("call", "execute_tool", json.dumps(call)).json["arguments"] == {
        "table": "x",
        "top": 5,
    }


def test_nothing_that_is_asked_is_written_down(capdisc, data, hermetic) -> None:
    """Unless its user switches a log on, there is none to leak."""
    home = hermetic.parent / "home"
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    capdisc("call", "search_tool", '{"query": "a secret wish"}')
    capdisc("search", "a secret wish")
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    assert (
        capdisc("log").err == "notice: the log is off; to keep one: capdisc config set log true\n"
    )


def test_other_commands_answer_what_other_registries_ask(capdisc, data) -> None:
    """Details, ids, settings and the state of the index have a command each (S208)."""
    assert capdisc("show", "wipe_disk", "--json").json["capabilities"][0]["id"] == "tool:wipe_disk"
    assert "tool:wipe_disk" in capdisc("list", "--ids").out.split()
    assert capdisc("config", "--json").code == 0
    assert capdisc("status", "--json").json["capabilities"] == 25


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


def test_numbers_that_json_does_not_know_are_refused(capdisc, small) -> None:
    for number in ("NaN", "Infinity", "1e999"):
        done = capdisc("call", "add_fact", "-", stdin=f'{{"name": "a", "value": {number}}}')
        assert (done.code, done.out) == (2, "")
        assert "the arguments cannot be read" in done.err


def test_calls_are_read_from_no_device(capdisc, small) -> None:
    done = capdisc("call", "--batch", "/dev/zero")
    assert (done.code, done.out) == (3, "")
    assert "it is not a regular file" in done.err


@pytest.mark.parametrize("tool", ["tool_search", "discover_capabilities", "search_tool"])
def test_an_empty_index_is_said_in_the_answer(capdisc, index_dir, hermetic, tool) -> None:
    """Every search says the same where nothing is indexed."""
    (hermetic / "tools").mkdir()
    capdisc("index", "tools")
    done = capdisc("call", tool, '{"query": "find image"}')
    assert (done.code, done.err) == (0, "")
    assert "No capabilities are indexed here" in done.json["instruction"]


def test_an_index_without_anything_to_call_has_no_tool(capdisc, index_dir, hermetic) -> None:
    (hermetic / "tools").mkdir()
    (hermetic / "tools" / "CAPABILITY.yaml").write_text(
        "name: orders\nkind: table\ndescription: Orders of customers.\n"
    )
    capdisc("index", "tools")
    answer = capdisc("call", "tool_search", '{"query": "orders of customers"}').json
    assert answer["tools"] == []
    assert "Nothing here fits" in answer["instruction"]


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
