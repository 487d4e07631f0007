"""The folders in which each client keeps its skills, agents and commands, strongest first: the
order decides which of two skills with one id wins.

Clients differ on purpose: with most, the project wins; with Claude Code, whoever administers the
machine wins. As the clients documented it in 2026; where a client gives no order, its folders
stand as its documentation lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen


@frozen(kw_only=True)
class ClientProfile:
    """One client's folders: below the workspace, below the home folder, and of the machine.

    With `searches_parents`, those of the workspace are also looked for in every folder from the
    current one up to the workspace. With `machine_first`, the machine's folders win over the
    user's, and these over the workspace's.
    """

    workspace: tuple[str, ...]
    user: tuple[str, ...]
    machine: tuple[str, ...] = ()
    searches_parents: bool = False
    machine_first: bool = False


_AGENTS, _CLAUDE = ".agents/skills", ".claude/skills"
CLIENT_PROFILES: Mapping[str, ClientProfile] = MappingProxyType(
    {
        "all": ClientProfile(
            workspace=(
                ".capdisc/capabilities",
                _AGENTS,
                _CLAUDE,
                ".codex/skills",
                ".gemini/skills",
                ".opencode/skills",
                ".cursor/skills",
                ".github/skills",
                ".goose/skills",
                ".wunderland/capabilities",
            ),
            user=(
                ".capdisc/capabilities",
                _AGENTS,
                _CLAUDE,
                ".codex/skills",
                ".gemini/skills",
                ".config/opencode/skills",
                ".cursor/skills",
                ".copilot/skills",
                ".config/agents/skills",
                ".wunderland/capabilities",
            ),
        ),
        "capdisc": ClientProfile(
            workspace=(".capdisc/capabilities",), user=(".capdisc/capabilities",)
        ),
        "agents": ClientProfile(workspace=(_AGENTS,), user=(_AGENTS, ".config/agents/skills")),
        "claude": ClientProfile(
            workspace=(_CLAUDE,),
            user=(_CLAUDE,),
            machine=("/etc/claude-code/.claude/skills",),
            searches_parents=True,
            machine_first=True,
        ),
        "codex": ClientProfile(
            workspace=(_AGENTS, ".codex/skills"),
            user=(_AGENTS, ".codex/skills"),
            machine=("/etc/codex/skills",),
            searches_parents=True,
        ),
        "gemini": ClientProfile(
            workspace=(_AGENTS, ".gemini/skills"), user=(_AGENTS, ".gemini/skills")
        ),
        "opencode": ClientProfile(
            workspace=(".opencode/skills", _CLAUDE, _AGENTS),
            user=(".config/opencode/skills", _CLAUDE, _AGENTS),
            searches_parents=True,
        ),
        "cursor": ClientProfile(
            workspace=(_AGENTS, ".cursor/skills", _CLAUDE, ".codex/skills"),
            user=(_AGENTS, ".cursor/skills", _CLAUDE, ".codex/skills"),
        ),
        "copilot": ClientProfile(
            workspace=(".github/skills", _CLAUDE, _AGENTS),
            user=(".copilot/skills", _CLAUDE, _AGENTS),
        ),
        "goose": ClientProfile(
            workspace=(_AGENTS, ".goose/skills", _CLAUDE),
            user=(_AGENTS, _CLAUDE, ".config/goose/skills"),
        ),
        "openclaw": ClientProfile(
            workspace=("skills", _AGENTS), user=(_AGENTS, ".openclaw/skills")
        ),
    }
)


def conventional_roots(
    profile: str, cwd: Path, workspace: Path, home: Path
) -> list[tuple[str, Path]]:
    """The scope ("workspace", "user" or "machine") and the path of every folder of the profile,
    strongest first, whether or not it exists.

    Raises InputError for an unknown profile.
    """
    if profile not in CLIENT_PROFILES:
        raise InputError(
            f"there are no folders called {profile!r}", f"one of: {', '.join(CLIENT_PROFILES)}"
        )
    client = CLIENT_PROFILES[profile]
    scopes = {
        "workspace": [
            base / name
            for base in _base_folders(client, cwd, workspace)
            for name in client.workspace
        ],
        "user": [home / name for name in client.user],
        "machine": [Path(name) for name in client.machine],
    }
    scope_of_path: dict[Path, str] = {}
    for scope in reversed(scopes) if client.machine_first else scopes:
        for path in scopes[scope]:
            # Where the workspace is the home folder, its folders are still the user's own.
            owner = "user" if scope == "workspace" and path in scopes["user"] else scope
            scope_of_path.setdefault(path, owner)
    return [(scope, path) for path, scope in scope_of_path.items()]


@frozen(kw_only=True)
class ClientPlace:
    """Where a client keeps files of one format other than skills: folders, or patterns of files,
    below the workspace, below the home folder and of the machine.
    """

    client: str
    format: str
    workspace: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()


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
        bases = _base_folders(client, cwd, workspace)
        scopes["workspace"] += [
            (place.format, base / name) for base in bases for name in place.workspace
        ]
        scopes["user"] += [(place.format, home / name) for name in place.user]
        scopes["machine"] += [(place.format, Path(name)) for name in place.machine]
    own = set(scopes["user"])
    scope_of_place: dict[tuple[str, Path], str] = {}
    for scope in reversed(scopes) if client.machine_first else scopes:
        for place_path in scopes[scope]:
            scope_of_place.setdefault(place_path, "user" if place_path in own else scope)
    return [(scope, form, path) for (form, path), scope in scope_of_place.items()]


def own_folders(home: Path) -> list[Path]:
    """The user's own folders of every client."""
    folders = [home / name for client in CLIENT_PROFILES.values() for name in client.user]
    folders += [
        home / (name if "*" not in name else name.rpartition("/")[0])
        for place in CLIENT_PLACES
        for name in place.user
    ]
    return list(dict.fromkeys(folders))


def _base_folders(profile: ClientProfile, cwd: Path, workspace: Path) -> Iterator[Path]:
    """The folders from the current one up to the workspace, or the workspace alone."""
    if profile.searches_parents:
        yield from takewhile(lambda folder: folder != workspace, (cwd, *cwd.parents))
    yield workspace
