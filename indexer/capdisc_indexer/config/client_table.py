"""What the table of clients says, and the folders in which each client keeps skills, agents and
commands, strongest first: the order decides which of two capabilities with one id wins.

The table is clients/clients.toml. `just docs` compiles it to JSON, a line for each kind of
section, since a query needs a few of them: each takes 0.05 ms, where all of the TOML takes 8.
Clients that other distributions add come after those of the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system
from capdisc_indexer.plugins.entry_points import read_environment

TABLE_FILE = "clients.jsonl"
# What a section must have; with "programs", a client must have sections for `setup`.
_REQUIRED_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "servers": ("table", "user"),
        "hook": ("dialect", "user", "workspace", "prompt_event", "change_events"),
        "uses": ("event",),
        "listing": ("version", "line", "order", "overflow", "sources"),
        "validation": ("like",),
        "visibility": ("user", "keys", "form", "states"),
    }
)
_SETUP_SECTIONS = ("settings", "servers", "next")


def client_sections(kind: str, ranking: str = "") -> JsonObject:
    """The section of this kind of each client that has one, in the order of the table; where
    `ranking` names a precedence of the table, the clients in it come first.
    """
    sections = _load_sections(kind)
    ranked = _load_sections("precedence")[ranking] if ranking else ()
    return {name: sections[name] for name in (*ranked, *sections) if name in sections}


def client_entry(name: str) -> JsonObject:
    """All sections of this client by their kind."""
    kinds = _list_kinds()
    return {kind: _load_sections(kind)[name] for kind in kinds if name in _load_sections(kind)}


@cache
def _load_sections(kind: str) -> JsonObject:
    """The sections of this kind, of the table and of other distributions, by client."""
    sections = _read_sections(kind)
    for client, entry in _load_added_clients()[0].items():
        if kind in entry:
            sections[client] = entry[kind]
            for scope in ("workspace", "user") if kind == "skills" else ():
                known = sections["all"][scope]
                known += [name for name in entry[kind].get(scope, ()) if name not in known]
    return sections


def _read_sections(kind: str) -> JsonObject:
    """The sections of this kind in the table; each call gives a value of its own."""
    line = next(line for line in _read_lines() if line.startswith(f'["{kind}"'))
    sections: JsonObject = json.loads(line)[1]
    return sections


def find_table_problems() -> Sequence[str]:
    """What is wrong with the clients that other distributions add, which are then left out."""
    return _load_added_clients()[1]


@cache
def _load_added_clients() -> tuple[JsonObject, Sequence[str]]:
    """The clients of other distributions by name, and what is wrong with those left out."""
    clients: JsonObject = {}
    problems: list[str] = []
    for table in read_environment().clients:
        problems += [table.problem] if table.problem else []
        for client, entry in table.clients.items():
            if problem := _find_problem(client, entry):
                problems.append(f"{table.path}: {client}: {problem}")
            else:
                clients.setdefault(client, entry)
    return clients, problems


def _find_problem(client: str, entry: JsonObject) -> str:
    """What is wrong with a client that another distribution adds; "" for nothing."""
    if client in ("precedence", *_read_sections("title")):
        return "the name is taken"
    if not isinstance(entry, dict) or "title" not in entry:
        return "it has no title"
    if "programs" in entry and not entry.keys() >= set(_SETUP_SECTIONS):
        return f"programs need {', '.join(_SETUP_SECTIONS)}"
    for kind in entry.keys() & set(_list_kinds()):
        section, model = entry[kind], next(reversed(_read_sections(kind).values()))
        required = _REQUIRED_KEYS.get(kind, ())
        if type(section) is not type(model):
            return f"{kind} has another form than those of capdisc"
        if lacking := [key for key in required if key not in section]:
            return f"{kind} lacks {', '.join(lacking)}"
    return ""


def _list_kinds() -> list[str]:
    """The kinds of sections that the table has, in its order."""
    return [json.loads(line)[0] for line in _read_lines()]


@cache
def _read_lines() -> list[str]:
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    with open(f"{package}/clients/{TABLE_FILE}", encoding="utf-8") as file:  # noqa: PTH123
        return file.readlines()


def settings_folders(
    home: Path, workspace: Path, environ: Mapping[str, str], system_name: str
) -> dict[str, str]:
    """The folders that the paths of settings files begin with, by the names in braces; where a
    client has a variable for its folder, that decides. `system_name` is that of the operating
    system, as `sys.platform` has it.
    """
    base = environ.get("XDG_CONFIG_HOME")
    config = _expand(base, home) if base else f"{home}/.config"
    applications = {
        "darwin": f"{home}/Library/Application Support",
        "win32": environ.get("APPDATA") or f"{home}/AppData/Roaming",
    }
    folders = {
        "home": home.as_posix(),
        "workspace": workspace.as_posix(),
        "config": config,
        "applications": applications.get(system_name, config),
        "local": environ.get("LOCALAPPDATA") or f"{home}/AppData/Local",
    }
    for section in client_sections("folders").values():
        for name, place in section.items():
            value = environ.get(place.get("variable", ""))
            default = place.get(system_name, place["default"])
            folders[name] = _expand(value, home) if value else default.format_map(folders)
    return folders


def workspace_switches(workspace: Path, client: str = "") -> list[Path]:
    """The files of the workspace that switch plugins of this client ("": of any) on and off; they
    need not exist.
    """
    beginning = "{workspace}/"
    return [
        workspace / path.removeprefix(beginning)
        for name, section in client_sections("plugins").items()
        if client in ("", name)
        for path in section.get("switches", ())
        if path.startswith(beginning)
    ]


def _expand(path: str, home: Path) -> str:
    if path == "~" or path.startswith("~/"):
        path = f"{home}/{path[2:]}"
    return system.abspath(path)  # a Path takes ten times as long


# The folders of skills, agents and commands.


@frozen(kw_only=True)
class ClientFolders:
    """Where a client keeps files of one kind: folders, or patterns of files, below the workspace,
    below the home folder and of the machine.

    With `searches_parents`, those of the workspace are also looked for in every folder from the
    current one up to the workspace. With `machine_first`, the machine's folders win over the
    user's, and these over the workspace's: with most clients the project wins, with Claude Code
    whoever administers the machine.
    """

    workspace: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    searches_parents: bool = False
    machine_first: bool = False


def find_profile(name: str) -> ClientFolders:
    """The folders of skills of this client, or of `all`. Raises InputError for an unknown one."""
    sections = client_sections("skills")
    if name not in sections:
        from capdisc_indexer.text.similar_names import hint_names  # which no query needs

        raise InputError(f"there are no folders called {name!r}", hint_names(name, sections))
    return _make_folders(sections[name])


def _make_folders(section: JsonObject) -> ClientFolders:
    values: JsonObject = {
        key: tuple(value) if isinstance(value, list) else value for key, value in section.items()
    }
    return ClientFolders(**values)


@lru_cache(maxsize=8)  # a server asks for those of one folder again and again
def conventional_roots(
    profile: str, cwd: Path, workspace: Path, home: Path
) -> tuple[tuple[str, Path], ...]:
    """The scope ("workspace", "user" or "machine") and the path of every folder of skills of the
    profile, strongest first, whether or not it exists.

    Raises InputError for an unknown profile.
    """
    client = find_profile(profile)
    places = _list_places(client, [("skill", client)], cwd, workspace, home)
    return tuple((scope, path) for scope, _, path in places)


def conventional_places(
    profile: str, cwd: Path, workspace: Path, home: Path
) -> list[tuple[str, str, Path]]:
    """The scope, the format and the path of every place of agents and commands of the profile,
    strongest first, whether or not it exists. The last part of a path may be a pattern.
    """
    parts = [part for part in _prompt_folders() if profile in ("all", part[0])]
    formats = [(format_name, folders) for _, format_name, folders in parts]
    return _list_places(find_profile(profile), formats, cwd, workspace, home)


def own_folders(home: Path) -> list[Path]:
    """The user's own folders of every client."""
    folders = [
        home / name
        for section in client_sections("skills").values()
        for name in section.get("user", ())
    ]
    folders += [
        home / (name if "*" not in name else name.rpartition("/")[0])
        for _, _, client in _prompt_folders()
        for name in client.user
    ]
    return list(dict.fromkeys(folders))


