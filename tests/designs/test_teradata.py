"""The MCP server of the second design, progressive disclosure; the walk is in teradata.toml."""

from __future__ import annotations

import json

import pytest

from mcp_sessions import call, run_session


@pytest.fixture
def workspace(open_design):
    return open_design("teradata")


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
