"""Servers over HTTP, and those that cannot be asked; transcripts/mcp_servers.txt has the others."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from case_files import write_files

FILES = Path(__file__).parent / "transcripts" / "server.files"


@pytest.fixture
def configured(capdisc, hermetic: Path) -> Callable[..., None]:
    """Writes an mcp.json with these servers and the declaration of it, which the user trusts."""

    def write(**servers: Any) -> None:
        (hermetic / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        text = '[[source]]\nformat = "mcp-servers"\npath = "mcp.json"\n'
        (hermetic / "capdisc.toml").write_text(text)
        assert capdisc("trust", "--yes").code == 0

    return write


@pytest.fixture
def server(hermetic: Path) -> dict[str, Any]:
    """The entry of a server on stdin and stdout."""
    write_files(FILES.read_text("utf-8"), hermetic)
    return {"command": sys.executable, "args": [str(hermetic / "server.py")]}


def listed(capdisc) -> set[str]:
    return set(capdisc("list", "--ids").out.split())


def test_a_server_that_says_nothing_is_given_up(capdisc, configured, monkeypatch) -> None:
    from capdisc_run import server_connection, server_pool

    for module in (server_connection, server_pool):
        monkeypatch.setattr(module, "START_SECONDS", 0.5)
    configured(mute={"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]})
    done = capdisc("index", "--ask-servers")
    assert "the server mute could not be asked" in done.err
    assert "it did not answer within 0.5 seconds" in done.err


def test_without_the_sdk_a_hint_says_how_to_install_it(capdisc, configured, server, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    configured(near=server)
    assert "install all that capdisc needs: " in capdisc("index", "--ask-servers").err


@pytest.fixture
def http_server() -> Iterator[str]:
    """The address of a server that speaks HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = Path(__file__).parents[1] / "gateway_server.py"
    with subprocess.Popen([sys.executable, script, "http", str(port)]) as running:
        try:
            for _ in range(300):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            running.kill()


def test_a_server_over_http_is_asked(capdisc, configured, http_server) -> None:
    configured(far={"type": "http", "url": http_server})
    assert capdisc("index", "--ask-servers").code == 0
    assert "tool:far.tell_pid" in listed(capdisc)


@pytest.mark.parametrize("how", ["source", "path"])
def test_servers_of_a_file_in_toml_are_asked(
    capdisc, hermetic, how, server, http_server, monkeypatch
) -> None:
    path = Path(os.environ["HOME"]) / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(
        f"""
        model = "m"
        [mcp_servers.near]
        command = "{sys.executable}"
        args = ["{hermetic}/server.py"]
        env_vars = ["TOOL_NAME"]
        [mcp_servers.far]
        url = "{http_server}"
        [mcp_servers.off]
        command = "never"
        enabled = false
        """
    )
    monkeypatch.setenv("TOOL_NAME", "reach")
    if how == "source":
        user = Path(os.environ["HOME"]) / ".config/capdisc/config.toml"
        user.parent.mkdir(parents=True)
        user.write_text('[[source]]\nformat = "mcp-servers"\npath = "~/.codex/config.toml"\n')
    done = capdisc("index", *([str(path)] if how == "path" else []), "--ask-servers")
    assert done.code == 0
    assert "the server off is not asked: it is switched off there" in done.err
    assert {"tool:near.reach", "tool:near.second", "tool:far.tell_pid"} <= listed(capdisc)


def test_servers_of_clients_are_found_and_asked_only_on_request(
    capdisc, hermetic, server, http_server
) -> None:
    home = Path(os.environ["HOME"])
    (hermetic / "skills").mkdir()
    (hermetic / "capdisc.toml").write_text('roots = ["skills"]\n')
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"near": server}}))
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text(
        f'{{"mcpServers": {{ // of a colleague\n "far": {{"url": "{http_server}"}},}}}}'
    )
    notice = "the MCP servers near, far were not asked for their tools"
    assert notice in capdisc("index").err
    done = capdisc("index", "--ask-servers")
    assert (done.code, done.err) == (0, "")
    assert {"tool:near.first", "tool:far.tell_pid"} <= listed(capdisc)
    assert capdisc("index").err == ""
