"""What setup would change in the files of a client, and what `--undo` would: texts before and after.

Nothing is written here. An entry is one thing that setup puts into a file: a value at a place of a
JSON or TOML file, a file of its own, or the block between the marks of a text file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from capdisc.setup import json_text, marked_block, settings_files
from capdisc.setup.client_settings import HOOK, MCP, SERVER_NAME
from capdisc.setup.json_text import UneditableError, ValuePath
from capdisc.setup.settings_files import Memory, PlacedEntry
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject

PRESENT, ABSENT, OUTDATED, UNREADABLE = "yes", "no", "other version", "unreadable"
BLOCK = "block"
_BOM = "\ufeff"


@frozen(kw_only=True)
class Entry:
    """One thing that setup puts into a file.

    `part` is hook, mcp or block. `content` is the value of a settings file, or the text of a block
    or of a file of its own. `keys` lead to the list of hooks or the table of servers. `template`
    is the content of a file that setup creates.
    """

    client: str
    part: str
    path: Path
    content: JsonObject | str
    keys: tuple[str, ...] = ()
    template: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the entry in what is remembered of its file: `claude hook SessionStart`."""
        return " ".join((self.client, self.part, *self.keys[1:]))


@frozen(kw_only=True)
class Snippet:
    """A text that a person has to put into a file, at a place of it."""

    place: str
    text: str


