"""Which things setup puts into which files of a client, and which of them a file has.

An entry is one thing that setup puts into a file: a value at a place of a JSON or TOML file, a
file of its own, or the block between the marks of a text file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc.context import surroundings
from capdisc.context.client_places import find_plugins_here
from capdisc.setup import marked_block, settings_files
from capdisc.setup.client_settings import (
    CLIENTS,
    HOOK,
    MCP,
    SCOPES,
    SERVER_NAME,
    USER,
    base_folders,
    find_program,
    line_if_installed,
    settings_path,
)
from capdisc.setup.json_text import ValuePath
from capdisc_indexer.config.client_servers import runs_server
from capdisc_indexer.config.settings_reader import blank_comments, parse_json, parse_toml
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system

PRESENT, ABSENT, OUTDATED, UNREADABLE = "yes", "no", "other version", "unreadable"
BLOCK = "block"
# What a client lists of one skill; a server that the gateway serves, in capdisc's file and taken
# out of the client's.
SKILLS, BEHIND, MOVED = "skills", "behind", "moved"
# The name of capdisc's own plugin, of the clients that have one.
_OWN_PLUGINS = {"claude": "capdisc"}
BYTE_ORDER_MARK = "\ufeff"
# Where clients read the line for a shell of Windows.
_WINDOWS_KEYS = frozenset({"commandWindows", "powershell"})
# A word of a line of a shell, as far as setup writes them.
_WORD = r"(?:'[^']*'|\"[^\"]*\"|[^\s;|&'\"])+"


@frozen(kw_only=True)
class SettingsEntry:
    """One thing that setup puts into a file.

    `part` is hook, mcp, block, skills, behind or moved. `content` is the value of a settings file,
    or the text of a block or of a file of its own. `keys` lead to the list of hooks, the table of
    servers, or the value itself; with `is_item`, to a list that the value is an item of. `label`
    tells entries apart that have the same keys. `template` is the content of a file that setup
    creates.
    """

    client: str
    part: str
    path: Path
    content: JsonObject | str
    keys: tuple[str, ...] = ()
    is_item: bool = False
    label: str = ""
    template: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the entry in the record of its file: `claude hook SessionStart`."""
        return " ".join((self.client, self.part, *([self.label] if self.label else self.keys[1:])))

    @property
    def has_own_keys(self) -> bool:
        """Whether `keys` lead to this one value, not to a list or a table of several."""
        return self.part in (SKILLS, BEHIND, MOVED) and not self.is_item


def list_entries(
    runtime: surroundings.Runtime,
    client: str,
    scope: str | None,
    both_scopes: bool = False,
    server_options: Sequence[str] = (),
) -> list[SettingsEntry]:
    """The entries of all parts of the client in the scope; with `both_scopes` and without a scope,
    in every scope. `server_options` are words behind `capdisc mcp`.
    """
    client_settings, folders = CLIENTS[client], base_folders(runtime)
    # There also editors are started from a desktop that then start clients of a terminal.
    has_short_path = client_settings.is_graphical or runtime.system == "darwin"
    scopes = (scope or client_settings.default_scope,) if scope or not both_scopes else SCOPES
    programs = {
        entry_scope: find_program(runtime.environ, has_short_path and entry_scope == USER)
        for entry_scope in scopes
    }
    entries = [
        SettingsEntry(
            client=client,
            part=name,
            path=settings_path(part, entry_scope, folders),
            content=_add_options(
                part.write(programs[entry_scope], keys, entry_scope),
                server_options if name == MCP else (),
            ),
            keys=keys,
            template=part.template,
        )
        for entry_scope in scopes
        for name, part in client_settings.parts.items()
        if part.files[entry_scope]
        for keys in part.places
    ]
    # In the home folder, the files of both scopes can be the same.
    return list({(entry.name, entry.path): entry for entry in entries}.values())


def select_entries(entries: Sequence[SettingsEntry], hook: bool, mcp: bool) -> list[SettingsEntry]:
    """The entries of the parts that the options name; without an option all. Raises UsageError for
    a part that one of the clients does not have.
    """
    names = {part for part, is_named in ((HOOK, hook), (MCP, mcp)) if is_named}
    for client in dict.fromkeys(entry.client for entry in entries):
        if hook and HOOK not in CLIENTS[client].parts:
            raise UsageError(
                f"{CLIENTS[client].title} runs no hook that can add context",
                f"leave out --hook: capdisc setup {client}",
            )
    return [entry for entry in entries if not names or entry.part in names]


