"""The clients that setup knows: their settings files, and what setup puts there.

As the clients document their files, and as their own commands write them: Claude Code 2.1, Codex
0.169, Gemini CLI 0.61, opencode 1.18, Copilot CLI 1.0, and Cursor and VS Code of autumn 2026.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from capdisc.context.surroundings import Runtime
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject

USER, PROJECT = SCOPES = ("user", "project")
HOOK, MCP = PARTS = ("hook", "mcp")
# How long a client waits for the hook, which answers within a second: the rest is for a machine
# under load. Claude Code, Codex and Copilot count seconds, Gemini CLI milliseconds.
_HOOK_SECONDS = 10
SERVER_NAME = "capdisc"

# The words of a program, such as ("capdisc",) or ("/opt/venv/bin/capdisc",).
Program: TypeAlias = Sequence[str]


@frozen(kw_only=True)
class SettingsPart:
    """Where a client reads hooks or MCP servers, and what setup puts there.

    `files` are the possible files by scope: the one that exists, else the first. `places` are the
    keys of the table of servers in it, or of the list of hooks of each event. `write` makes what
    is put there: a value, or the text of a file of its own. `template` is the content of a file
    that setup creates.
    """

    files: Mapping[str, Sequence[str]]
    places: Sequence[tuple[str, ...]]
    write: Callable[[Program], JsonObject | str]
    template: JsonObject = field(default_factory=dict)


@frozen(kw_only=True)
class Client:
    """A client: its programs in PATH, its folders, its parts by name, and what follows setup."""

    title: str
    programs: Sequence[str]
    folders: Sequence[str]
    parts: Mapping[str, SettingsPart]
    default_scope: str = USER
    next_steps: Mapping[str, str] = field(default_factory=dict)


def hook_command(program: Program, client: str) -> list[str]:
    """The words of the command that a client runs as a hook."""
    return [*program, "hook", client]


def server_command(program: Program) -> list[str]:
    """The words of the command that a client starts as an MCP server."""
    return [*program, "mcp"]


def _hook_places(*events: str) -> list[tuple[str, ...]]:
    """The lists of hooks of a prompt, and of the events after which a session has lost what was
    added to it before, so that the hook may add it again.
    """
    return [("hooks", event) for event in events]


def _hook_group(client: str, timeout: int, name: str = "") -> Callable[[Program], JsonObject]:
    """A group of hooks with one of them, as Claude Code introduced it."""

    def write(program: Program) -> JsonObject:
        hook = {"name": name} if name else {}
        line = shlex.join(hook_command(program, client))
        return {"hooks": [{**hook, "type": "command", "command": line, "timeout": timeout}]}

    return write


def _copilot_hook(program: Program) -> JsonObject:
    line = shlex.join(hook_command(program, "copilot"))
    return {"type": "command", "bash": line, "timeoutSec": _HOOK_SECONDS}


def _server(**fields: object) -> Callable[[Program], JsonObject]:
    """A server by command and arguments, after `fields`."""

    def write(program: Program) -> JsonObject:
        command, *arguments = server_command(program)
        return {**fields, "command": command, "args": arguments}

    return write


def _opencode_server(program: Program) -> JsonObject:
    return {"type": "local", "command": server_command(program), "enabled": True}


# opencode has no hooks that run commands; a plugin runs ours.
_PLUGIN_COMMAND = '["capdisc", "hook", "opencode"]'


def _opencode_plugin(program: Program) -> str:
    text = Path(__file__).with_name("opencode_plugin.js").read_text(encoding="utf-8")
    command = json.dumps(hook_command(program, "opencode"), ensure_ascii=False)
    return text.replace(_PLUGIN_COMMAND, command)


_NEXT_SESSION = "takes effect in the next session"
CLIENTS: Mapping[str, Client] = MappingProxyType(
    {
        "claude": Client(
            title="Claude Code",
            programs=("claude",),
            folders=("{claude}",),
            parts={
                HOOK: SettingsPart(
                    files={
                        USER: ("{claude}/settings.json",),
                        PROJECT: ("{workspace}/.claude/settings.json",),
                    },
                    places=_hook_places("UserPromptSubmit", "SessionStart"),
                    write=_hook_group("claude", _HOOK_SECONDS),
                ),
                MCP: SettingsPart(
                    files={
                        USER: ("{claude_servers}/.claude.json",),
                        PROJECT: ("{workspace}/.mcp.json",),
                    },
                    places=[("mcpServers",)],
                    write=_server(type="stdio"),
                ),
            },
            next_steps={USER: _NEXT_SESSION, PROJECT: "Claude Code asks whether to start it"},
        ),
        "codex": Client(
            title="Codex",
            programs=("codex",),
            folders=("{codex}",),
            parts={
                HOOK: SettingsPart(
                    files={
                        USER: ("{codex}/config.toml",),
                        PROJECT: ("{workspace}/.codex/config.toml",),
                    },
                    places=_hook_places("UserPromptSubmit", "SessionStart", "PreCompact"),
                    write=_hook_group("codex", _HOOK_SECONDS),
                ),
                MCP: SettingsPart(
                    files={
                        USER: ("{codex}/config.toml",),
                        PROJECT: ("{workspace}/.codex/config.toml",),
                    },
                    places=[("mcp_servers",)],
                    write=_server(),
                ),
            },
            next_steps={
                USER: "Codex runs the hook once you have reviewed it: type /hooks in codex",
                PROJECT: "Codex reads it where the project is trusted; review it with /hooks",
            },
        ),
        "gemini": Client(
            title="Gemini CLI",
            programs=("gemini",),
            folders=("{gemini}",),
            parts={
                HOOK: SettingsPart(
                    files={
                        USER: ("{gemini}/settings.json",),
                        PROJECT: ("{workspace}/.gemini/settings.json",),
                    },
                    places=_hook_places("BeforeAgent", "SessionStart", "PreCompress"),
                    write=_hook_group("gemini", _HOOK_SECONDS * 1_000, name="capdisc"),
                ),
                MCP: SettingsPart(
                    files={
                        USER: ("{gemini}/settings.json",),
                        PROJECT: ("{workspace}/.gemini/settings.json",),
                    },
                    places=[("mcpServers",)],
                    write=_server(),
                ),
            },
            next_steps={
                USER: _NEXT_SESSION,
                PROJECT: "Gemini CLI reads it where the folder is trusted",
            },
        ),
        "opencode": Client(
            title="opencode",
            programs=("opencode",),
            folders=("{opencode}",),
            parts={
                HOOK: SettingsPart(
                    files={
                        USER: ("{opencode}/plugin/capdisc.js",),
                        PROJECT: ("{workspace}/.opencode/plugin/capdisc.js",),
                    },
                    places=[()],
                    write=_opencode_plugin,
                ),
                MCP: SettingsPart(
                    files={
                        USER: (
                            "{opencode}/opencode.json",
                            "{opencode}/opencode.jsonc",
                            "{opencode}/config.json",
                        ),
                        PROJECT: (
                            "{workspace}/opencode.json",
                            "{workspace}/opencode.jsonc",
                            "{workspace}/.opencode/opencode.json",
                            "{workspace}/.opencode/opencode.jsonc",
                        ),
                    },
                    places=[("mcp",)],
                    write=_opencode_server,
                    template={"$schema": "https://opencode.ai/config.json"},
                ),
            },
            next_steps={USER: _NEXT_SESSION, PROJECT: _NEXT_SESSION},
        ),
        "cursor": Client(
            title="Cursor",
            programs=("cursor", "cursor-agent"),
            folders=("{home}/.cursor",),
            parts={
                MCP: SettingsPart(
                    files={
                        USER: ("{home}/.cursor/mcp.json",),
                        PROJECT: ("{workspace}/.cursor/mcp.json",),
                    },
                    places=[("mcpServers",)],
                    write=_server(),
                ),
            },
            next_steps={USER: "switch it on in Cursor's settings, under MCP"},
        ),
        "vscode": Client(
            title="VS Code",
            programs=("code", "code-insiders"),
            folders=("{vscode}", "{home}/.vscode"),
            parts={
                MCP: SettingsPart(
                    files={
                        USER: ("{vscode}/mcp.json",),
                        PROJECT: ("{workspace}/.vscode/mcp.json",),
                    },
                    places=[("servers",)],
                    write=_server(type="stdio"),
                ),
            },
            default_scope=PROJECT,
            next_steps={PROJECT: "VS Code asks whether to start it"},
        ),
        "copilot": Client(
            title="Copilot CLI",
            programs=("copilot",),
            folders=("{copilot}",),
            parts={
                HOOK: SettingsPart(
                    files={
                        USER: ("{copilot}/hooks/capdisc.json",),
                        PROJECT: ("{workspace}/.github/hooks/capdisc.json",),
                    },
                    places=_hook_places("userPromptSubmitted", "sessionStart", "preCompact"),
                    write=_copilot_hook,
                    template={"version": 1},
                ),
                MCP: SettingsPart(
                    files={
                        USER: ("{copilot}/mcp-config.json",),
                        # It reads the second only where the first does not exist.
                        PROJECT: ("{workspace}/.mcp.json", "{workspace}/.github/mcp.json"),
                    },
                    places=[("mcpServers",)],
                    write=_server(type="stdio", tools=["*"]),
                ),
            },
            next_steps={USER: _NEXT_SESSION, PROJECT: _NEXT_SESSION},
        ),
    }
)


def base_folders(runtime: Runtime) -> dict[str, Path]:
    """The folders that the paths of settings files begin with, by the names in braces; where a
    client has a variable for its folder, that decides.
    """
    home, environ = runtime.home, runtime.environ

    def folder(variable: str, default: Path) -> Path:
        value = environ.get(variable)
        return runtime.expand(Path(value)) if value else default

    config = folder("XDG_CONFIG_HOME", home / ".config")
    is_mac = runtime.system == "darwin"
    application_data = home / "Library" / "Application Support" if is_mac else config
    return {
        "home": home,
        "workspace": runtime.workspace,
        "claude": folder("CLAUDE_CONFIG_DIR", home / ".claude"),
        "claude_servers": folder("CLAUDE_CONFIG_DIR", home),
        "codex": folder("CODEX_HOME", home / ".codex"),
        "gemini": folder("GEMINI_CLI_HOME", home) / ".gemini",
        "opencode": folder("OPENCODE_CONFIG_DIR", config / "opencode"),
        "vscode": application_data / "Code" / "User",
        "copilot": folder("COPILOT_HOME", home / ".copilot"),
    }


def settings_path(part: SettingsPart, scope: str, folders: Mapping[str, Path]) -> Path:
    """The client's file for this part and scope: the one that exists, else the first."""
    paths = [Path(name.format_map(folders)) for name in part.files[scope]]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def find_program(environ: Mapping[str, str]) -> Program:
    """The words that start the running capdisc from any folder: its name where PATH leads to it,
    else its path.

    An activated environment does not count as PATH: clients are started outside of it, too.
    """
    script = Path(sys.executable).parent / "capdisc"
    if not script.is_file():
        # With neither option a module of the folder that the client works in could take its place.
        return (sys.executable, "-E", "-P", "-m", "capdisc")
    name_in_path = shutil.which("capdisc", path=environ.get("PATH", ""))
    activated = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX")
    if name_in_path and Path(name_in_path).samefile(script):
        is_activated = activated and Path(name_in_path).is_relative_to(activated)
        if not is_activated:
            return ("capdisc",)
    return (str(script),)


def is_present(client: Client, runtime: Runtime, folders: Mapping[str, Path]) -> bool:
    """Whether the client seems to be installed: a program in PATH, or its settings folder."""
    search_path = runtime.environ.get("PATH", "")
    has_program = any(shutil.which(name, path=search_path) for name in client.programs)
    return has_program or any(Path(name.format_map(folders)).is_dir() for name in client.folders)
