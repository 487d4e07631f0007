"""What setup would change in the files of a client, and what `--undo` would.

Changes are texts before and after; nothing is written here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from capdisc.setup import json_text, marked_block, settings_files
from capdisc.setup.client_settings import HOOK, MCP, SERVER_NAME
from capdisc.setup.json_text import UneditableError, ValuePath
from capdisc.setup.settings_entries import (
    BLOCK,
    BYTE_ORDER_MARK,
    MOVED,
    SKILLS,
    SettingsEntry,
    load_data,
    locate_entry,
    update_value,
    value_at,
)
from capdisc.setup.settings_files import PlacedEntry, SetupRecord
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import JsonObject


@frozen(kw_only=True)
class Snippet:
    """A text that a person has to put into a file, at a place of it."""

    place: str
    text: str


@frozen(kw_only=True)
class FileChange:
    """What happens to a file: its text before and after (None: there is no file), and the record
    of it to save (None: none).

    With `snippets` the file is not changed, since it is written in a way that setup cannot change
    without harm, and these have to be put in by hand. `folders` are those that setup created for a
    file that is removed.
    """

    path: Path
    entries: Sequence[SettingsEntry]
    before: str | None
    after: str | None
    record: SetupRecord | None
    snippets: Sequence[Snippet] = ()
    folders: Sequence[str] = ()

    @property
    def is_change(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def plan_setup(
    path: Path, entries: Sequence[SettingsEntry], record: SetupRecord | None
) -> FileChange:
    """The change that puts the entries into the file. Raises InputError for a file that is broken,
    or that has something else in their place.
    """
    before = settings_files.read_text(path)
    text = before or ""
    unchanged = FileChange(path=path, entries=entries, before=before, after=before, record=record)
    is_unedited = record is not None and record.fits(before)
    splices = list(record.splices) if record and is_unedited else []
    placed = dict(record.entries) if record and before is not None else {}
    try:
        for entry in entries:
            changed, placement = _put_entry(entry, text)
            if placement is not None:
                splices.append(settings_files.compare_texts(text, changed, entry.name))
                # The record of an entry that somebody removed, or put back, is void.
                if placement.before is None or entry.part == MOVED:
                    placed.pop(entry.name, None)
                placed.setdefault(entry.name, placement)
                text = changed
    except UneditableError:
        return replace(unchanged, snippets=_write_snippets(entries, path, before or ""))
    if text == (before or ""):
        return unchanged
    changed_record = SetupRecord(
        existed=record.existed if record and before is not None else before is not None,
        folders=record.folders if record else (),
        sha256=settings_files.digest_text(text),
        splices=tuple(splices),
        entries=placed,
    )
    return replace(unchanged, after=text, record=changed_record)


def plan_undo(
    path: Path,
    entries: Sequence[SettingsEntry],
    kept_entries: Sequence[SettingsEntry],
    record: SetupRecord,
) -> FileChange:
    """The change that takes the entries out of the file, and leaves the others of `kept_entries`
    that setup had put in. The file is what it was before where nobody edited it since. Raises
    InputError where it cannot be changed.
    """
    before = settings_files.read_text(path)
    removal = FileChange(
        path=path,
        entries=entries,
        before=before,
        after=None,
        record=None,
        folders=record.folders,
    )
    if before is None:
        return removal
    text = before
    if record.fits(before):
        text = settings_files.revert_splices(before, record.splices)
    remaining = dict(record.entries)
    by_name = {entry.name: entry for entry in entries}
    try:
        # The entry that was put in first made the objects around the others, and goes last.
        for name in reversed(record.entries):
            if entry := by_name.get(name):
                text = _remove_entry(entry, text, remaining.pop(name))
        splices = []
        for kept_entry in kept_entries:
            if kept_entry.name in remaining:
                # What stood there before the first of the clients that share a server.
                names = {entry.name for entry in entries if _is_shared(entry, kept_entry)}
                names.add(kept_entry.name)
                first = next(name for name in record.entries if name in names)
                remaining[kept_entry.name] = record.entries[first]
            standing = _as_it_stands(kept_entry, before) if kept_entry.name in remaining else None
            if standing:
                changed, _ = _put_entry(standing, text)
                splices.append(settings_files.compare_texts(text, changed, kept_entry.name))
                text = changed
    except UneditableError as error:
        raise InputError(
            f"{path} was edited, and is written now in a way that setup cannot change",
            f"take out by hand: {', '.join(entry.label or SERVER_NAME for entry in entries)}",
        ) from error
    is_removed = not record.existed and not remaining and _is_empty(text, entries[0])
    if is_removed:
        return removal
    digest = settings_files.digest_text(text)
    changed_record = replace(
        record, sha256=digest, splices=tuple(splices), entries=remaining, previous=None
    )
    return replace(removal, after=text, record=changed_record if remaining else None)


def _is_shared(entry: SettingsEntry, other: SettingsEntry) -> bool:
    """Whether both are the server in one place, as Claude Code and Copilot CLI read it."""
    return entry.part == other.part == MCP and entry.keys == other.keys


def _as_it_stands(entry: SettingsEntry, text: str) -> SettingsEntry | None:
    """The entry as the text has it, since somebody may have changed a server, or what a client
    lists of a skill; None for what somebody has taken out.
    """
    if entry.part in (HOOK, MOVED) or (isinstance(entry.content, str) and not entry.keys):
        return entry
    location = locate_entry(entry, load_data(entry.path, text)[0])
    if location is None:
        return entry if entry.part == MCP else None
    return replace(entry, content=location.value)


def _is_empty(text: str, entry: SettingsEntry) -> bool:
    """Whether a file that setup created has nothing in it that somebody else wrote."""
    if not text.strip():
        return True
    return isinstance(entry.content, dict) and load_data(entry.path, text)[0] in (
        {},
        entry.template,
    )


def _put_entry(entry: SettingsEntry, text: str) -> tuple[str, PlacedEntry | None]:
    """The text with the entry, and what stood in its place; None where the text has it already."""
    if isinstance(entry.content, str) and not entry.keys:
        if entry.part == BLOCK:
            changed = marked_block.put_block(text, entry.content, entry.path)
            has_block = marked_block.has_block(text, entry.path)
            placement = PlacedEntry(before=BLOCK if has_block else None, depth=0)
        else:
            changed, placement = entry.content, PlacedEntry(before=text or None, depth=0)
        return changed, None if changed == text else placement
    bom, body = (BYTE_ORDER_MARK, text[1:]) if text.startswith(BYTE_ORDER_MARK) else ("", text)
    if not body.strip() and entry.path.suffix != ".toml":
        body = json.dumps(entry.template, indent=2) + "\n"
    data, is_editable = load_data(entry.path, body)
    location, editor = locate_entry(entry, data), _editor(entry.path)
    if entry.part == MOVED:
        if location is None:
            return text, None
        if not is_editable:
            raise UneditableError
        changed = editor.remove_value(body, location.path)
        return bom + changed, PlacedEntry(before=location.value, depth=len(entry.keys))
    if location is not None:
        value = update_value(entry, location.value)
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


def _remove_entry(entry: SettingsEntry, text: str, placement: PlacedEntry) -> str:
    """The text without the entry, or with what stood in its place before."""
    if entry.part == BLOCK:
        return text if placement.before else marked_block.remove_block(text, entry.path)
    if isinstance(entry.content, str) and not entry.keys:
        if text and text != placement.before:
            raise InputError(
                f"{entry.path} was edited since setup wrote it",
                f"remove it yourself: rm {entry.path}",
            )
        return text
    bom, body = (BYTE_ORDER_MARK, text[1:]) if text.startswith(BYTE_ORDER_MARK) else ("", text)
    return bom + _remove_value(entry, body, placement) if body.strip() else text


def _remove_value(entry: SettingsEntry, body: str, placement: PlacedEntry) -> str:
    """The text of a settings file without the value of the entry, or with the one of before."""
    data, is_editable = load_data(entry.path, body)
    location, editor = locate_entry(entry, data), _editor(entry.path)
    value = location.value if location else None
    is_chosen_since = entry.part == SKILLS and value != entry.content
    is_put_back = entry.part == MOVED and value is not None
    if value == placement.before or is_chosen_since or is_put_back:
        return body
    if not is_editable:
        raise UneditableError
    if location is None:
        is_restored = entry.part == MOVED
        return (
            str(editor.insert_value(body, entry.keys, placement.before)) if is_restored else body
        )
    if placement.before is not None:
        return str(editor.replace_value(body, location.value_path, placement.before))
    shortened = str(editor.remove_value(body, location.path))
    for length in range(len(location.path) - 1, placement.depth, -1):
        if value_at(load_data(entry.path, shortened)[0], location.path[:length]) in ({}, []):
            shortened = str(editor.remove_value(shortened, location.path[:length]))
    return shortened


# Settings files as data.


def _editor(path: Path) -> ModuleType:
    """The module that changes texts of the file's format."""
    if path.suffix != ".toml":
        return json_text
    from capdisc.setup import toml_text

    return toml_text


