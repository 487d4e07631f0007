"""execute_tool runs with permission, and otherwise returns the call."""

import pytest

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.tools import tool_table


def test_without_leave_to_run_the_call_is_given_to_the_agent(ask) -> None:
    """Without leave to run, execute_tool returns the checked call and runs nothing (S108)."""
    found = ask("execute_tool", tool_name="baseTableList", arguments={"table": "x"})
    assert found["executed"] is False
    assert found["tool"] == "tool:base_tableList"
    assert found["arguments"] == {"table": "x", "top": 5}


def test_of_an_operation_method_path_and_parameters_are_said(ask) -> None:
    """An operation is returned as method, path and parameters (S33, S108)."""
    call = ask("execute_tool", tool_name="petstore.getPet", arguments={})["call"]["http"]
    assert (call["method"], call["path"]) == ("GET", "/pets/{petId}")
    assert call["parameters"][0]["name"] == "petId"


def test_whoever_may_run_gets_the_capability_and_checked_arguments(desk) -> None:
    """With leave to run, the capability gets its checked arguments with defaults (S108)."""
    got = []
    running = replace(
        desk,
        execute=lambda descriptor, arguments: got.append((descriptor.id, arguments)) or {"ok": 1},
    )
    answer = tool_table.call_tool(
        running, "execute_tool", {"tool_name": "base_tableList", "arguments": {"table": "x"}}
    )
    assert answer == {"ok": 1}
    assert got == [("tool:base_tableList", {"table": "x", "top": 5})]


def test_missing_extra_and_wrong_arguments_are_all_told(ask) -> None:
    """Missing, wrong, forbidden and unknown arguments are reported together (S109)."""
    with pytest.raises(UsageError) as caught:
        ask(
            "execute_tool",
            tool_name="base_tableList",
            arguments={"top": "x", "order": "z", "tabel": 1},
        )
    said = caught.value.message
    assert all(
        part in said
        for part in (
            "table: is missing",
            "top: must be an integer",
            "order: must be one of",
            "tabel: is unknown",
        )
    )


def test_an_unknown_name_points_to_the_nearest(ask) -> None:
    """An unknown tool name proposes the nearest (S110)."""
    with pytest.raises(UsageError) as caught:
        ask("execute_tool", tool_name="base_tabelList")
    assert "base_tableList" in caught.value.hint


def test_a_name_that_several_have_is_asked_back(ask) -> None:
    with pytest.raises(UsageError) as caught:
        ask("execute_tool", tool_name="search")
    assert "tool:left.search" in caught.value.hint


def test_who_has_the_few_tools_alone_reaches_the_others_through_them(ask) -> None:
    """execute_tool also calls the discovery tools that were not offered (S92)."""
    assert ask("execute_tool", tool_name="list_apis") == ask("list_apis")
