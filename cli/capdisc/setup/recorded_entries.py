"""Entries that the record of a file names, also those for single skills and servers: what a client
lists of a skill, and servers that move behind the gateway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc.context.surroundings import Runtime
from capdisc.setup import settings_files
from capdisc.setup.client_settings import CLIENTS, HOOK, MCP, USER, base_folders
from capdisc.setup.file_changes import FileChange, plan_undo
from capdisc.setup.settings_entries import (
    BEHIND,
    BLOCK,
    MOVED,
    SKILLS,
    SettingsEntry,
    list_words,
    load_data,
    value_at,
)
from capdisc.setup.settings_files import SetupRecord, read_text
from capdisc_indexer.config.client_servers import ServerDeclaration
from capdisc_indexer.config.client_table import client_entry, client_sections
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonObject

# What a client may list of a skill, as Claude Code calls it.
NAME_ONLY, OFF = "name-only", "off"
_OWN_TABLE = ("mcpServers",)
_PARTS = (HOOK, MCP, BLOCK, SKILLS, BEHIND, MOVED)


def list_visibility_files(runtime: Runtime, client: str) -> list[Path]:
    """The files in which a user says what the client lists of single skills, the user's first."""
    section, folders = client_sections("visibility")[client], base_folders(runtime)
    names = [*section["user"], *section.get("workspace", ())]
    return [Path(name.format_map(folders)) for name in names]


def list_switches(client: str, path: Path, states: Mapping[str, str]) -> list[SettingsEntry]:
    """The entries that give skills these states in a file: by name or, where the client goes by
    files, by the path of SKILL.md.
    """
    section: JsonObject = client_sections("visibility")[client]
    keys = tuple(section["keys"])
    is_item = section["form"] != "member"
    contents: Mapping[str, Any] = {
        "member": lambda name, state: state,
        "item": lambda name, state: name,
        "table": lambda name, state: {"path": name, "enabled": False},
    }
    return [
        SettingsEntry(
            client=client,
            part=SKILLS,
            path=path,
            content=contents[section["form"]](name, state),
            keys=keys if is_item else (*keys, name),
            is_item=is_item,
            label=f"{state} {name}",
        )
        for name, state in states.items()
    ]


def read_switches(client: str, path: Path) -> dict[str, str]:
    """The state of each skill that this file names, by name or path of SKILL.md. Raises InputError
    for a file that cannot be read.
    """
    section: JsonObject = client_sections("visibility")[client]
    text = read_text(path)
    values = value_at(load_data(path, text)[0], section["keys"]) if text else None
    if isinstance(values, dict):
        return {name: state for name, state in values.items() if isinstance(state, str)}
    states = {}
    for item in values if isinstance(values, list) else ():
        is_table = isinstance(item, dict)
        name = item.get("path", item.get("name")) if is_table else item
        if isinstance(name, str):
            states[name] = "on" if is_table and item.get("enabled") is not False else OFF
    return states


def list_moves(
    client: str, path: Path, servers: Iterable[ServerDeclaration], own_path: Path
) -> list[SettingsEntry]:
    """The entries that take these servers out of the client's file, and put them into capdisc's
    own one, which the gateway reads. A server stays whose name is taken there, or that the
    client's table for all projects has with other words: folders of one project would be filled
    in. So do all where one of the files has comments, which setup does not change.
    """
    table = tuple(client_entry(client)["servers"]["table"])
    standing, taken_names = _read_table(path, table), _read_table(own_path, _OWN_TABLE)
    if standing is None or taken_names is None:
        return []
    moved = [
        server
        for server in servers
        if server.name not in taken_names and _is_as_written(server, standing.get(server.name))
    ]
    return [
        entry
        for server in moved
        for entry in (
            SettingsEntry(
                client=client,
                part=BEHIND,
                path=own_path,
                content=_write_server(server),
                keys=(*_OWN_TABLE, server.name),
            ),
            SettingsEntry(
                client=client, part=MOVED, path=path, content={}, keys=(*table, server.name)
            ),
        )
    ]


def list_recorded(
    client: str, path: Path, record: SetupRecord, parts: Sequence[str]
) -> list[SettingsEntry]:
    """The entries of these parts, and of any client where `client` is "", that the record of the
    file has; not those of a client that is not known any more.
    """
    entries = []
    for name in record.entries:
        owner, part, label = [*name.split(" ", 2), ""][:3]
        if part not in parts or client not in ("", owner):
            continue
        if part == SKILLS:
            state, _, skill = label.partition(" ")
            entries += list_switches(owner, path, {skill: state})
        elif part == BLOCK:
            entries.append(SettingsEntry(client=owner, part=part, path=path, content=""))
        elif part in (HOOK, MCP):
            entries += _list_placed(owner, part, path, label)
        elif owner in client_sections("servers"):
            table = _OWN_TABLE if part == BEHIND else client_entry(owner)["servers"]["table"]
            keys = (*table, label)
            entries.append(
                SettingsEntry(client=owner, part=part, path=path, content={}, keys=keys)
            )
    return entries