def _insertion_path(entry: SettingsEntry, data: JsonObject) -> tuple[ValuePath, int]:
    """Where the entry is inserted, and how many keys of that path are there. Raises InputError
    where something else stands on the way.
    """
    depth = 0
    value: Any = data
    for key in entry.keys[:-1] if entry.has_own_keys else entry.keys:
        if key not in value:
            break
        value, depth = value[key], depth + 1
        is_list = (entry.part == HOOK or entry.is_item) and depth == len(entry.keys)
        if not isinstance(value, list if is_list else dict):
            name, kind = ".".join(entry.keys[:depth]), "array" if is_list else "object"
            raise InputError(
                f"{entry.path}: {name} is not an {kind}", "repair it; the file was left as it is"
            )
    if entry.part == MCP:
        return (*entry.keys, SERVER_NAME), depth
    if entry.has_own_keys:
        return entry.keys, depth
    count = len(value) if depth == len(entry.keys) else 0
    return (*entry.keys, count), depth


# What a person has to put into a file that setup does not change.


def _write_snippets(entries: Sequence[SettingsEntry], path: Path, text: str) -> list[Snippet]:
    """What is missing in the file, one snippet for each place, so that no key stands twice."""
    data, _ = load_data(path, text)
    snippets: list[Snippet] = []
    missing: dict[ValuePath, Any] = {}
    toml_text = ""
    for entry in entries:
        if (location := locate_entry(entry, data)) is not None:
            if value := update_value(entry, location.value):
                place = f"in place of {'.'.join(map(str, location.value_path))}"
                snippets.append(Snippet(place=place, text=_format_json(value)))
            continue
        value_path, depth = _insertion_path(entry, data)
        if path.suffix == ".toml":
            value_path, _ = _insertion_path(entry, load_data(path, toml_text)[0])
            toml_text = _editor(path).insert_value(toml_text, value_path, entry.content)
        else:
            _add_missing(missing, value_path, depth, entry.content)
    if toml_text:
        snippets.append(Snippet(place="at the end", text=toml_text))
    for place_path, members in missing.items():
        place = f"into {'.'.join(map(str, place_path)) or 'the outer braces'}"
        snippets.append(Snippet(place=place, text=_format_members(members)))
    return snippets


def _add_missing(
    missing: dict[ValuePath, Any], path: ValuePath, depth: int, content: JsonObject | str
) -> None:
    """Add the value at the path to what its first `depth` keys, an object or a list, lack."""
    keys = path[depth:]
    node = missing.setdefault(path[:depth], [] if isinstance(keys[0], int) else {})
    for key, following in pairwise(keys):
        node = node.setdefault(key, [] if isinstance(following, int) else {})
    if isinstance(node, list):
        node.append(content)
    else:
        node[keys[-1]] = content


def _format_members(members: JsonObject | list[Any]) -> str:
    if isinstance(members, list):
        return ",\n".join(_format_json(item) for item in members)
    return ",\n".join(f"{json.dumps(key)}: {_format_json(item)}" for key, item in members.items())


def _format_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
