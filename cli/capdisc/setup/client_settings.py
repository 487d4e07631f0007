"""The clients that setup knows: their settings files, and what setup puts there.

The table of clients names the files and dialects; what each dialect looks like is written here, as
the clients' own commands write it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from capdisc.context.surroundings import Runtime
from capdisc.setup import settings_files
from capdisc_indexer.config.client_table import client_entry, client_sections, settings_folders
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system

USER, PROJECT = SCOPES = ("user", "project")
HOOK, MCP = PARTS = ("hook", "mcp")
# How long a client waits for the hook, which answers within a second: the rest is for a machine
# under load. Claude Code, Codex and Copilot count seconds, Gemini CLI milliseconds.
_HOOK_SECONDS = 10
# opencode has no hooks that run commands; its plugin runs this one.
_PLUGIN_COMMAND = '["capdisc", "hook", "opencode"]'
SERVER_NAME = "capdisc"

# The words of a program, such as ("capdisc",) or ("/opt/venv/bin/capdisc",).
Program: TypeAlias = Sequence[str]
# Makes what is put into a settings file of this scope, at a place of it.
Writer: TypeAlias = Callable[[Program, tuple[str, ...], str], JsonObject | str]


@frozen(kw_only=True)
class SettingsPart:
    """Where a client reads hooks or MCP servers, and what setup puts there.

    `files` are the possible files by scope (none: the client has no such scope): the one that
    exists, else the first. `places` are the
    keys of the table of servers in it, or of the list of hooks of each event. `write` makes what
    is put there: a value, or the text of a file of its own. `template` is the content of a file
    that setup creates.
    """

    files: Mapping[str, Sequence[str]]
    places: Sequence[tuple[str, ...]]
    write: Writer
    template: JsonObject = field(default_factory=dict)


@frozen(kw_only=True)
class Client:
    """A client: its programs in PATH, its folders, its parts by name, and what follows setup. One
    with `is_graphical` is started from a desktop, whose PATH may be shorter than that of a shell.
    """

    title: str
    programs: Sequence[str]
    folders: Sequence[str]
    parts: Mapping[str, SettingsPart]
    default_scope: str = USER
    is_graphical: bool = False
    next_steps: Mapping[str, str] = field(default_factory=dict)


def hook_command(program: Program, client: str) -> list[str]:
    """The words of the command that a client runs as a hook."""
    return [*program, "hook", client]


def server_command(program: Program) -> list[str]:
    """The words of the command that a client starts as an MCP server."""
    return [*program, "mcp"]


def line_if_installed(word: str, line: str) -> str:
    """The line of a shell that runs `line` where its program `word` exists, and else is silent."""
    return f"command -v {word} >/dev/null && {line} || true"


def windows_line_if_installed(word: str, line: str) -> str:
    """The same for cmd and PowerShell, neither of which reads the other's conditions."""
    return f'cmd /c "where /q {word} && {line} || exit /b 0"'


# How each dialect writes a hook and a server. Most take those of Claude Code.


def _write_hook(
    client: str,
    section: JsonObject,
    uses: JsonObject,
    program: Program,
    keys: tuple[str, ...],
    scope: str,
) -> JsonObject | str:
    words = hook_command(program, client)
    if section["dialect"] == "opencode":
        text = Path(__file__).with_name("opencode_plugin.js").read_text(encoding="utf-8")
        return text.replace(_PLUGIN_COMMAND, json.dumps(words, ensure_ascii=False))
    line = windows_line = " ".join(map(system.quote_word, words))
    if scope == PROJECT:  # others read the file, too, and may not have capdisc
        word = system.quote_word(words[0])
        line, windows_line = line_if_installed(word, line), windows_line_if_installed(word, line)
    lines = {section["windows_key"]: windows_line} if "windows_key" in section else {}
    if section["dialect"] == "copilot":
        return {"type": "command", "bash": line, **lines, "timeoutSec": _HOOK_SECONDS}
    lines = lines if scope == PROJECT else {}  # a file of the user is written for this system
    timeout = section.get("timeout", _HOOK_SECONDS)
    if section["dialect"] == "cursor":
        return {"command": line, "timeout": timeout}
    fields = section.get("fields", {})
    hooks = [{**fields, "type": "command", "command": line, **lines, "timeout": timeout}]
    # Without one, the hook would run after every tool, and Gemini CLI's for no compression.
    matchers = {**section.get("triggers", {}), uses.get("event"): uses.get("matcher")}
    matcher = matchers.get(keys[-1])
    return {"matcher": matcher, "hooks": hooks} if matcher else {"hooks": hooks}


