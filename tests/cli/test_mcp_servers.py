"""Servers of an mcp.json are asked only with permission, and remembered from then on."""

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

SERVER = """
import json, os, sys, time
def answer(request):
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        info = {"name": "inner", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        page = (request.get("params") or {}).get("cursor")
        names = ["second"] if page else [os.environ.get("TOOL_NAME", "first")]
        tools = [{"name": n, "description": f"Does {n}. " + " ".join(sorted(os.environ)),
                  "inputSchema": {"type": "object"}} for n in names]
        return {"tools": tools} | ({} if page else {"nextCursor": "2"})
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"{len(''.join(sys.argv[1:]).replace('*', ''))} characters"}]}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        found = answer(request)
        reply = {"result": found} if found is not None else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
"""


@pytest.fixture
def configured(capdisc, hermetic: Path) -> Callable[..., Path]:
    """Writes an mcp.json with these servers and the declaration of it, which the user trusts."""

    def write(ask: str = "", **servers: Any) -> Path:
        (hermetic / "server.py").write_text(SERVER)
        path = hermetic / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}))
        text = f'[[source]]\nformat = "mcp-servers"\npath = "mcp.json"\n{ask}'
        (hermetic / "capdisc.toml").write_text(text)
        assert capdisc("trust", "--yes").code == 0
        return path

    return write


def server(hermetic: Path, **env: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(hermetic / "server.py")], "env": env}


def touch(path: Path) -> dict[str, Any]:
    """A server that leaves this file behind as soon as it is started."""
    return {"command": "sh", "args": ["-c", f"touch {path}"]}


def shown(capdisc, identifier: str) -> dict[str, Any]:
    return capdisc("show", identifier, "--json").json["capabilities"][0]


def listed(capdisc) -> set[str]:
    return set(capdisc("list", "--ids").out.split())


@pytest.fixture
def no_skills(hermetic: Path) -> None:
    """A workspace without skills, whose folders are named."""
    (hermetic / "skills").mkdir()
    (hermetic / "capdisc.toml").write_text('roots = ["skills"]\n')


def test_a_server_that_was_never_asked_is_told_of_and_not_started(
    capdisc, configured, hermetic
) -> None:
    configured(near=touch(hermetic / "started"))
    done = capdisc("index")
    assert "near was not asked" in done.err
    assert "capdisc index --ask-servers" in done.err
    assert not (hermetic / "started").exists()


@pytest.mark.parametrize("name", ["mcp.json", ".mcp.json", "claude_desktop_config.json"])
def test_a_file_that_lies_in_a_scanned_folder_starts_nothing(
    capdisc, hermetic, name, write_skill
) -> None:
    write_skill(hermetic / "skills", "a")
    servers = {"near": touch(hermetic / "started")}
    (hermetic / "skills" / name).write_text(json.dumps({"mcpServers": servers}))
    assert capdisc("index", "skills", "--ask-servers").code == 0
    assert not (hermetic / "started").exists()


def test_asked_servers_are_known_without_asking_again(capdisc, configured, hermetic) -> None:
    configured(near=server(hermetic, TOOL_NAME="reach"))
    assert capdisc("index", "--ask-servers").code == 0
    assert listed(capdisc) == {"tool:near.reach", "tool:near.second"}
    (hermetic / "server.py").unlink()
    again = capdisc("index", "--rebuild")
    assert "the tools of near were listed less than a minute ago" in again.err
    assert again.code == 0
    run = shown(capdisc, "tool:near.second")["run"]["mcp"]
    assert (run["server"], run["tool"], run["env"]) == ("near", "second", ["TOOL_NAME"])


def test_a_server_gets_only_what_its_entry_names(
    capdisc, configured, hermetic, monkeypatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "hush")
    monkeypatch.setenv("OTHER", "word")
    configured(near=server(hermetic, GIVEN="${OTHER}"))
    capdisc("index", "--ask-servers")
    said = shown(capdisc, "tool:near.first")["description"]
    assert "GIVEN" in said
    assert "MY_SECRET" not in said
    assert "OTHER" not in said


