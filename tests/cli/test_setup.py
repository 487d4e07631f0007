"""capdisc setup: what it puts into the settings of clients, and that --undo takes out just that."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.store import durable_files, state_file
from rows.transcript import PROGRAM

# The files of each client in the user's scope, hook first; vscode has one in the project.
FILES = {
    "claude": (".claude/settings.json", ".claude.json"),
    "codex": (".codex/config.toml",),
    "gemini": (".gemini/settings.json",),
    "opencode": (".config/opencode/plugin/capdisc.js", ".config/opencode/opencode.json"),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
    "vscode": (".vscode/mcp.json",),
    "copilot": (".copilot/hooks/capdisc.json", ".copilot/mcp-config.json"),
    "qwen": (".qwen/settings.json",),
    "claude-desktop": (".config/Claude/claude_desktop_config.json",),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "zed": (".config/zed/settings.json",),
    "kiro": (".kiro/settings/mcp.json",),
    "cline": (".cline/data/settings/cline_mcp_settings.json",),
    "crush": (".config/crush/crush.json",),
}
SERVERS = {
    "codex": "mcp_servers",
    "opencode": "mcp",
    "vscode": "servers",
    "zed": "context_servers",
    "crush": "mcp",
}
JSON_CLIENTS = [name for name in FILES if name != "codex"]
LAYOUTS = {
    "two blanks": '{\n  "model": "x",\n  "KEY": {\n    "other": {\n      "command": "y"\n    }\n  }\n}\n',
    "four blanks, no line end": '{\n    "KEY": {\n        "other": {"command": "y", "args": []}\n    }\n}',
    "tabs": '{\n\t"KEY": {\n\t\t"other": {}\n\t},\n\t"last": 1\n}\n',
    "one line": '{"KEY": {"other": {"command": "y"}}, "a": [1, 2]}\n',
    "minified": '{"KEY":{"other":{"command":"y"}},"a":[1,2]}',
    "odd": '{ "a" :1,\n\n     "KEY":   {"other" : [ ] },"é\\u00e9": "ü"\n   }\n\n',
    "windows": '{\r\n  "KEY": {\r\n    "other": {}\r\n  }\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "KEY": {}\n}\n',
    "empty object": "{}",
    "empty object with a line end": "{}\n",
    "empty file": "",
    "blank file": "\n",
    "empty servers": '{\n  "KEY": {},\n  "b": 2\n}\n',
    "key twice": '{\n  "a": 1,\n  "KEY": {"x": {}},\n  "KEY": {"y": {}}\n}\n',
}
TOML_LAYOUTS = {
    "with comments": '# Mine\nmodel = "x"  # the best\n\n[mcp_servers.other]\ncommand = "y"\n\n# for work\n[profiles.work]\nmodel = "z"\n',
    "no line end": 'model = "x"',
    "windows": 'model = "x"\r\n[mcp_servers.other]\r\ncommand = "y"\r\n',
    "in braces": 'mcp_servers = { other = { command = "y" } }  # short\n\n[b]\nc = 1\n',
    "dotted": 'mcp_servers.other.command = "y"\n[b]\nc = 1\n',
    "list of hooks": "[hooks]\nUserPromptSubmit = [{ hooks = [] }]\n# end\n",
    "own hooks": '[[hooks.UserPromptSubmit]]\n\n[[hooks.UserPromptSubmit.hooks]]\ntype = "command"\ncommand = "z"\n',
    "a header in a text": 'a = """\n[mcp_servers.capdisc]\n"""\n',
    "empty": "",
}


pytestmark = pytest.mark.usefixtures("no_clients")


@pytest.fixture
def setup(capdisc):
    """What `capdisc setup ... --yes` prints, which ends with 0."""

    def run(*words: str):
        done = capdisc("setup", *words, "--yes")
        assert done.code == 0, done.err
        return done

    return run


@pytest.fixture
def undo(setup):
    return lambda *words: setup(*words, "--undo")


@pytest.fixture
def place(home, hermetic):
    """The path of a client's file: `place("claude")` is the last one, that of the MCP servers."""

    def find(client: str, number: int = -1) -> Path:
        return (hermetic if client == "vscode" else home) / FILES[client][number]

    return find