@frozen(kw_only=True)
class FileChange:
    """What happens to a file: its text before and after (None: there is no file), and what is to be
    remembered of it then (None: nothing).

    With `snippets` the file is not changed, since it is written in a way that setup cannot change
    without harm, and these have to be put in by hand. `folders` are those that setup created for a
    file that is removed.
    """

    path: Path
    entries: Sequence[Entry]
    before: str | None
    after: str | None
    memory: Memory | None
    snippets: Sequence[Snippet] = ()
    folders: Sequence[str] = ()

    @property
    def is_change(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def plan_setup(path: Path, entries: Sequence[Entry], memory: Memory | None) -> FileChange:
    """The change that puts the entries into the file. Raises InputError for a file that is broken,
    or that has something else in their place.
    """
    before = settings_files.read_text(path)
    text = before or ""
    is_unedited = memory is not None and _is_unedited(memory, before)
    splices = list(memory.splices) if memory and is_unedited else []
    placed = dict(memory.entries) if memory and before is not None else {}
    try:
        for entry in entries:
            changed, placement = _put_entry(entry, text)
            if placement is not None:
                splices.append(settings_files.compare_texts(text, changed, entry.name))
                placed.setdefault(entry.name, placement)
                text = changed
    except UneditableError:
        snippets = tuple(_write_snippet(entry, before or "") for entry in entries)
        return FileChange(
            path=path,
            entries=entries,
            before=before,
            after=before,
            memory=memory,
            snippets=tuple(snippet for snippet in snippets if snippet),
        )
    is_changed = text != (before or "")
    changed_memory = Memory(
        existed=memory.existed if memory and before is not None else before is not None,
        folders=memory.folders if memory else (),
        sha256=settings_files.digest_text(text),
        splices=tuple(splices),
        entries=placed,
    )
    return FileChange(
        path=path,
        entries=entries,
        before=before,
        after=text if is_changed else before,
        memory=changed_memory if is_changed else memory,
    )


def plan_undo(
    path: Path, entries: Sequence[Entry], kept_entries: Sequence[Entry], memory: Memory
) -> FileChange:
    """The change that takes the entries out of the file, and leaves the others of `kept_entries`
    that setup had put in. The file is what it was before where nobody edited it since. Raises
    InputError where it cannot be changed.
    """
    before = settings_files.read_text(path)
    if before is None:
        return FileChange(path=path, entries=entries, before=None, after=None, memory=None)
    text = before
    if _is_unedited(memory, before):
        text = settings_files.revert_splices(before, memory.splices)
    remaining = dict(memory.entries)
    by_name = {entry.name: entry for entry in entries}
    try:
        # The entry that was put in first made the objects around the others, and goes last.
        for name in reversed(memory.entries):
            if entry := by_name.get(name):
                text = _take_out(entry, text, remaining.pop(name))
        splices = []
        for kept_entry in kept_entries:
            if kept_entry.name in remaining:
                changed, _ = _put_entry(kept_entry, text)
                splices.append(settings_files.compare_texts(text, changed, kept_entry.name))
                text = changed
    except UneditableError as error:
        raise InputError(
            f"{path} was edited, and is written now in a way that setup cannot change",
            f"take out the entry {SERVER_NAME} by hand",
        ) from error
    is_removed = not memory.existed and not remaining and _is_empty(text, entries[0])
    return FileChange(
        path=path,
        entries=entries,
        before=before,
        after=None if is_removed else text,
        memory=Memory(
            existed=memory.existed,
            folders=memory.folders,
            sha256=settings_files.digest_text(text),
            splices=tuple(splices),
            entries=remaining,
        )
        if remaining
        else None,
        folders=memory.folders,
    )


def find_state(entry: Entry) -> str:
    """Whether the file has the entry: yes, no, other version, or unreadable."""
    try:
        text = settings_files.read_text(entry.path)
        if text is None:
            return ABSENT
        if isinstance(entry.content, str):
            return _state_of_text(entry, text)
        location = _locate_entry(entry, _load_data(entry.path, text)[0])
    except InputError:
        return UNREADABLE
    if location is None:
        return ABSENT
    return PRESENT if _update_value(entry, location.value) is None else OUTDATED


def _state_of_text(entry: Entry, text: str) -> str:
    if entry.part == BLOCK:
        return PRESENT if marked_block.has_block(text, entry.path) else ABSENT
    return PRESENT if text == entry.content else OUTDATED


def _is_unedited(memory: Memory, text: str | None) -> bool:
    return text is not None and settings_files.digest_text(text) == memory.sha256


def _is_empty(text: str, entry: Entry) -> bool:
    """Whether a file that setup created has nothing in it that somebody else wrote."""
    if not text.strip():
        return True
    return isinstance(entry.content, dict) and _load_data(entry.path, text)[0] in (
        {},
        entry.template,
    )


def _put_entry(entry: Entry, text: str) -> tuple[str, PlacedEntry | None]:
    """The text with the entry, and what stood in its place; None where the text has it already."""
    if isinstance(entry.content, str):
        if entry.part == BLOCK:
            changed = marked_block.put_block(text, entry.content, entry.path)
            has_block = marked_block.has_block(text, entry.path)
            placement = PlacedEntry(before=BLOCK if has_block else None, depth=0)
        else:
            changed, placement = entry.content, PlacedEntry(before=text or None, depth=0)
        return changed, None if changed == text else placement
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if not body.strip() and entry.path.suffix != ".toml":
        body = json.dumps(entry.template, indent=2) + "\n"
    data, is_editable = _load_data(entry.path, body)
    location, editor = _locate_entry(entry, data), _editor(entry.path)
    if location is not None:
        value = _update_value(entry, location.value)
        if value is None:
            return text, None
        if not is_editable:
            raise UneditableError
        changed = editor.replace_value(body, location.value_path, value)
        return bom + changed, PlacedEntry(before=location.value, depth=len(entry.keys) + 1)
    if not is_editable:
        raise UneditableError
    path, depth = _insertion_path(entry, data)
    return bom + editor.insert_value(body, path, entry.content), PlacedEntry(
        before=None, depth=depth
    )


def _take_out(entry: Entry, text: str, placement: PlacedEntry) -> str:
    """The text without the entry, or with what stood in its place before."""
    if entry.part == BLOCK:
        return text if placement.before else marked_block.remove_block(text, entry.path)
    if isinstance(entry.content, str):
        if text and text != placement.before:
            raise InputError(
                f"{entry.path} was edited since setup wrote it",
                f"remove it yourself: rm {entry.path}",
            )
        return text
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if not body.strip():
        return text
    data, is_editable = _load_data(entry.path, body)
    location, editor = _locate_entry(entry, data), _editor(entry.path)
    if location is None or location.value == placement.before:
        return text
    if not is_editable:
        raise UneditableError
    if placement.before is not None:
        restored: str = editor.replace_value(body, location.value_path, placement.before)
        return bom + restored
    shortened: str = editor.remove_value(body, location.path)
    for length in range(len(location.path) - 1, placement.depth, -1):
        if _value_at(_load_data(entry.path, shortened)[0], location.path[:length]) in ({}, []):
            shortened = editor.remove_value(shortened, location.path[:length])
    return bom + shortened


# Settings files as data.


def _editor(path: Path) -> ModuleType:
    """The module that changes texts of the file's format."""
    if path.suffix != ".toml":
        return json_text
    from capdisc.setup import toml_text

    return toml_text


def _load_data(path: Path, text: str) -> tuple[JsonObject, bool]:
    """The values of a settings file, and whether it may be changed: not where it has comments in
    JSON. Raises InputError for a file that is broken.
    """
    text, is_editable = text.removeprefix(_BOM), True
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text), True
        try:
            data = json.loads(text)
        except json.JSONDecodeError:
            is_editable = False
            data = json.loads(json_text.blank_comments(text))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}:{error.colno}: {error.msg}", "repair it; it was left as it is"
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}", "repair it; it was left as it is") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} is no JSON object", "repair it; it was left as it is")
    return data, is_editable


def _value_at(data: Any, path: ValuePath) -> Any:
    """The value at the path; None where there is none."""
    for key in path:
        try:
            data = data[key]
        except (LookupError, TypeError):
            return None
    return data


def _insertion_path(entry: Entry, data: JsonObject) -> tuple[ValuePath, int]:
    """Where the entry is inserted, and how many keys of that path are there. Raises InputError
    where something else stands on the way.
    """
    depth = 0
    value: Any = data
    for key in entry.keys:
        if key not in value:
            break
        value, depth = value[key], depth + 1
        is_list = entry.part == HOOK and depth == len(entry.keys)
        if not isinstance(value, list if is_list else dict):
            name, kind = ".".join(entry.keys[:depth]), "array" if is_list else "object"
            raise InputError(
                f"{entry.path}: {name} is no {kind}", "repair it; the file was left as it is"
            )
    if entry.part == MCP:
        return (*entry.keys, SERVER_NAME), depth
    count = len(value) if depth == len(entry.keys) else 0
    return (*entry.keys, count), depth


