"""The MCP servers that the files of agents' clients name, each in its client's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
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

PROGRAM = read_rows(__file__, "program")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    home, workspace = tmp_path / "home", tmp_path / "home" / "work"
    workspace.mkdir(parents=True)
    return home, workspace


def read(places: tuple[Path, Path], path: str, text: str, environ: Mapping[str, str]) -> list[Any]:
    home, workspace = places
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return read_servers(client_files(home, workspace, environ, "linux"), home, workspace)


@pytest.mark.parametrize("file", read_rows(__file__, "files"), ids=lambda file: file["path"])
def test_servers_are_read_in_each_clients_words(places, file) -> None:
    home, workspace = map(str, places)

    def fill(text: str) -> str:
        return text.replace("PROGRAM", PROGRAM).replace("WORK", workspace).replace("HOME", home)

    environ = {name: fill(value) for name, value in file.get("environ", {}).items()}
    found = read(places, file["path"], fill(file["text"]), environ)
    for server, wanted in zip(found, file["servers"], strict=True):
        assert server.problem.find(problem := wanted.pop("problem", "")) >= 0
        assert problem or not server.problem
        told = json.loads(
            json.dumps({name: getattr(server, name) for name in wanted}, default=dict)
        )
        assert told == json.loads(fill(json.dumps(wanted)))


def test_a_link_out_of_the_workspace_is_not_read(places) -> None:
    read(places, "secret.json", f'{{"mcpServers": {{"notes": {PROGRAM}}}}}', {})
    (places[1] / ".mcp.json").symlink_to(places[0] / "secret.json")
    files = client_files(*places, {}, "linux")
    [stray] = read_servers(files, *places)
    assert (stray.name, stray.path) == ("", str(places[1] / ".mcp.json"))
    assert stray.problem == "cannot be read: it is a link out of the workspace"


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