def put(path: Path, text: str) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path.read_bytes()


def load(path: Path):
    return json.loads(path.read_text())


def tree(*folders: Path) -> dict[str, bytes | None]:
    """Every file with its bytes and every folder, without capdisc's own state."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for folder in folders
        for path in folder.rglob("*")
        if not {".local", ".cache"} & set(path.parts)
    }


def server_of(client: str, path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8-sig")
    data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return data[SERVERS.get(client, "mcpServers")]["capdisc"]


def words_of(server: dict) -> list[str]:
    command = server["command"]
    return command if isinstance(command, list) else [command, *server["args"]]


@pytest.mark.parametrize("client", FILES)
def test_new_files_are_made_and_removed_with_their_folders(
    setup, undo, capdisc, client, home, hermetic, place
) -> None:
    before = tree(home, hermetic)
    done = setup(client)
    assert "+++ " in done.out and "--- /dev/null" in done.out
    assert words_of(server_of(client, place(client))) == [PROGRAM, "mcp"]
    assert all(
        (hermetic if client == "vscode" else home).joinpath(name).exists()
        for name in FILES[client]
    )
    if client != "vscode":
        assert place(client).stat().st_mode & 0o777 == 0o600
    between = tree(home, hermetic)
    again = capdisc("setup", client, "--yes")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith(f"{client}: nothing to do")
    assert tree(home, hermetic) == between
    undo(client)
    assert tree(home, hermetic) == before
    assert "setup has put nothing in" in undo(client).out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_only_lines_of_ours_come_and_go(setup, undo, client, layout, place) -> None:
    path = place(client)
    key = SERVERS.get(client, "mcpServers")
    before = put(path, LAYOUTS[layout].replace("KEY", key))
    setup(client, "--mcp")
    after = path.read_bytes()
    assert words_of(server_of(client, path)) == [PROGRAM, "mcp"]
    if b"\r\n" in before:
        assert after.count(b"\n") == after.count(b"\r\n")
    if before.strip() and b"\n" not in before.strip() and before.strip() != b"{}":
        assert b"\n" not in after.strip()
    assert setup(client, "--mcp").out.startswith(f"{client}: nothing to do")
    assert path.read_bytes() == after
    undo(client)
    assert path.read_bytes() == before


@pytest.mark.parametrize("layout", TOML_LAYOUTS)
def test_comments_and_order_of_toml_are_kept(setup, undo, layout, place) -> None:
    path = place("codex")
    before = put(path, TOML_LAYOUTS[layout])
    setup("codex")
    data = tomllib.loads(path.read_bytes().decode())
    assert data["mcp_servers"]["capdisc"] == {"command": PROGRAM, "args": ["mcp"]}
    assert data["hooks"]["UserPromptSubmit"][-1]["hooks"][0]["command"] == f"{PROGRAM} hook codex"
    undo("codex")
    assert path.read_bytes() == before
    # From a file that somebody edited since, only our tables go.
    setup("codex")
    put(path, path.read_bytes().decode() + "# late\n")
    undo("codex")
    text, after = before.decode(), path.read_bytes().decode()
    assert after.endswith("# late\n") and "capdisc" not in after.replace(text, "")
    assert tomllib.loads(after) == tomllib.loads(text)
    assert after.replace("\r", "").startswith(text.replace("\r", "").rstrip("\n"))


@pytest.mark.parametrize("client", FILES)
def test_undo_after_edits_takes_only_our_entries(
    setup, undo, client, place, home, hermetic
) -> None:
    path = place(client)
    key = SERVERS.get(client, "mcpServers")
    if client == "codex":
        put(path, '[mcp_servers.other]\ncommand = "y"\n')
    else:
        put(path, json.dumps({"a": 1, key: {"other": {"command": "y"}}}, indent=2))
    setup(client)
    text = path.read_text()
    path.write_text(text.replace('"y"', '"changed"'))
    undo(client)
    left = path.read_text()
    assert "changed" in left and "capdisc" not in left
    data = tomllib.loads(left) if client == "codex" else json.loads(left)
    assert list(data[key]) == ["other"] and "hooks" not in data


@pytest.mark.parametrize("client", FILES)
def test_options_of_the_server_come_and_go(setup, undo, capdisc, client, place) -> None:
    path = place(client)
    key = SERVERS.get(client, "mcpServers")
    text = "[b]\nc = 1\n" if client == "codex" else '{"' + key + '": {}, "b": 1}\n'
    before = put(path, text)
    setup(client)
    setup(client, "--mcp", "--gateway", "--tools", "agent")
    assert words_of(server_of(client, path)) == [PROGRAM, "mcp", "--gateway", "--tools", "agent"]
    # What is there stays; the value of an option is the last one.
    words = ("setup", client, "--mcp", "--allow-run", "--tools", "all", "--yes")
    assert capdisc(*words).code == 0
    options = ["--gateway", "--allow-run", "--tools", "all"]
    assert words_of(server_of(client, path)) == [PROGRAM, "mcp", *options]
    between = path.read_bytes()
    assert capdisc(*words).out.startswith(f"{client}: nothing to do")
    assert setup(client).out.startswith(f"{client}: nothing to do")
    assert path.read_bytes() == between
    if client in client_sections("hook"):  # the part that stays keeps its options
        undo(client, "--hook")
        assert words_of(server_of(client, path)) == [PROGRAM, "mcp", *options]
    undo(client)
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_json_with_comments_is_left_alone_and_the_snippet_printed(
    setup, undo, capdisc, client, place
) -> None:
    key = SERVERS.get(client, "mcpServers")
    text = '{\n  // mine\n  "a": "http://x", /* why */\n  "' + key + '": {"other": {},},\n}\n'
    before = put(place(client), text)
    done = capdisc("setup", client, "--mcp", "--yes")
    assert done.code == 1
    assert place(client).read_bytes() == before
    assert f"into {key}:" in done.out and '"capdisc": {' in done.out
    assert "add these lines yourself" in done.err
    document = capdisc("setup", client, "--mcp", "--yes", "--json").json
    (snippet,) = document["files"][0]["by_hand"]
    # Pasted as it is told, there is nothing more to do.
    put(place(client), text.replace('"other": {},', '"other": {}, ' + snippet["text"]))
    again = setup(client, "--mcp")
    assert again.out.startswith(f"{client}: nothing to do")
    assert "yes" in capdisc("setup").out
    assert "setup has put nothing in" in undo(client).out


@pytest.mark.parametrize("client", FILES)
def test_a_broken_file_is_an_error_and_stays_as_it_is(capdisc, client, place) -> None:
    before = put(place(client), '{\n  "a": 1,\n  broken\n}\n')
    done = capdisc("setup", client, "--mcp", "--yes")
    assert done.code == 3
    assert str(place(client)) in done.err and "repair it" in done.err
    assert (":3:" in done.err) if client != "codex" else ("line 1" in done.err)
    assert place(client).read_bytes() == before
    listed = capdisc("setup")
    assert listed.code == 0 and "unreadable" in listed.out


@pytest.mark.parametrize("client", FILES)
def test_a_read_only_file_or_folder_is_an_error(capdisc, client, place) -> None:
    path = place(client)
    before = put(path, "" if client == "codex" else "{}")
    path.chmod(0o444)
    done = capdisc("setup", client, "--mcp", "--yes")
    assert done.code == 3 and "read-only" in done.err and str(path) in done.err
    assert path.read_bytes() == before
    path.unlink()
    path.parent.chmod(0o555)
    done = capdisc("setup", client, "--mcp", "--yes")
    path.parent.chmod(0o755)
    assert done.code == 3 and "read-only" in done.err
    assert not path.exists()
    assert [name for name in os.listdir(path.parent) if path.name in name] == []


@pytest.mark.parametrize("client", FILES)
def test_a_link_is_written_through_and_keeps_its_mode(
    setup, undo, client, place, hermetic, home
) -> None:
    """Dotfiles: the settings are links into another folder."""
    real = (hermetic if client == "vscode" else home) / "dotfiles" / place(client).name
    before = put(real, "" if client == "codex" else "{}\n")
    real.chmod(0o640)
    place(client).parent.mkdir(parents=True, exist_ok=True)
    place(client).symlink_to(real)
    setup(client, "--mcp")
    assert place(client).is_symlink() and b"capdisc" in real.read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in real.parent.iterdir()] == [real.name]
    undo(client)
    assert place(client).is_symlink() and real.read_bytes() == before


def test_without_a_script_of_its_own_no_module_of_the_workspace_takes_its_place(
    setup, undo, home, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(home / "python3"))
    setup("cursor")
    entry = load(home / ".cursor" / "mcp.json")["mcpServers"]["capdisc"]
    words = [entry["command"], *entry["args"]]
    assert words[:5] == [(home / "python3").as_posix(), "-E", "-P", "-m", "capdisc"]
    undo("cursor")
    assert not (home / ".cursor" / "mcp.json").exists()


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 5), ("no", 5)])
def test_a_person_is_asked_at_a_terminal(home, answer, code) -> None:
    import pty

    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "capdisc", "setup", "gemini", "--hook"],
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, text=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(controller, 1024)
        import time

        while process.poll() is None:  # what was typed before the question does not count
            os.write(controller, f"{answer}\n".encode())
            time.sleep(0.2)
        os.close(controller)
        assert process.stdout is not None and "+++ " in process.stdout.read()
        assert b"Write this file?" in shown
    assert process.returncode == code
    assert (home / ".gemini" / "settings.json").exists() is (code == 0)


WITH_HOOK = {"claude", "codex", "gemini", "opencode", "cursor", "copilot", "qwen"}
MAC_FILES = {
    **FILES,
    "claude-desktop": ("Library/Application Support/Claude/claude_desktop_config.json",),
    "vscode": ("Library/Application Support/Code/User/mcp.json",),
}


@pytest.mark.parametrize("client", MAC_FILES)
def test_on_macos_every_client_of_the_user_gets_the_whole_path(
    setup, capdisc, monkeypatch, tmp_path, home, client
) -> None:
    """An editor that the Dock started hands its short PATH to the clients that it starts."""
    monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", "darwin")
    program = tmp_path / "bin" / "capdisc"
    program.parent.mkdir()
    program.symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin:/usr/sbin:/sbin")
    setup(client, "--scope", "user")
    paths = [home / name for name in MAC_FILES[client]]
    assert words_of(server_of(client, paths[-1])) == [str(program), "mcp"]
    has_hook = "--hook" not in capdisc("setup", client, "--hook", "--scope", "user").err
    assert has_hook is (client in WITH_HOOK)
    if not has_hook:
        return
    assert (
        f"{program} hook" in paths[0].read_text() or f'"{program}", "hook"' in paths[0].read_text()
    )
    # Once the program has moved, another run puts the new path there, and the doctor asks for it.
    (paths[-1].parent / "of the client").write_text("")
    program.unlink()
    if client != "claude":  # whose file of servers lies in the home folder
        check = next(
            row for row in capdisc("doctor", "--json").json["checks"] if row["name"] == client
        )
        assert "other version" in check["text"]
        assert check["fix"] == f"capdisc setup {client}"
    setup(client, "--scope", "user")
    assert words_of(server_of(client, paths[-1])) == [PROGRAM, "mcp"]


def test_a_path_with_blanks_is_quoted_for_the_shell(
    setup, monkeypatch, tmp_path, home, place
) -> None:
    folder = tmp_path / "my $programs' place"
    folder.mkdir()
    for name in ("python", "capdisc"):
        (folder / name).write_text('#!/bin/sh\necho "$0 $*"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    for client in ("claude", "copilot", "codex", "opencode"):
        setup(client)
    (group,) = load(home / ".claude/settings.json")["hooks"]["UserPromptSubmit"]
    line = group["hooks"][0]["command"]
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == f"{folder}/capdisc hook claude\n"
    assert words_of(server_of("claude", place("claude"))) == [f"{folder}/capdisc", "mcp"]
    hooks = load(home / ".copilot/hooks/capdisc.json")["hooks"]
    assert shlex.split(hooks["userPromptSubmitted"][0]["bash"])[1:] == ["hook", "copilot"]
    codex = tomllib.loads(place("codex").read_text())
    assert (
        shlex.split(codex["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"])[0]
        == f"{folder}/capdisc"
    )
    # A second run knows its own quoted line.
    assert setup("claude").out.startswith("claude: nothing to do")


def test_undo_of_all_takes_out_whatever_setup_put_in(
    setup, capdisc, home, hermetic, place, agents
) -> None:
    """Every client, both scopes, a file that was there and one that somebody edited since."""
    put(place("claude", 0), LAYOUTS["odd"].replace("KEY", "hooked"))
    put(place("codex"), TOML_LAYOUTS["with comments"])
    put(place("gemini"), "{}")
    before = tree(home, hermetic)
    setup(*FILES)
    for client in ("claude", "gemini", "opencode"):
        setup(client, "--scope", "project")
    setup("agents-md")
    edited = load(place("gemini")) | {"theme": "dark"}
    place("gemini").write_text(json.dumps(edited))
    assert capdisc("setup", "--undo", "--all").code == 5
    done = capdisc("setup", "--undo", "--all", "--yes", "--json")
    assert done.code == 0
    assert {*FILES, "agents-md"} == set(done.json["clients"])
    assert load(place("gemini")) == {"theme": "dark"}
    place("gemini").write_text("{}")
    assert tree(home, hermetic) == before
    again = capdisc("setup", "--undo", "--all")
    assert (again.code, again.out) == (0, "nothing to do: setup has put nothing in\n")


def test_a_file_that_changed_while_a_person_thought_is_not_overwritten(
    capdisc, place, monkeypatch
) -> None:
    put(place("cursor"), "{}")
    from capdisc.commands import setup_changes

    def change_and_agree(*_: object) -> str:
        place("cursor").write_text('{"newer": 1}')
        return "y"

    monkeypatch.setattr(setup_changes, "read_answer", change_and_agree)
    monkeypatch.setattr(setup_changes, "has_person", lambda _: True)
    done = capdisc("setup", "cursor")
    assert done.code == 3 and "changed while you were asked" in done.err
    assert place("cursor").read_text() == '{"newer": 1}'


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_edited_json_file_loses_only_our_members(setup, undo, layout, place) -> None:
    path = place("gemini")
    before = put(path, LAYOUTS[layout].replace("KEY", "mcpServers")).decode()
    setup("gemini")
    put(path, path.read_bytes().decode() + "\n")
    undo("gemini")
    after = path.read_bytes().decode()
    assert after.strip() == before.strip() or json.loads(after) == {}


def interrupt(*arguments: object, **options: object) -> None:
    """Stands for a kill: nothing that comes after it is done."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("part", ["--mcp", None])