def find_state(entry: SettingsEntry) -> str:
    """Whether the file has the entry: yes, no, other version, or unreadable."""
    try:
        text = settings_files.read_text(entry.path)
        if text is None:
            return ABSENT
        if isinstance(entry.content, str) and not entry.keys:
            return _state_of_text(entry, text)
        location = locate_entry(entry, load_data(entry.path, text)[0])
    except InputError:
        return UNREADABLE
    if location is None:
        return ABSENT
    return PRESENT if update_value(entry, location.value) is None else OUTDATED


def find_states(runtime: surroundings.Runtime, client: str) -> dict[str, dict[str, str]]:
    """The state of each part in each scope: `{"hook": {"user": "yes", "project": "no"}}`."""
    states: dict[str, dict[str, str]] = {part: {} for part in CLIENTS[client].parts}
    for scope in SCOPES:
        for entry in list_entries(runtime, client, scope):
            state = find_state(entry)
            # One event of several: the hook is there, but not all of it.
            if states[entry.part].setdefault(scope, state) != state and state != UNREADABLE:
                state = OUTDATED
            states[entry.part][scope] = state
    if find_own_plugin(runtime, client):
        for by_scope in states.values():
            by_scope["plugin"] = PRESENT
    return states


def find_own_plugin(runtime: surroundings.Runtime, client: str) -> str:
    """The id of capdisc's own plugin (hook and MCP server) if the client has it enabled, else ""."""
    plugins = find_plugins_here(runtime, "all")[0] if client in _OWN_PLUGINS else ()
    own = (client, _OWN_PLUGINS.get(client))
    return next((plugin.id for plugin in plugins if (plugin.client, plugin.name) == own), "")


def list_hook_places(runtime: surroundings.Runtime, client: str) -> list[str]:
    """The files that have the hook of the client, and its plugin: each runs it at every prompt."""
    paths = {
        entry.path.as_posix()
        for scope in SCOPES
        for entry in list_entries(runtime, client, scope)
        if entry.part == HOOK and find_state(entry) in (PRESENT, OUTDATED)
    }
    plugin = find_own_plugin(runtime, client)
    return [*sorted(paths), *([f"the plugin {plugin}"] if plugin else [])]


def _state_of_text(entry: SettingsEntry, text: str) -> str:
    if entry.part == BLOCK:
        return PRESENT if marked_block.has_block(text, entry.path) else ABSENT
    return PRESENT if text == entry.content else OUTDATED


# Settings files as data.


def load_data(path: Path, text: str) -> tuple[JsonObject, bool]:
    """The values of a settings file, and whether it may be changed: not where it has comments in
    JSON. Raises InputError for a file that is broken.
    """
    text, is_editable = text.removeprefix(BYTE_ORDER_MARK), True
    try:
        if path.suffix == ".toml":
            return parse_toml(text), True
        try:
            data = parse_json(text)
        except ValueError:
            is_editable = False
            data = parse_json(blank_comments(text))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}:{error.colno}: {error.msg}", "repair it; it was left as it is"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: {error}", "repair it; it was left as it is") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a JSON object", "repair it; it was left as it is")
    return data, is_editable


def value_at(data: Any, path: ValuePath) -> Any:
    """The value at the path; None where there is none."""
    for key in path:
        try:
            data = data[key]
        except (LookupError, TypeError):
            return None
    return data


# What a file has of an entry, and whether that is up to date.


@frozen(kw_only=True)
class EntryLocation:
    """Where an entry stands: what `--undo` removes at `path`, and the command in `value` at
    `value_path`.
    """

    path: ValuePath
    value_path: ValuePath
    value: Any


def locate_entry(entry: SettingsEntry, data: JsonObject) -> EntryLocation | None:
    """Where the file has the entry, of whichever version; None where it does not."""
    container = value_at(data, entry.keys)
    if entry.part == HOOK:
        return next(_locate_hooks(entry, container), None)
    if entry.is_item:
        return next(_locate_items(entry, container), None)
    path: ValuePath = entry.keys if entry.has_own_keys else (*entry.keys, SERVER_NAME)
    value = value_at(data, path)
    is_found = value is not None if entry.has_own_keys else isinstance(value, dict)
    return EntryLocation(path=path, value_path=path, value=value) if is_found else None


def _locate_items(entry: SettingsEntry, items: object) -> Iterator[EntryLocation]:
    for position, item in enumerate(items if isinstance(items, list) else ()):
        if item == entry.content:
            path: ValuePath = (*entry.keys, position)
            yield EntryLocation(path=path, value_path=path, value=item)


