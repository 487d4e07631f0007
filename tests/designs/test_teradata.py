"""A walk through the second design, progressive disclosure: search, read in full, execute."""

from __future__ import annotations

import json

import pytest

from mcp_sessions import call, run_session


@pytest.fixture
def workspace(open_design):
    return open_design("teradata")


def test_the_client_sees_a_bridge_and_the_core_tool(capdisc, workspace, monkeypatch) -> None:
    """search_tool, execute_tool and base_readQuery are offered, and statically every tool is; the
    bridge takes a small part of the tokens (S90, S92, S93, S124)."""
    progressive = capdisc("tools")
    assert capdisc("tools", "--names").out.split() == [
        "search_tool", "execute_tool", "base_readQuery",
    ]  # fmt: skip
    static = capdisc("tools", "--static")
    names = set(capdisc("tools", "--static", "--names").out.split())
    assert {"base_tableList", "dba_tableSpace", "bar_listBackups", "base_readQuery"} <= names
    assert len(static.out) > 3 * len(progressive.out)
    monkeypatch.setenv("PROGRESSIVE_DISCLOSURE", "false")
    assert set(capdisc("tools", "--names").out.split()) == names


def test_a_client_of_the_server_has_the_core_tool(workspace) -> None:
    """Over MCP the pinned tool is the third in the list, and is called by the rules of execute_tool;
    where nothing may be run, it is not there (S92, S93)."""
    bridge = ("--tools", "search_tool,execute_tool", "--allow-run")

    async def talk(client):
        tools = (await client.list_tools()).tools
        return [tool.name for tool in tools], [
            await call(client, name, {"database_name": "demo"})
            for name in ("base_tableList", "base_readQuery")
        ]

    settings = workspace / "capdisc.toml"
    one_pin = settings.read_text()
    settings.write_text(one_pin.replace("pin = [", 'pin = ["base_tableList", '))
    names, (refused, wrong) = run_session(talk, *bridge)
    assert names == ["search_tool", "execute_tool", "base_tableList", "base_readQuery"]
    assert refused[0]
    assert "capdisc run function:base_tools.base_tableList" in refused[1]
    assert wrong[0]
    assert "database_name: is unknown" in wrong[1]
    _, (ran, _) = run_session(talk, *bridge, "--yes")
    assert json.loads(ran[1])["stdout"] == '["demo.customers", "demo.orders"]\n'
    names, (ran, _) = run_session(talk, "--allow-run", "--yes")
    assert names[-3:] == ["run_capability", "base_tableList", "base_readQuery"]
    assert json.loads(ran[1])["executed"] is True
    settings.write_text(one_pin)
    assert run_session(talk, *bridge)[0] == ["search_tool", "execute_tool", "base_readQuery"]
    names, (refused, _) = run_session(talk, "--tools", "search_tool")
    assert (names, refused[0]) == (["search_tool"], True)


@pytest.mark.parametrize("query", ["base_readQuery", "BASE_READQUERY", "base_readquery"])
def test_an_exact_name_gives_the_full_documentation(workspace, ask, query) -> None:
    """In any case an exact name has category, documentation and parameters (S94, S96, S97)."""
    answer = ask("search_tool", query=query)
    assert answer["match_type"] == "exact"
    tool = answer["tool"]
    assert (tool["name"], tool["category"]) == ("base_readQuery", "base")
    assert "Arguments:\n  sql - SQL text" in tool["full_documentation"]
    assert tool["parameters"]["sql"] == {
        "type": "string",
        "required": False,
        "default": "None",
        "description": "SQL text, with optional bind-parameter placeholders",
    }


def test_keywords_give_short_summaries(workspace, ask) -> None:
    """An approximate match has category, summary and score, the best first (S98, S103, S106)."""
    answer = ask("search_tool", query="table list")
    assert answer["match_type"] == "approximate"
    assert answer["results_count"] == len(answer["tools"])
    first = answer["tools"][0]
    assert (first["name"], first["category"], first["summary"]) == (
        "base_tableList",
        "base",
        "Lists all tables in a database.",
    )
    scores = [tool["score"] for tool in answer["tools"]]
    assert scores == sorted(scores, reverse=True)
    assert "full_documentation" not in first
    assert len(ask("search_tool", query="table", limit=2)["tools"]) == 2


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("tableDDL", "base_tableDDL"),  # part of a name
        ("sec", "sec_userRoles"),  # a category
        ("backups that can be restored", "bar_listBackups"),  # the description
        ("user_name", "dba_userSqlList"),  # a parameter
        ("tabel space", "dba_tableSpace"),  # a typing error
    ],
)
def test_name_category_description_and_parameter_all_find(workspace, ask, query, name) -> None:
    """Part of a name, a category, a text and a parameter find their tool (S100, S101, S105)."""
    assert name in [tool["name"] for tool in ask("search_tool", query=query)["tools"][:3]]


