"""The places where each client keeps its agents and commands, strongest first, and which folders of
clients are the user's own.

They stand apart from the folders of skills, since most commands do without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from capdisc_indexer.config.client_folders import CLIENT_PROFILES, base_folders


class ClientPlace(NamedTuple):
    """Where a client keeps files of one format other than skills: folders, or patterns of files,
    below the workspace, below the home folder and of the machine.
    """

    client: str
    format: str
    workspace: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()


# The files of a workspace that switch plugins on and off.
SWITCH_FILES = (".claude/settings.json", ".claude/settings.local.json")
_MACHINE_CLAUDE = "/etc/claude-code/.claude"
_VSCODE_USER = (".config/Code/User/prompts", "Library/Application Support/Code/User/prompts")
# As documented in 2026, and as the clients' own packages read them: Claude Code 2.1, Codex 0.169,
# Gemini CLI 0.61, opencode 1.18. Codex calls commands prompts, VS Code calls them prompt files and
# called agents chat modes, opencode modes.
CLIENT_PLACES = (
    ClientPlace(
        client="claude",
        format="agent",
        workspace=(".claude/agents",),
        user=(".claude/agents",),
        machine=(f"{_MACHINE_CLAUDE}/agents",),
    ),
    ClientPlace(
        client="claude",
        format="command",
        workspace=(".claude/commands",),
        user=(".claude/commands",),
        machine=(f"{_MACHINE_CLAUDE}/commands",),
    ),
    ClientPlace(
        client="codex", format="agent", workspace=(".codex/agents",), user=(".codex/agents",)
    ),
    ClientPlace(client="codex", format="command", user=(".codex/prompts",)),
    ClientPlace(
        client="gemini", format="agent", workspace=(".gemini/agents",), user=(".gemini/agents",)
    ),
    ClientPlace(
        client="gemini",
        format="command",
        workspace=(".gemini/commands",),
        user=(".gemini/commands",),
    ),
    ClientPlace(
        client="opencode",
        format="agent",
        workspace=(".opencode/agent", ".opencode/agents", ".opencode/mode", ".opencode/modes"),
        user=(
            ".config/opencode/agent",
            ".config/opencode/agents",
            ".config/opencode/mode",
            ".config/opencode/modes",
        ),
    ),
    ClientPlace(
        client="opencode",
        format="command",
        workspace=(".opencode/command", ".opencode/commands"),
        user=(".config/opencode/command", ".config/opencode/commands"),
    ),
    ClientPlace(
        client="copilot",
        format="agent",
        workspace=(".github/agents", ".github/chatmodes/*.chatmode.md"),
        user=(
            ".copilot/agents",
            *(f"{folder}/*.agent.md" for folder in _VSCODE_USER),
            *(f"{folder}/*.chatmode.md" for folder in _VSCODE_USER),
        ),
    ),
    ClientPlace(
        client="copilot",
        format="command",
        workspace=(".github/prompts/*.prompt.md",),
        user=tuple(f"{folder}/*.prompt.md" for folder in _VSCODE_USER),
    ),
    ClientPlace(
        client="cursor", format="agent", workspace=(".cursor/agents",), user=(".cursor/agents",)
    ),
    ClientPlace(
        client="cursor",
        format="command",
        workspace=(".cursor/commands",),
        user=(".cursor/commands",),
    ),
)


def conventional_places(
    profile: str, cwd: Path, workspace: Path, home: Path
) -> list[tuple[str, str, Path]]:
    """The scope, the format and the path of every place of agents and commands of the profile,
    strongest first, whether or not it exists. The last part of a path may be a pattern.
    """
    client = CLIENT_PROFILES[profile]
    scopes: dict[str, list[tuple[str, Path]]] = {"workspace": [], "user": [], "machine": []}
    for place in CLIENT_PLACES:
        if profile not in ("all", place.client):
            continue
        bases = base_folders(client, cwd, workspace)
        scopes["workspace"] += [
            (place.format, base / name) for base in bases for name in place.workspace
        ]
        scopes["user"] += [(place.format, home / name) for name in place.user]
        scopes["machine"] += [(place.format, Path(name)) for name in place.machine]
    user_places = set(scopes["user"])
    scope_of_place: dict[tuple[str, Path], str] = {}
    for scope in reversed(scopes) if client.machine_first else scopes:
        for place_path in scopes[scope]:
            scope_of_place.setdefault(place_path, "user" if place_path in user_places else scope)
    return [(scope, format_name, path) for (format_name, path), scope in scope_of_place.items()]


def own_folders(home: Path) -> list[Path]:
    """The user's own folders of every client."""
    folders = [home / name for client in CLIENT_PROFILES.values() for name in client.user]
    folders += [
        home / (name if "*" not in name else name.rpartition("/")[0])
        for place in CLIENT_PLACES
        for name in place.user
    ]
    return list(dict.fromkeys(folders))