def _write_server(
    section: JsonObject, program: Program, keys: tuple[str, ...], scope: str
) -> JsonObject:
    words = server_command(program)
    if section.get("dialect") == "opencode":
        return {"type": "local", "command": words, "enabled": True}
    return {**section.get("fields", {}), "command": words[0], "args": words[1:]}


def _make_part(
    section: JsonObject, places: Sequence[tuple[str, ...]], write: Writer
) -> SettingsPart:
    return SettingsPart(
        files={USER: section["user"], PROJECT: section.get("workspace", ())},
        places=places,
        write=write,
        template=section.get("template", {}),
    )


def _make_client(name: str) -> Client:
    entry = client_entry(name)
    parts = {}
    if hook := entry.get("hook"):
        # The lists of hooks of a prompt, and of the events after which a session has lost what was
        # added to it before, so that the hook may add it again.
        places: list[tuple[str, ...]] = [("hooks", event) for event in hook.get("lists", ())]
        uses = entry.get("uses", {})
        places += [("hooks", uses["event"])] if "matcher" in uses else []
        parts[HOOK] = _make_part(hook, places or [()], partial(_write_hook, name, hook, uses))
    servers = entry["servers"]
    parts[MCP] = _make_part(servers, [tuple(servers["table"])], partial(_write_server, servers))
    return Client(
        title=entry["title"],
        programs=entry["programs"],
        folders=entry["settings"],
        parts=parts,
        default_scope=entry.get("default_scope", USER),
        is_graphical=entry.get("graphical", False),
        next_steps=entry["next"],
    )


CLIENTS: Mapping[str, Client] = MappingProxyType(
    {name: _make_client(name) for name in client_sections("programs")}
)


def base_folders(runtime: Runtime) -> dict[str, str]:
    """The folders that the paths of settings files begin with, by the names in braces."""
    return settings_folders(runtime.home, runtime.workspace, runtime.environ, runtime.system)


def settings_path(part: SettingsPart, scope: str, folders: Mapping[str, str]) -> Path:
    """The client's file for this part and scope: the one that exists, else the first."""
    paths = [Path(name.format_map(folders)) for name in part.files[scope]]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def find_program(environ: Mapping[str, str], has_short_path: bool = False) -> Program:
    """The words that start the running capdisc from any folder: its name where PATH leads to it,
    else its path. With `has_short_path` it is started where PATH may lack it.

    An activated environment does not count as PATH: clients are started outside of it, too.
    """
    folder = Path(sys.executable).parent
    script = shutil.which("capdisc", path=f"{folder}{os.pathsep}{folder / 'Scripts'}")
    if not script:
        # With neither option a module of the folder that the client works in could take its place.
        return (system.abspath(sys.executable), "-E", "-P", "-m", "capdisc")
    name_in_path = shutil.which("capdisc", path=environ.get("PATH", ""))
    activated = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX")
    if name_in_path and Path(name_in_path).samefile(script):
        is_activated = activated and Path(name_in_path).is_relative_to(activated)
        if not is_activated:
            return (system.abspath(name_in_path) if has_short_path else "capdisc",)
    return (system.abspath(script),)


def is_present(client: Client, runtime: Runtime, folders: Mapping[str, str]) -> bool:
    """Whether the client seems to be installed: a program in PATH, or its settings folder, unless
    that has nothing but what setup put there.
    """
    search_path = runtime.environ.get("PATH", "")
    if any(shutil.which(name, path=search_path) for name in client.programs):
        return True
    places = [Path(name.format_map(folders)) for name in client.folders]
    return any(place.is_dir() and not _is_only_of_setup(place, runtime) for place in places)


def _is_only_of_setup(folder: Path, runtime: Runtime) -> bool:
    """Whether setup created the folder, and nothing is in it but files that setup made."""
    state_dir = runtime.user_state_dir()
    try:
        files = {
            path: settings_files.load_record(state_dir, path)
            for path in settings_files.list_files(state_dir)
            if path.is_relative_to(folder)
        }
    except InputError:  # `--undo` says which record cannot be read
        return False
    created = {name for record in files.values() if record for name in record.folders}
    paths = (Path(top, name) for top, _, names in os.walk(folder) for name in names)
    return str(folder.resolve()) in created and all(path in files for path in paths)
