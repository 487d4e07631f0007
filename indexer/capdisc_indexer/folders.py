"""The folders that each client keeps its skills in, strongest first: the order decides who wins where two share an id.

Clients differ on purpose: most let the project win, Claude Code lets whoever is responsible for the machine win. As
documented by the clients in 2026; one whose documentation gives no order is listed as it lists its folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Profile:
    """One client's folders: below the workspace, below the home folder, and of the machine. With `climbs`, those of
    the workspace are looked for in every folder from the current one up to it; with `reversed`, the machine's folders
    win over the user's and these over the workspace's."""

    workspace: tuple[str, ...]
    user: tuple[str, ...]
    machine: tuple[str, ...] = ()
    climbs: bool = False
    reversed: bool = False


_AGENTS, _CLAUDE = ".agents/skills", ".claude/skills"
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "all": Profile(
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
        "capdisc": Profile(workspace=(".capdisc/capabilities",), user=(".capdisc/capabilities",)),
        "agents": Profile(workspace=(_AGENTS,), user=(_AGENTS, ".config/agents/skills")),
        "claude": Profile(
            workspace=(_CLAUDE,),
            user=(_CLAUDE,),
            machine=("/etc/claude-code/.claude/skills",),
            climbs=True,
            reversed=True,
        ),
        "codex": Profile(
            workspace=(_AGENTS, ".codex/skills"),
            user=(_AGENTS, ".codex/skills"),
            machine=("/etc/codex/skills",),
            climbs=True,
        ),
        "gemini": Profile(workspace=(_AGENTS, ".gemini/skills"), user=(_AGENTS, ".gemini/skills")),
        "opencode": Profile(
            workspace=(".opencode/skills", _CLAUDE, _AGENTS),
            user=(".config/opencode/skills", _CLAUDE, _AGENTS),
            climbs=True,
        ),
        "cursor": Profile(
            workspace=(_AGENTS, ".cursor/skills", _CLAUDE, ".codex/skills"),
            user=(_AGENTS, ".cursor/skills", _CLAUDE, ".codex/skills"),
        ),
        "copilot": Profile(workspace=(".github/skills", _CLAUDE, _AGENTS), user=(".copilot/skills", _CLAUDE, _AGENTS)),
        "goose": Profile(
            workspace=(_AGENTS, ".goose/skills", _CLAUDE), user=(_AGENTS, _CLAUDE, ".config/goose/skills")
        ),
        "openclaw": Profile(workspace=("skills", _AGENTS), user=(_AGENTS, ".openclaw/skills")),
    }
)


def conventional_roots(profile: str, cwd: Path, workspace: Path, home: Path) -> list[tuple[str, Path]]:
    """Every folder of the profile, strongest first, with the scope it belongs to ("workspace", "user", "machine").

    Raises InputError for a profile that there is not.
    """
    if profile not in PROFILES:
        raise InputError(f"there are no folders called {profile!r}", f"one of: {', '.join(PROFILES)}")
    chosen = PROFILES[profile]
    scopes = [
        [("workspace", base / name) for base in _bases(chosen, cwd, workspace) for name in chosen.workspace],
        [("user", home / name) for name in chosen.user],
        [("machine", Path(name)) for name in chosen.machine],
    ]
    found: dict[Path, str] = {}
    for scope, path in (pair for each in (reversed(scopes) if chosen.reversed else scopes) for pair in each):
        found.setdefault(path, scope)
    return [(scope, path) for path, scope in found.items()]


def _bases(profile: Profile, cwd: Path, workspace: Path) -> Iterator[Path]:
    """The folders from the current one up to the workspace, or the workspace alone."""
    if profile.climbs:
        yield from takewhile(lambda folder: folder != workspace, (cwd, *cwd.parents))
    yield workspace