def test_the_prefix_of_a_tool_is_its_category(capdisc, workspace) -> None:
    """The eleven prefixes of the design, sql_opt before sql (S113, S118, S119)."""
    rows = capdisc("list", "--kind", "tool", "--json").json["capabilities"]
    assert {row["category"] for row in rows} == {
        "base", "dba", "fs", "qlty", "sec", "tdvs", "plot", "rag", "sql_opt", "chat", "bar",
    }  # fmt: skip
    assert all(row["name"].startswith(f"{row['category']}_") for row in rows)


def test_an_empty_query_lists_every_tool(workspace, ask) -> None:
    """Names are sorted and counted (S95)."""
    answer = ask("search_tool", query="")
    assert (answer["match_type"], answer["total_count"]) == ("list_all", len(answer["tools"]))
    assert answer["tools"] == sorted(answer["tools"])


CALL = '{"tool_name": "base_tableList", "arguments": {"database_name": "demo"}}'


def test_a_tool_is_discovered_read_and_executed(capdisc, workspace, ask) -> None:
    """The workflow of the document: keywords, full documentation, execution after a yes (S91,
    S107, S108)."""
    found = ask("search_tool", query="list the tables")["tools"][0]["name"]
    assert found == "base_tableList"
    parameters = ask("search_tool", query=found)["tool"]["parameters"]
    assert parameters["database_name"]["required"] is False
    before = capdisc("call", "execute_tool", CALL)
    assert before.json["executed"] is False
    done = capdisc("call", "execute_tool", CALL, "--yes").json
    assert (done["executed"], done["stdout"]) == (True, '["demo.customers", "demo.orders"]\n')


def test_what_the_server_fills_in_is_no_parameter(capdisc, workspace, ask) -> None:
    """The source's `omit` leaves the connection of a handle_* function out, in the parameters, in
    the summary and in a call (S109, S116)."""
    parameters = ask("search_tool", query="base_tableList")["tool"]["parameters"]
    assert list(parameters) == ["database_name", "limit"]
    assert "conn" not in capdisc("render", "list the tables", "--tier", "1").out
    call = '{"tool_name": "base_databaseList", "arguments": {}}'
    assert capdisc("call", "execute_tool", call, "--yes").json["stdout"] == '["demo", "other"]\n'


def test_what_a_framework_fills_in_is_no_parameter(capdisc, workspace, ask) -> None:
    """Types and defaults by which frameworks inject a value, and names with an underscore."""
    (workspace / "tools" / "more_tools.py").write_text(
        "def handle_more_read(ctx: Context[int], cfg: 'RunnableConfig', _log, db=Depends(get_db),"
        " rows: int = 5):\n    'Reads rows.'\n"
    )
    capdisc("index")
    assert list(ask("search_tool", query="more_read")["tool"]["parameters"]) == ["rows"]


def test_mistakes_of_a_call_are_named(capdisc, workspace) -> None:
    """Arguments are validated, and an unknown tool proposes the nearest (S109, S110)."""
    wrong = '{"tool_name": "sec_userRoles", "arguments": {"table": 3}}'
    done = capdisc("call", "execute_tool", wrong, "--yes")
    assert (done.code, "user_name: is missing" in done.err) == (2, True)
    assert "table: is unknown" in done.err
    unknown = capdisc("call", "execute_tool", '{"tool_name": "base_tabelList", "arguments": {}}')
    assert (unknown.code, "did you mean function:base_tools.base_tableList" in unknown.err) == (
        2,
        True,
    )


def test_tool_functions_are_plain_python(workspace, ask) -> None:
    """A handle_* function is the tool of the name behind the prefix, filed by the prefix of that;
    its parameters come from signature and docstring, and no module is imported (S116, S118)."""
    found = ask("search_tool", query="distinct categories")["tools"][0]
    assert (found["name"], found["category"]) == ("qlty_distinctCategories", "qlty")
    assert found["summary"] == "Lists the distinct categories of a column with their counts."
    exact = ask("search_tool", query=found["name"])["tool"]["full_documentation"]
    assert "from qlty_tools import handle_qlty_distinctCategories" in exact
    parameters = ask("search_tool", query=found["name"])["tool"]["parameters"]
    assert parameters["limit"] == {
        "type": "integer",
        "required": False,
        "default": 10,
        "description": "how many categories at most",
    }


def test_a_declaration_that_takes_nothing_empties_its_file(capdisc, workspace) -> None:
    """What `prefix` or `include` no longer takes is gone after the next build, and stays so."""
    settings = workspace / "capdisc.toml"
    settings.write_text(settings.read_text().replace('prefix = "handle_"', 'prefix = "tool_"'))
    assert capdisc("index", "--json").json["counts"]["removed"] == 3
    assert "qlty_distinctCategories" not in capdisc("list").out
    assert "no change" in capdisc("index").out