def _locate_hooks(entry: SettingsEntry, groups: object) -> Iterator[EntryLocation]:
    for position, group in enumerate(groups if isinstance(groups, list) else ()):
        path: ValuePath = (*entry.keys, position)
        if not isinstance(group, dict):
            continue
        hooks = group.get("hooks")
        if not isinstance(hooks, list):
            if _runs_hook(entry.client, group):
                yield EntryLocation(path=path, value_path=path, value=group)
            continue
        for number, hook in enumerate(hooks):
            if isinstance(hook, dict) and _runs_hook(entry.client, hook):
                hook_path: ValuePath = (*path, "hooks", number)
                removed_path = path if len(hooks) == 1 else hook_path
                yield EntryLocation(path=removed_path, value_path=hook_path, value=hook)


def _line_key(hook: Mapping[str, Any]) -> str:
    return "bash" if "bash" in hook else "command"


def _runs_hook(client: str, hook: Mapping[str, Any]) -> bool:
    line = hook.get(_line_key(hook))
    return isinstance(line, str) and bool(
        re.search(rf"\bcapdisc(?:\.exe)?['\"]? hook {client}(?![\w-])", line)
    )


def update_value(entry: SettingsEntry, value: Any) -> JsonObject | str | None:
    """The value with the command of this capdisc, and with the options that somebody has added;
    None where it has that command.
    """
    if entry.has_own_keys or entry.is_item:
        return None if value == entry.content else entry.content
    assert isinstance(entry.content, dict)
    if entry.part == MCP:
        return _update_server(entry.content, value)
    hook, before = entry.content.get("hooks", [entry.content])[0], value
    expected, line = hook[_line_key(hook)], value[_line_key(value)]
    # What this version writes besides the command, and an earlier one did not.
    value = {key: hook[key] for key in _WINDOWS_KEYS & hook.keys()} | value
    if line == expected:
        return None if value == before else value
    match = re.fullmatch(
        rf"{_WORD}(?: -m capdisc)? hook {entry.client}((?: .*)?)", _drop_condition(line)
    )
    if match is None:  # somebody made more of the command
        return None
    command = _drop_condition(expected)
    updated = command + match[1]
    if command != expected:
        updated = line_if_installed(system.quote_word(system.split_words(command)[0]), updated)
    return {**value, _line_key(value): updated} if updated != line else None


def _drop_condition(line: str) -> str:
    """The line without what keeps it silent where its program is missing."""
    match = re.fullmatch(line_if_installed(_WORD, "(.*)").replace("||", r"\|\|"), line)
    return match[1] if match else line


def _update_server(content: JsonObject, value: JsonObject) -> JsonObject | None:
    expected, words = list_words(content), list_words(value)
    start = expected.index("mcp") + 1
    options: Sequence[str] = ()
    if words[:start] == expected[:start]:
        options = words[start:]
    elif runs_server(words) and "mcp" in words:
        options = words[words.index("mcp") + 1 :]
    command = [*expected[:start], *_merge_options(options, expected[start:])]
    # What this version writes besides the command, and an earlier one did not.
    updated = value | {key: content[key] for key in content if key not in value}
    if words == command:
        return None if updated == value else updated
    if not words:  # a remote server, or something else
        return content
    if isinstance(content["command"], list):
        return {**updated, "command": command}
    return {**updated, "command": command[0], "args": command[1:]}


def _add_options(content: JsonObject | str, options: Sequence[str]) -> JsonObject | str:
    """The entry of a server with more words behind its command."""
    if isinstance(content, str) or not options:
        return content
    key = "command" if isinstance(content["command"], list) else "args"
    return {**content, key: [*content[key], *options]}


def _merge_options(words: Sequence[str], added: Sequence[str]) -> list[str]:
    """The options of a command line with others added; a value takes the place of another one.

    >>> _merge_options(["--gateway", "--tools", "agent"], ["--tools", "all", "--allow-run"])
    ['--gateway', '--tools', 'all', '--allow-run']
    """
    merged = list(words)
    for index, name in enumerate(added):
        if not name.startswith("--"):
            continue
        value = [word for word in added[index + 1 : index + 2] if not word.startswith("--")]
        places = [place for place, word in enumerate(merged) if word.partition("=")[0] == name]
        if any(merged[place : place + 1 + len(value)] == [name, *value] for place in places):
            continue
        for place in reversed(places):
            del merged[place : place + (1 if "=" in merged[place] else 2)]
        merged += [name, *value]
    return merged


def list_words(server: Mapping[str, Any]) -> list[str]:
    """The command of a server with its arguments; [] for one without a command."""
    command, arguments = server.get("command"), server.get("args") or []
    words = command if isinstance(command, list) else [command, *arguments]
    return [str(word) for word in words] if command else []
