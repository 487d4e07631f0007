"""From a capability and its arguments to the exact call."""

import json
import os
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.call_types import CommandCall, HttpCall, ToolCall
from capdisc_run.prepare import prepare_call, timeout_seconds

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "size": {"type": "integer", "default": 5},
        "mode": {"enum": ["fast", "slow"]},
    },
    "required": ["path"],
}
COMMAND = {"command": ["echo", "{path}", "{size}"]}


@pytest.fixture
def place(tmp_path) -> ExecutionContext:
    return ExecutionContext(
        environ={"PATH": os.environ["PATH"]}, cwd=tmp_path, roots=(str(tmp_path / "root"),)
    )


def test_defaults_are_filled_in(described, place) -> None:
    """Defaults come from the schema (S247)."""
    call = prepare_call(described(schema=SCHEMA, run=COMMAND), {"path": "a"}, place)
    assert isinstance(call, CommandCall)
    assert call.argv[1:] == ("a", "5")
    assert Path(call.argv[0]).is_absolute()
    assert call.cwd == place.cwd


def test_everything_that_is_wrong_with_the_arguments_is_said_at_once(described, place) -> None:
    """All mistakes are reported together: missing, unknown, wrong type or choice (S109)."""
    with pytest.raises(UsageError) as raised:
        prepare_call(
            described(schema=SCHEMA, run=COMMAND), {"size": "x", "mode": "odd", "pth": "a"}, place
        )
    lines = raised.value.message.splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["path", "size", "mode", "pth"]


def test_arguments_that_the_call_has_no_use_for_are_refused(described, place) -> None:
    with pytest.raises(UsageError, match="no use for mode"):
        prepare_call(described(schema=SCHEMA, run=COMMAND), {"path": "a", "mode": "fast"}, place)
    http = {
        "http": {"url": "https://a.example.com/", "parameters": [{"name": "path", "in": "query"}]}
    }
    with pytest.raises(UsageError, match="no use for size"):
        prepare_call(described(schema=SCHEMA, run=http), {"path": "a", "size": 1}, place)


def test_on_stdin_all_arguments_are_of_use(described, place) -> None:
    call = prepare_call(
        described(schema=SCHEMA, run={"command": ["cat"], "stdin": "json"}), {"path": "é"}, place
    )
    assert json.loads(call.stdin) == {"path": "é", "size": 5}


def test_one_parameter_may_be_the_text_on_stdin(described, place) -> None:
    call = prepare_call(
        described(schema=SCHEMA, run={"command": ["wc"], "stdin": "{path}"}),
        {"path": "a b"},
        place,
    )
    assert call.stdin == b"a b"


def test_without_a_schema_the_placeholders_are_the_parameters(described, place) -> None:
    call = prepare_call(described(run={"command": ["echo", "{a}"]}), {"a": "b"}, place)
    assert call.argv[1:] == ("b",)


def test_a_program_of_its_own_folder_is_found_there_and_nowhere_else(described, place) -> None:
    tool = described(run={"command": ["scripts/go.sh"], "cwd": "capability"})
    folder = Path(tool.source.path).parent
    script = folder / "scripts" / "go.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    call = prepare_call(tool, {}, place)
    assert (call.argv, call.cwd) == ((str(script),), folder)


@pytest.mark.parametrize("program", ["../../evil.sh", "scripts/../../evil.sh", "scripts/link.sh"])
def test_a_program_outside_its_folder_is_refused(described, place, tmp_path, program: str) -> None:
    evil = tmp_path / "root" / "evil.sh"
    tool = described(run={"command": [program]})
    evil.write_text("#!/bin/sh\n")
    evil.chmod(0o755)
    scripts = Path(tool.source.path).parent / "scripts"
    scripts.mkdir()
    (scripts / "link.sh").symlink_to(evil)
    with pytest.raises(InputError, match="outside its folder"):
        prepare_call(tool, {}, place)


def test_a_program_in_the_current_folder_is_not_found_by_name(described, tmp_path) -> None:
    (tmp_path / "trap").write_text("#!/bin/sh\n")
    (tmp_path / "trap").chmod(0o755)
    place = ExecutionContext(environ={"PATH": f".::{os.environ['PATH']}"}, cwd=tmp_path)
    os.chdir(tmp_path)
    with pytest.raises(InputError, match="no program trap"):
        prepare_call(described(run={"command": ["trap"]}), {}, place)


