"""The folders in which each client keeps its skills, strongest first: the order decides which of
two skills with one id wins.

Clients differ on purpose: with most, the project wins; with Claude Code, whoever administers the
machine wins. As the clients documented it in 2026; where a client gives no order, its folders
stand as its documentation lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
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


@lru_cache(maxsize=8)  # a server asks for those of one folder again and again
def conventional_roots(
    profile: str, cwd: Path, workspace: Path, home: Path
) -> tuple[tuple[str, Path], ...]:
    """The scope ("workspace", "user" or "machine") and the path of every folder of the profile,
    strongest first, whether or not it exists.

    Raises InputError for an unknown profile.
    """
    if profile not in CLIENT_PROFILES:
        from capdisc_indexer.text.similar_names import hint_names  # which no query needs

        raise InputError(
            f"there are no folders called {profile!r}", hint_names(profile, CLIENT_PROFILES)
        )
    client = CLIENT_PROFILES[profile]
    scopes = {
        "workspace": [
            base / name
            for base in base_folders(client, cwd, workspace)
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
    return tuple((scope, path) for path, scope in scope_of_path.items())


def base_folders(profile: ClientProfile, cwd: Path, workspace: Path) -> Iterator[Path]:
    """The folders in which the profile's folders of the workspace are looked for: from the current
    one up to the workspace, or the workspace alone.
    """
    if profile.searches_parents:
        yield from takewhile(lambda folder: folder != workspace, (cwd, *cwd.parents))
    yield workspace