# What a file has of an entry, and whether that is up to date.


@frozen(kw_only=True)
class _Location:
    """Where an entry stands: what `--undo` removes at `path`, and the command in `value` at
    `value_path`.
    """

    path: ValuePath
    value_path: ValuePath
    value: JsonObject


def _locate_entry(entry: Entry, data: JsonObject) -> _Location | None:
    container = _value_at(data, entry.keys)
    if entry.part == HOOK:
        return next(_locate_hooks(entry, container), None)
    path = (*entry.keys, SERVER_NAME)
    value = _value_at(data, path)
    return _Location(path=path, value_path=path, value=value) if isinstance(value, dict) else None


def _locate_hooks(entry: Entry, groups: object) -> Iterator[_Location]:
    for position, group in enumerate(groups if isinstance(groups, list) else ()):
        path: ValuePath = (*entry.keys, position)
        if not isinstance(group, dict):
            continue
        hooks = group.get("hooks")
        if not isinstance(hooks, list):
            if _runs_hook(entry.client, group):
                yield _Location(path=path, value_path=path, value=group)
            continue
        for number, hook in enumerate(hooks):
            if isinstance(hook, dict) and _runs_hook(entry.client, hook):
                hook_path: ValuePath = (*path, "hooks", number)
                removed_path = path if len(hooks) == 1 else hook_path
                yield _Location(path=removed_path, value_path=hook_path, value=hook)


def _line_key(hook: Mapping[str, Any]) -> str:
    return "bash" if "bash" in hook else "command"


def _runs_hook(client: str, hook: Mapping[str, Any]) -> bool:
    line = hook.get(_line_key(hook))
    return isinstance(line, str) and bool(
        re.search(rf"\bcapdisc['\"]? hook {client}(?![\w-])", line)
    )


def _update_value(entry: Entry, value: JsonObject) -> JsonObject | None:
    """The value with the command of this capdisc, and with the options that somebody has added;
    None where it has that command.
    """
    assert isinstance(entry.content, dict)
    if entry.part == MCP:
        return _update_server(entry.content, value)
    hook = entry.content["hooks"][0] if "hooks" in entry.content else entry.content
    expected, line = hook[_line_key(hook)], value[_line_key(value)]
    if line == expected or line.startswith(f"{expected} "):
        return None
    word = r"(?:'[^']*'|\"[^\"]*\"|[^\s;|&'\"])+"
    match = re.fullmatch(rf"{word}(?: -m capdisc)? hook {entry.client}((?: .*)?)", line)
    # A line in which somebody made more of the command is left alone.
    return {**value, _line_key(value): expected + match[1]} if match else None


def _update_server(content: JsonObject, value: JsonObject) -> JsonObject | None:
    expected, words = _server_words(content), _server_words(value)
    if words[: len(expected)] == expected:
        return None
    is_ours = any(Path(word).name == "capdisc" for word in words) and "mcp" in words
    options = words[words.index("mcp") + 1 :] if is_ours else []
    if not words:  # a remote server, or something else
        return content
    if isinstance(content["command"], list):
        return {**value, "command": [*expected, *options]}
    return {**value, "command": expected[0], "args": [*expected[1:], *options]}


def _server_words(server: Mapping[str, Any]) -> list[str]:
    """The command of a server with its arguments; [] for one without a command."""
    command, arguments = server.get("command"), server.get("args") or []
    words = command if isinstance(command, list) else [command, *arguments]
    return [str(word) for word in words] if command else []


def _write_snippet(entry: Entry, text: str) -> Snippet | None:
    """What a person has to put in by hand; None where the file has it."""
    data, _ = _load_data(entry.path, text)
    if (location := _locate_entry(entry, data)) is not None:
        value = _update_value(entry, location.value)
        if value is None:
            return None
        place = f"in place of {'.'.join(map(str, location.value_path))}"
        return Snippet(place=place, text=json.dumps(value, indent=2, ensure_ascii=False))
    if entry.path.suffix == ".toml":
        final_key = 0 if entry.part == HOOK else SERVER_NAME
        inserted = _editor(entry.path).insert_value("", (*entry.keys, final_key), entry.content)
        return Snippet(place="at the end", text=inserted)
    path, depth = _insertion_path(entry, data)
    content: Any = entry.content
    for key in reversed(path[depth + 1 :]):
        content = {key: content} if isinstance(key, str) else [content]
    member = json.dumps(content, indent=2, ensure_ascii=False)
    if isinstance(path[depth], str):
        member = f"{json.dumps(path[depth])}: {member}"
    return Snippet(place=f"into {'.'.join(entry.keys[:depth]) or 'the outer braces'}", text=member)