def test_a_tool_of_an_mcp_server(described, place) -> None:
    mcp = {
        "server": "files",
        "command": "cat",
        "args": ["-u"],
        "env": ["TOKEN", "GONE"],
        "tool": "read_file",
    }
    place = replace(place, environ={**place.environ, "TOKEN": "x"})
    call = prepare_call(
        described(schema=SCHEMA, run={"mcp": mcp}, secrets=("KEY",)), {"path": "a"}, place
    )
    assert isinstance(call, ToolCall)
    assert (call.server, call.tool, call.argv[1:]) == ("files", "read_file", ("-u",))
    assert call.arguments == {"path": "a", "size": 5}
    assert call.environment == ("KEY", "TOKEN")


@pytest.mark.parametrize("env", [5, True, "TOKEN", {"TOKEN": 1}, [["TOKEN"]], None])
def test_an_odd_list_of_a_servers_variables_is_no_bug(described, place, env) -> None:
    tool = described(run={"mcp": {"command": "cat", "tool": "read", "env": env}})
    assert isinstance(prepare_call(tool, {}, place), ToolCall)


def test_a_variable_that_steers_programs_is_no_setting_of_a_server_and_no_credential(
    described, place
) -> None:
    place = replace(
        place, environ={**place.environ, "NODE_OPTIONS": "--require ./x.js", "TOKEN": "x"}
    )
    mcp = {"command": "cat", "tool": "read", "env": ["NODE_OPTIONS", "PATH", "TOKEN"]}
    tool = described(run={"mcp": mcp})
    assert prepare_call(tool, {}, place).environment == ("TOKEN",)
    http = {"url": "https://a.example.com/", "security": ["PATH"]}
    with pytest.raises(InputError, match="PATH is no secret"):
        prepare_call(replace(tool, run={"http": http}), {}, place)


def test_a_name_in_the_words_of_a_server_is_a_secret_that_is_filled_in_when_it_is_started(
    described, place
) -> None:
    mcp = {"command": "cat", "args": ["--key=${KEY}", "${GONE:-x}"], "tool": "read_file"}
    place = replace(place, environ={**place.environ, "KEY": "secret-value"})
    call = prepare_call(described(run={"mcp": mcp}), {}, place)
    assert (call.argv[1:], call.environment) == (("--key=${KEY}", "${GONE:-x}"), ("KEY",))


def test_an_http_operation(described, place) -> None:
    http = {
        "method": "GET",
        "url": "https://a.example.com/{path}",
        "parameters": [{"name": "path", "in": "path"}],
    }
    schema = {"properties": {"path": {}}}
    call = prepare_call(described(schema=schema, run={"http": http}), {"path": "b/c"}, place)
    assert isinstance(call, HttpCall)
    assert call.url == "https://a.example.com/b%2Fc"


@pytest.mark.parametrize(
    "run",
    [
        {"shell": "rm -rf /"},
        {"command": "rm -rf /"},
        {"command": ["no-such-program-here", "{path}"]},
        {"command": ["cat"], "stdin": "a {path} b"},
        {"mcp": {"url": "https://mcp.example.com"}},
        {"mcp": {"command": "cat", "args": "-u"}},
        {"http": {"url": "example.com"}},
        {
            "http": {
                "url": "https://a.example.com",
                "parameters": [{"name": "path", "in": ["path"]}],
            }
        },
        {"http": []},
    ],
)
def test_a_run_that_makes_no_call_is_an_error_that_names_the_capability(
    described, place, run
) -> None:
    with pytest.raises(InputError, match="tool:probe cannot be run") as raised:
        prepare_call(described(schema=SCHEMA, run=run), {"path": "a"}, place)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("timeout", "limit"),
    [(5, 5), (1e9, 600), (10**400, 600), (-1, 60), ("x", 60), (True, 60), (None, 60)],
)
def test_a_manifest_may_ask_for_another_limit_of_time_within_bounds(
    described, timeout, limit: float
) -> None:
    assert timeout_seconds(described(run={"command": ["ls"], "timeout": timeout}), None) == limit


def test_the_users_limit_of_time_is_the_one_that_holds(described) -> None:
    assert timeout_seconds(described(run={"mcp": {"timeout": 5}}), 3_000) == 3_000


def test_a_name_of_a_secret_that_says_more_to_a_shell_is_refused(described) -> None:
    for secret in ("A;id", "$A", "A B", "`id`"):
        tool = described(run={"command": ["echo"]}, secrets=(secret,))
        with pytest.raises(InputError, match="no name of a secret"):
            prepare_call(
                tool, {}, ExecutionContext(environ={"PATH": os.environ["PATH"]}, cwd=Path("/"))
            )