def _list_placed(client: str, part: str, path: Path, label: str) -> Iterator[SettingsEntry]:
    """The entry of a hook or a server that was put into the file, by the rest of its name."""
    part_settings = CLIENTS[client].parts.get(part) if client in CLIENTS else None
    for keys in part_settings.places if part_settings else ():
        if part_settings and " ".join(keys[1:]) == label:
            yield SettingsEntry(
                client=client,
                part=part,
                path=path,
                content=part_settings.write(("capdisc",), keys, USER),
                keys=keys,
                template=part_settings.template,
            )


def _read_table(path: Path, table: Sequence[str]) -> Mapping[str, Any] | None:
    """The servers in a file; None for one that setup cannot change."""
    try:
        text = read_text(path)
        data, is_editable = load_data(path, text) if text else ({}, True)
    except InputError:
        return None
    servers = value_at(data, tuple(table))
    return (servers if isinstance(servers, dict) else {}) if is_editable else None


def _is_as_written(server: ServerDeclaration, entry: Any) -> bool:
    """Whether the entry says the same as the server, word for word."""
    if not isinstance(entry, dict):
        return False
    if server.url:
        return server.url in entry.values()
    env = entry.get("env", entry.get("environment", {}))
    has_dialect = "dialect" in client_entry(server.client)["servers"]
    is_same_env = has_dialect or dict(server.env) == env
    return is_same_env and list_words(entry) == [server.command, *server.args]


def _write_server(server: ServerDeclaration) -> JsonObject:
    """The server as most clients write it."""
    entry: JsonObject = {"url": server.url} if server.url else {"command": server.command}
    fields: JsonObject = {
        "args": list(server.args),
        "env": dict(server.env),
        "cwd": server.cwd,
        "headers": dict(server.headers),
        "timeout": int(server.timeout_s * 1000),
        "includeTools": list(server.only),
        "excludeTools": list(server.without),
    }
    return entry | {name: value for name, value in fields.items() if value}


# Which changes take out what setup put into the files of some clients, or of all.


def plan_undo_of_clients(
    runtime: Runtime,
    clients: Sequence[str],
    entries: Sequence[SettingsEntry],
    selected: Sequence[SettingsEntry],
) -> list[FileChange]:
    """The changes that take out the selected entries of files into which setup put some, and with
    the MCP server what moved behind the gateway.
    """
    has_server = any(entry.part == MCP for entry in selected)
    paths = [entry.path for entry in selected]
    # Last, since a server leaves this file only if it comes back into the client's own.
    paths += [runtime.user_config.with_name("mcp.json")] if has_server else []
    returning: set[str] = set()
    changes = []
    for path in dict.fromkeys(paths):
        record = settings_files.load_record(runtime.user_state_dir(), path)
        if record is None:
            continue
        recorded = list_recorded("", path, record, (SKILLS, BEHIND, MOVED))
        group = [entry for entry in selected if entry.path == path]
        moves = [entry for entry in recorded if has_server and entry.client in clients]
        if path.exists():
            returning |= {entry.keys[-1] for entry in moves if entry.part == MOVED}
        group += [entry for entry in moves if entry.part != SKILLS and entry.keys[-1] in returning]
        # With a previous one, an undo may have been killed at its end.
        if record.previous or any(entry.name in record.entries for entry in group):
            # Claude Code and Copilot CLI read one file of a project.
            others = list_recorded("", path, record, (HOOK, MCP))
            here = [entry for entry in entries if entry.path == path]
            here += [entry for entry in others if entry.client not in clients]
            kept_entries = [entry for entry in (*here, *recorded) if entry not in group]
            changes.append(plan_undo(path, group, kept_entries, record))
    # The first file of setup goes last: it remembers the folders that were created for all.
    return changes[::-1]


def plan_undo_of_all(runtime: Runtime) -> tuple[list[FileChange], list[InputError]]:
    """The changes that take out all that setup put into any file, and why some file is left as it
    is. Raises InputError for a record that cannot be read.
    """
    state_dir = runtime.user_state_dir()
    own_path = runtime.user_config.with_name("mcp.json")
    paths = sorted(settings_files.list_files(state_dir), key=lambda path: path == own_path)
    returning: set[str] = set()
    changes: list[FileChange] = []
    problems: list[InputError] = []
    for path in paths:
        try:
            record = settings_files.load_record(state_dir, path)
            if record is None:
                continue
            recorded = list_recorded("", path, record, _PARTS)
            group = [
                entry
                for entry in recorded
                if entry.part != BEHIND or entry.keys[-1] in returning or not path.exists()
            ]
            if len(group) < len(record.entries):
                problems.append(_describe_rest(path, record, group))
            if not group:
                continue
            kept_entries = [entry for entry in recorded if entry not in group]
            change = plan_undo(path, group, kept_entries, record)
            if change.is_change:
                settings_files.check_link(path, runtime.workspace, runtime.home)
                settings_files.check_writable(path)
        except InputError as error:
            problems.append(error)
            continue
        if path.exists():
            returning |= {entry.keys[-1] for entry in group if entry.part == MOVED}
        changes.append(change)
    # A folder that was created for one file may have got others, so that the last one removes it.
    folders = sorted({folder for change in changes for folder in change.folders})
    return [replace(change, folders=folders) for change in changes], problems


def _describe_rest(
    path: object, record: SetupRecord, group: Sequence[SettingsEntry]
) -> InputError:
    names = record.entries.keys() - {entry.name for entry in group}
    return InputError(f"{path} keeps {', '.join(sorted(names))}", "take it out by hand")
