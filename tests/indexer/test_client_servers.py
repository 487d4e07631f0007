"""The MCP servers that the files of agents' clients name, each in its client's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.config.client_servers import (
    ServerDeclaration,
    client_files,
    find_repetitions,
    is_capdisc,
    read_servers,
)
from case_rows import read_rows


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    home, workspace = tmp_path / "home", tmp_path / "home" / "work"
    workspace.mkdir(parents=True)
    return home, workspace


def read(places: tuple[Path, Path], path: str, text: str, **environ: str) -> list[Any]:
    home, workspace = places
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return read_servers(client_files(home, workspace, environ, "linux"), home, workspace)


PROGRAM = {"command": "notes", "args": ["--all"], "env": {"TOKEN": "${TOKEN}"}}


@pytest.mark.parametrize(
    ("path", "scope", "value"),
    read_rows(__file__, "a_program_in_each_clients_words"),
)
def test_a_program_in_each_clients_words(places, path, scope, value) -> None:
    (server,) = read(places, path, json.dumps(value))
    assert (server.name, server.scope, server.command, server.args) == (
        "notes",
        scope,
        "notes",
        ("--all",),
    )
    assert dict(server.env) == {"TOKEN": "${TOKEN}"}
    assert (server.problem, server.timeout_s, server.only) == ("", 0.0, ())


def test_a_codex_file_is_toml_with_words_of_its_own(places) -> None:
    text = """
        [mcp_servers.notes]
        command = "notes"
        args = ["--all"]
        env_vars = ["TOKEN"]
        tool_timeout_sec = 5
        enabled_tools = ["read"]
        [mcp_servers.far]
        url = "https://example.com/mcp"
        bearer_token_env_var = "FAR_TOKEN"
        env_http_headers = { "X-Team" = "TEAM" }
        [mcp_servers.off]
        command = "x"
        enabled = false
    """
    notes, far, off = read(places, ".codex/config.toml", text)
    assert (dict(notes.env), notes.timeout_s, notes.only) == (
        {"TOKEN": "${TOKEN}"},
        5.0,
        ("read",),
    )
    assert dict(far.headers) == {"X-Team": "${TEAM}", "Authorization": "Bearer ${FAR_TOKEN}"}
    assert "switched off" in off.problem


def test_servers_of_a_project_stand_in_the_users_own_file(places) -> None:
    value = {"projects": {str(places[1]): {"mcpServers": {"notes": PROGRAM}}, "/other": {}}}
    (server,) = read(places, ".claude.json", json.dumps(value))
    assert server.scope == "user"


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("CLAUDE_CONFIG_DIR", ".claude.json"),
        ("COPILOT_HOME", "mcp-config.json"),
        ("GEMINI_CLI_HOME", ".gemini/settings.json"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "~"])
def test_variables_move_the_files(places, variable, file, prefix) -> None:
    read(places, f"elsewhere/{file}", json.dumps({"mcpServers": {"notes": PROGRAM}}))
    folder = f"{prefix or places[0]}/elsewhere"
    files = client_files(places[0], places[1], {variable: folder}, "linux")
    assert [server.name for server in read_servers(files, *places)] == ["notes"]


def test_comments_and_last_commas_are_read_over(places) -> None:
    text = """{ // servers
      "servers": { /* one */ "docs": {"type": "http", "url": "https://example.com//mcp",
        "headers": {"X-Note": "a // b /* c */ ,}"},}, /* and */ } }"""
    (server,) = read(places, "work/.vscode/mcp.json", text)
    assert server.url == "https://example.com//mcp"
    assert dict(server.headers) == {"X-Note": "a // b /* c */ ,}"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    read_rows(__file__, "a_server_that_cannot_be_served_says_why"),
)
def test_a_server_that_cannot_be_served_says_why(places, fields, problem) -> None:
    (server,) = read(places, "work/.vscode/mcp.json", json.dumps({"servers": {"a": fields}}))
    assert problem in server.problem


@pytest.mark.parametrize("text", ["{", "[1]", '{"servers": []}', "", "\xff", "{" * 100_000])
def test_a_file_of_another_shape_is_a_problem_or_nothing(places, text) -> None:
    for server in read(places, "work/.vscode/mcp.json", text):
        assert server.name == ""
        assert server.problem.startswith("cannot be read")


def test_a_link_out_of_the_workspace_is_not_read(places) -> None:
    read(places, "secret.json", json.dumps({"mcpServers": {"notes": PROGRAM}}))
    (places[1] / ".mcp.json").symlink_to(places[0] / "secret.json")
    files = client_files(*places, {}, "linux")
    [stray] = read_servers(files, *places)
    assert (stray.name, stray.path) == ("", str(places[1] / ".mcp.json"))
    assert stray.problem == "cannot be read: it is a link out of the workspace"


def test_places_of_vs_code_are_filled_in(places) -> None:
    value = {"servers": {"a": {"command": "x", "args": ["${workspaceFolder}/a", "${userHome}"]}}}
    (server,) = read(places, "work/.vscode/mcp.json", json.dumps(value))
    assert server.args == (f"{places[1]}/a", str(places[0]))


def test_of_several_declarations_of_one_server_the_first_counts() -> None:
    def declare(name: str, command: str, path: str) -> ServerDeclaration:
        return ServerDeclaration(name=name, client="c", path=path, scope="user", command=command)

    servers = [declare("a", "x", "/1"), declare("b", "x", "/2"), declare("a", "y", "/3")]
    assert find_repetitions(servers) == {
        1: "it is the same server as a",
        2: "/1 names another server a",
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    read_rows(__file__, "capdisc_itself_is_recognised"),
)
def test_capdisc_itself_is_recognised(words, expected) -> None:
    server = ServerDeclaration(
        name="a", client="c", path="/", scope="user", command=words[0], args=tuple(words[1:])
    )
    assert is_capdisc(server) is expected