def test_what_a_server_says_of_its_secrets_before_it_dies_is_masked(
    capdisc, configured, monkeypatch
) -> None:
    """Once the message was cut first and still held the token of the entry."""
    monkeypatch.setenv("TOKEN", "hush-0123456789-value")
    code = "import os, sys; sys.exit('x' * 190 + os.environ['GIVEN'] + ' ' + sys.argv[1])"
    entry = {
        "command": sys.executable,
        "args": ["-c", code, "${TOKEN}"],
        "env": {"GIVEN": "${TOKEN}"},
    }
    configured(near=entry)
    done = capdisc("index", "--ask-servers")
    assert "xxx" in done.err
    assert "hush" not in done.out + done.err


def test_a_key_in_the_arguments_of_a_server_is_a_finding(capdisc, configured, hermetic) -> None:
    entry = server(hermetic)
    entry["args"].append("--key=sk-ant-api03-" + "Ab1Cd2Ef3Gh4" * 8)
    configured(near=entry)
    found = capdisc("index", "--ask-servers", "--json").json["findings"]
    assert "hard-coded-secret" in {each["code"] for each in found}
    shown = [
        capdisc("show", "tool:near.first", "--json"),
        capdisc("run", "tool:near.first", "--dry-run"),
    ]
    assert not any("Ab1Cd2Ef3Gh4" in each.out + each.err for each in shown)
    assert "--key=[secret]****" in shown[1].out
    # The server is started with the key as it is written.
    assert (
        capdisc("run", "tool:near.first", "--yes").out == f"{len(entry['args'][1])} characters\n"
    )
    entry["args"][1] = "--key="
    configured(near=entry)
    stale = capdisc("run", "tool:near.first", "--yes", "--fresh", "off")
    assert "its file says other ones now" in stale.err
    assert "its definition changed" in capdisc("run", "tool:near.first", "--yes").err


def test_values_of_an_environment_are_kept_nowhere(capdisc, configured, hermetic) -> None:
    configured(near=server(hermetic, API_TOKEN="sk-very-secret-value-0123456789"))
    capdisc("index", "--ask-servers")
    assert shown(capdisc, "tool:near.first")["run"]["mcp"]["env"] == ["API_TOKEN"]
    home = Path(os.environ["HOME"])
    texts = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert texts
    assert not any(b"sk-very-secret" in text for text in texts)


def test_a_server_that_fails_costs_no_other_and_keeps_its_last_list(
    capdisc, configured, hermetic
) -> None:
    near = {"command": sys.executable, "args": [str(hermetic / "near.py")]}
    (hermetic / "near.py").write_text(SERVER)
    configured(near=near, far=server(hermetic, TOOL_NAME="distant"))
    capdisc("index", "--ask-servers")
    (hermetic / "near.py").write_text("raise SystemExit(3)")
    configured(near=near, far=server(hermetic))
    done = capdisc("index", "--ask-servers")
    assert "the server near could not be asked" in done.err
    assert "its list from less than a minute ago stays" in done.err
    assert listed(capdisc) == {
        "tool:near.first",
        "tool:near.second",
        "tool:far.first",
        "tool:far.second",
    }