def test_an_undo_that_was_killed_can_be_done_again(
    setup, undo, capdisc, place, monkeypatch, part
) -> None:
    """The record was removed before the file was written, and then nothing could be undone."""
    before = put(place("codex"), '# mine\nmodel = "x"\n')
    words = [part] if part else []
    setup("codex", "--hook")
    with_hook = place("codex").read_bytes()
    setup("codex")

    with monkeypatch.context() as patched:
        patched.setattr(durable_files, "replace_user_file", interrupt)
        assert capdisc("setup", "codex", "--undo", *words, "--yes").code == 130
    assert place("codex").read_bytes() not in (before, with_hook)
    undo("codex", *words)
    assert place("codex").read_bytes() == (with_hook if part else before)
    undo("codex")
    assert place("codex").read_bytes() == before


def test_folders_of_a_setup_that_was_killed_go_with_its_undo(
    undo, capdisc, home, hermetic, monkeypatch
) -> None:
    before = tree(home, hermetic)
    with monkeypatch.context() as patched:
        patched.setattr(durable_files, "replace_user_file", interrupt)
        assert capdisc("setup", "opencode", "--yes").code == 130
    assert tree(home, hermetic) != before
    undo("opencode")
    assert tree(home, hermetic) == before


def test_a_full_disk_is_named_with_what_helps(capdisc, place, monkeypatch) -> None:
    before = put(place("codex"), '# mine\nmodel = "x"\n')

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(state_file, "replace_file", refuse)
    done = capdisc("setup", "codex", "--yes")
    assert (done.code, place("codex").read_bytes()) == (3, before)
    assert "No space left on device" in done.err
    assert "hint: free some space there, or choose another folder" in done.err
