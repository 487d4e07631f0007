"""Which changes take out what setup put into the files of some clients, or of all."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.context import surroundings
from capdisc.setup import recorded_entries, settings_files
from capdisc.setup.client_settings import HOOK, MCP
from capdisc.setup.file_changes import FileChange, plan_undo
from capdisc.setup.settings_entries import BEHIND, BLOCK, MOVED, SKILLS, SettingsEntry
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace

_PARTS = (HOOK, MCP, BLOCK, SKILLS, BEHIND, MOVED)


def plan_undo_of_clients(
    runtime: surroundings.Runtime,
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
        recorded = recorded_entries.list_recorded("", path, record, (SKILLS, BEHIND, MOVED))
        group = [entry for entry in selected if entry.path == path]
        moves = [entry for entry in recorded if has_server and entry.client in clients]
        if path.exists():
            returning |= {entry.keys[-1] for entry in moves if entry.part == MOVED}
        group += [entry for entry in moves if entry.part != SKILLS and entry.keys[-1] in returning]
        # With a previous one, an undo may have been killed at its end.
        if record.previous or any(entry.name in record.entries for entry in group):
            # Claude Code and Copilot CLI read one file of a project.
            others = recorded_entries.list_recorded("", path, record, (HOOK, MCP))
            here = [entry for entry in entries if entry.path == path]
            here += [entry for entry in others if entry.client not in clients]
            kept_entries = [entry for entry in (*here, *recorded) if entry not in group]
            changes.append(plan_undo(path, group, kept_entries, record))
    # The first file of setup goes last: it remembers the folders that were created for all.
    return changes[::-1]


def plan_undo_of_all(
    runtime: surroundings.Runtime,
) -> tuple[list[FileChange], list[InputError]]:
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
            recorded = recorded_entries.list_recorded("", path, record, _PARTS)
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
    path: object, record: settings_files.SetupRecord, group: Sequence[SettingsEntry]
) -> InputError:
    names = record.entries.keys() - {entry.name for entry in group}
    return InputError(f"{path} keeps {', '.join(sorted(names))}", "take it out by hand")