def _prompt_folders() -> list[tuple[str, str, ClientFolders]]:
    """Each client's folders of agents and of commands, with the client and their format."""
    agents, commands = (client_sections(kind, "places") for kind in ("agents", "commands"))
    return [
        (client, format_name, _make_folders(sections[client]))
        for client in agents | commands
        for format_name, sections in (("agent", agents), ("command", commands))
        if client in sections
    ]


def _list_places(
    client: ClientFolders,
    places: Sequence[tuple[str, ClientFolders]],
    cwd: Path,
    workspace: Path,
    home: Path,
) -> list[tuple[str, str, Path]]:
    """The scope, the format and the path of each place; `client` says which scope comes first."""
    parents = takewhile(lambda folder: folder != workspace, (cwd, *cwd.parents))
    bases = (*(parents if client.searches_parents else ()), workspace)
    scopes = {
        "workspace": [
            (format_name, base / name)
            for format_name, folders in places
            for base in bases
            for name in folders.workspace
        ],
        "user": [
            (format_name, home / name) for format_name, folders in places for name in folders.user
        ],
        "machine": [
            (format_name, Path(name))
            for format_name, folders in places
            for name in folders.machine
            if Path(name).is_absolute()  # which only those of this system are
        ],
    }
    user_places = set(scopes["user"])
    scope_of_place: dict[tuple[str, Path], str] = {}
    for scope in reversed(scopes) if client.machine_first else scopes:
        for place in scopes[scope]:
            # Where the workspace is the home folder, its folders are still the user's own.
            scope_of_place.setdefault(place, "user" if place in user_places else scope)
    return [(scope, format_name, path) for (format_name, path), scope in scope_of_place.items()]