def test_a_server_that_says_nothing_is_given_up(capdisc, configured, monkeypatch) -> None:
    from capdisc_run import server_connection, server_pool

    for module in (server_connection, server_pool):
        monkeypatch.setattr(module, "START_SECONDS", 0.5)
    configured(mute={"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]})
    done = capdisc("index", "--ask-servers")
    assert "the server mute could not be asked" in done.err
    assert "it did not answer within 0.5 seconds" in done.err


def test_a_workspace_cannot_say_ask_for_its_user(capdisc, configured, hermetic) -> None:
    configured("ask = true\n", near=server(hermetic))
    done = capdisc("index")
    assert "ask = true counts in your own configuration only" in done.err
    assert "was not asked" in done.err


def test_the_user_s_own_configuration_can_say_ask(capdisc, configured, hermetic) -> None:
    path = configured(near=server(hermetic))
    (hermetic / "capdisc.toml").unlink()
    user = Path(os.environ["HOME"]) / ".config" / "capdisc" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(f'[[source]]\nformat = "mcp-servers"\npath = "{path}"\nask = true\n')
    assert capdisc("index").code == 0
    assert listed(capdisc) == {"tool:near.first", "tool:near.second"}


def test_without_the_sdk_a_hint_says_how_to_install_it(capdisc, configured, hermetic, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    configured(near=server(hermetic))
    assert "install all that capdisc needs: " in capdisc("index", "--ask-servers").err


@pytest.mark.parametrize("key", ["url", "httpUrl", "serverUrl"])
def test_a_server_over_the_network_that_was_not_asked_is_named(capdisc, configured, key) -> None:
    configured(far={key: "https://mcp.example/mcp"})
    done = capdisc("index")
    assert done.code == 0
    assert "the server far was not asked for its tools yet" in done.err
    found = capdisc("index", "--json").json["findings"]
    assert [(each["code"], each["severity"]) for each in found] == [("server-unasked", "warning")]


def test_a_server_that_no_program_here_can_reach_is_named(capdisc, configured) -> None:
    configured(old={"type": "sse", "url": "https://mcp.example/sse"})
    done = capdisc("index", "--ask-servers")
    assert "the server old is not asked: it speaks the old transport SSE" in done.err


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
    capdisc, hermetic, how, http_server, monkeypatch
) -> None:
    (hermetic / "server.py").write_text(SERVER)
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
    capdisc, hermetic, no_skills, http_server
) -> None:
    home = Path(os.environ["HOME"])
    (hermetic / "server.py").write_text(SERVER)
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"near": server(hermetic)}}))
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


def test_a_server_of_a_plugin_starts_with_the_plugins_folder(capdisc, no_skills) -> None:
    home = Path(os.environ["HOME"])
    folder = home / ".claude/plugins/cache/mkt/brass/1"
    folder.mkdir(parents=True)
    (folder / "server.py").write_text(SERVER)
    entry = {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}
    (folder / ".mcp.json").write_text(json.dumps({"horns": entry}))
    (home / ".claude/plugins/installed_plugins.json").write_text(
        json.dumps({"version": 2, "plugins": {"brass@mkt": [{"installPath": str(folder)}]}})
    )
    (home / ".claude/settings.json").write_text('{"enabledPlugins": {"brass@mkt": true}}')
    assert capdisc("index", "--ask-servers").err == ""
    assert "tool:horns.first" in listed(capdisc)


def test_a_server_that_the_workspace_brings_is_not_asked_before_it_is_trusted(
    capdisc, hermetic, no_skills
) -> None:
    started = hermetic / "started"
    (hermetic / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": touch(started)}}))
    assert "near" not in capdisc("index").err
    done = capdisc("index", "--ask-servers")
    assert "the server near of" in done.err and "it waits for your trust" in done.err
    assert not started.exists()


def test_a_variable_that_is_not_set_is_named(capdisc, configured, hermetic) -> None:
    configured(near=server(hermetic, TOKEN="${NOT_SET_HERE}"))
    assert "refers to what is not set here: NOT_SET_HERE" in capdisc("index", "--ask-servers").err


def test_index_names_a_list_without_tools(capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "a")
    path = hermetic / "skills" / "none.tools.json"
    path.write_text('{"tools": []}')
    done = capdisc("index", "skills")
    assert done.code == 0
    assert f"{path}:1:1: info[tools-empty]: the list of tools is empty" in done.err
    assert "tools-empty" not in capdisc("index", "skills", "--quiet", "--rebuild").err


def test_a_client_s_server_that_lists_no_tools_is_named(capdisc, hermetic, write_skill) -> None:
    write_skill(Path.home() / ".claude" / "skills", "a")
    path = hermetic / "server.py"
    path.write_text(SERVER.replace('"tools": tools', '"tools": []'))
    servers = {"near": server(hermetic)}
    (Path.home() / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    assert "notice: the server near lists no tools" in capdisc("index", "--ask-servers").err
