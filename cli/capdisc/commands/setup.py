"""capdisc setup: put the hook and the MCP server into a client's settings, and take them out."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.commands.approval_prompt import YES, read_answer
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.setup import settings_files
from capdisc.setup.client_settings import (
    CLIENTS,
    HOOK,
    MCP,
    PROJECT,
    SCOPES,
    base_folders,
    find_program,
    is_present,
    settings_path,
)
from capdisc.setup.file_changes import FileChange, plan_setup, plan_undo
from capdisc.setup.settings_entries import (
    ABSENT,
    BLOCK,
    PRESENT,
    SettingsEntry,
    find_state,
    find_states,
    list_entries,
    select_entries,
)
from capdisc_indexer.model.errors import ApprovalRequiredError, InputError, UsageError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.validation.masking import mask_keys

AGENTS_MD = "agents-md"
CLIENT_NAMES = (*CLIENTS, AGENTS_MD)
_PART_TITLES = {HOOK: "the hook", MCP: "the MCP server", BLOCK: "the block"}


def setup(
    client: Annotated[
        str | None, argument(metavar="[CLIENT]", help=f"{', '.join(CLIENT_NAMES)}.")
    ] = None,
    file: Annotated[
        Path | None,
        argument(metavar="[FILE]", help="With agents-md: the file with the block [AGENTS.md]."),
    ] = None,
    hook: Annotated[bool, option("--hook", help="The hook alone.")] = False,
    mcp: Annotated[bool, option("--mcp", help="The MCP server alone.")] = False,
    scope: Annotated[
        str | None,
        option(
            "--scope",
            help="user: for all your projects; project: for this one."
            "  [default: user; project for vscode]",
        ),
    ] = None,
    undo: Annotated[
        bool, option("--undo", help="Take out what setup put in, and nothing else.")
    ] = False,
    yes: Annotated[bool, option("--yes", "-y", help="Write without a question.")] = False,
    json: params.Json = False,
) -> int:
    """Put the hook and the MCP server of capdisc into the settings of a client.

    Shows the change of each file, and writes it once you say yes. --undo takes out what was put
    in: a file that nobody edited since is then what it was, byte for byte. A file with comments in
    its JSON is left alone, and what to paste is printed. Without a client: which ones are here,
    and what each has. Exit status 1: something is left to do by hand; 5: nobody said yes.

    Example: capdisc setup
    """
    runtime = surroundings.current_runtime()
    if client is None:
        if hook or mcp or scope or undo or yes:
            raise UsageError("name a client", "see which are here: capdisc setup")
        return _print_clients(runtime, json)
    if client not in CLIENT_NAMES:
        raise UsageError(f"there is no client {client!r}", f"one of: {', '.join(CLIENT_NAMES)}")
    if scope is not None and scope not in SCOPES:
        raise UsageError(f"unknown --scope {scope!r}", f"one of: {', '.join(SCOPES)}")
    if client == AGENTS_MD:
        if hook or mcp or scope:
            raise UsageError(f"{AGENTS_MD} has no hook, server or scope", "name a file instead")
        entries = [_agents_entry(runtime, file, undo)]
        selected = entries
    else:
        if file is not None:
            raise UsageError(f"{client} takes no file", f"leave out {file}")
        entries = list_entries(runtime, client, scope, both_scopes=undo)
        selected = select_entries(client, entries, hook, mcp)
    changes = _plan_undo(runtime, entries, selected) if undo else _plan_setup(runtime, selected)
    return _carry_out(runtime, client, changes, undo, yes, json)


def _agents_entry(runtime: surroundings.Runtime, file: Path | None, undo: bool) -> SettingsEntry:
    path = runtime.expand(file) if file else runtime.workspace / "AGENTS.md"
    content = "" if undo else _print_catalogue()
    return SettingsEntry(client=AGENTS_MD, part=BLOCK, path=path, content=content)


def _print_catalogue() -> str:
    """What `capdisc render --into FILE` writes: the overview and a line for each capability,
    within the budget.
    """
    from capdisc.commands.render import render

    with redirect_stdout(StringIO()) as printed:
        # A blank word: without any, render would read its query from stdin.
        render(words=[" "], on_empty="all")
    return printed.getvalue()


def _group_by_file(entries: Sequence[SettingsEntry]) -> dict[Path, list[SettingsEntry]]:
    groups: dict[Path, list[SettingsEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.path, []).append(entry)
    return groups


def _plan_setup(
    runtime: surroundings.Runtime, entries: Sequence[SettingsEntry]
) -> list[FileChange]:
    state_dir = runtime.user_state_dir()
    return [
        plan_setup(path, group, settings_files.load_memory(state_dir, path))
        for path, group in _group_by_file(entries).items()
    ]


def _plan_undo(
    runtime: surroundings.Runtime,
    entries: Sequence[SettingsEntry],
    selected: Sequence[SettingsEntry],
) -> list[FileChange]:
    """The changes that take out the selected entries of files into which setup put some."""
    changes, groups = [], _group_by_file(entries)
    for path, group in _group_by_file(selected).items():
        memory = settings_files.load_memory(runtime.user_state_dir(), path)
        if memory and any(entry.name in memory.entries for entry in group):
            kept_entries = [entry for entry in groups[path] if entry not in group]
            changes.append(plan_undo(path, group, kept_entries, memory))
    # The first file of setup goes last: it remembers the folders that were created for all.
    return changes[::-1]


# Showing, asking and writing.


def _carry_out(
    runtime: surroundings.Runtime,
    client: str,
    changes: Sequence[FileChange],
    undo: bool,
    yes: bool,
    json: bool,
) -> int:
    pending = [change for change in changes if change.is_change]
    for change in pending:
        settings_files.check_link(change.path, runtime.workspace, runtime.home)
        settings_files.check_writable(change.path)
    if not json:
        console.print_lines(_format_changes(client, changes, undo))
    is_agreed = bool(pending) and (yes or (not json and _is_agreed(runtime, pending)))
    if is_agreed or not pending:
        _write_changes(runtime, changes, undo)
    if json:
        documents = [_change_document(change, is_agreed) for change in changes]
        console.print_document({"client": client, "undo": undo, "files": documents})
    if pending and not is_agreed:
        raise _refusal(runtime, json)
    if is_agreed:
        _print_next_steps(runtime, client, pending, undo)
    if any(change.snippets for change in changes):
        console.print_notice(
            "notice: some of it is left for you to put in; its comments would be lost otherwise"
        )
        return ExitCode.FINDINGS
    return ExitCode.OK


def _is_agreed(runtime: surroundings.Runtime, pending: Sequence[FileChange]) -> bool:
    if not (runtime.stdin_is_terminal and runtime.stderr_is_terminal):
        return False
    question = "Write this file?" if len(pending) == 1 else f"Write these {len(pending)} files?"
    return read_answer(f"{question} [y/N]") in YES


def _refusal(runtime: surroundings.Runtime, json: bool) -> ApprovalRequiredError:
    if json or not (runtime.stdin_is_terminal and runtime.stderr_is_terminal):
        return ApprovalRequiredError(
            "nothing was written: nobody is there to say yes",
            "look at the change, then run it at a terminal or add --yes",
        )
    return ApprovalRequiredError("nothing was written", "--yes writes without a question")


def _write_changes(
    runtime: surroundings.Runtime, changes: Sequence[FileChange], undo: bool
) -> None:
    """Write all of them. Raises InputError where a file changed since it was read."""
    state_dir, workspace = runtime.user_state_dir(), runtime.workspace
    for change in changes:
        if change.is_change and settings_files.read_text(change.path) != change.before:
            raise InputError(
                f"{change.path} changed while you were asked", "run the command again"
            )
    for change in changes:
        if undo and not change.is_change:  # somebody has taken it out by hand
            settings_files.save_memory(state_dir, change.path, change.memory)
        if change.is_change:
            is_in_project = workspace != runtime.home and change.path.is_relative_to(workspace)
            settings_files.write_remembered(
                state_dir,
                change.path,
                change.after,
                change.memory,
                change.folders,
                is_private=not is_in_project,
            )


def _print_next_steps(
    runtime: surroundings.Runtime, client: str, pending: Sequence[FileChange], undo: bool
) -> None:
    for change in pending:
        verb = "removed" if change.after is None else "wrote"
        console.print_notice(f"notice: {verb} {printable_path(str(change.path))}")
    if undo or client not in CLIENTS:
        return
    folders = base_folders(runtime)
    project_paths = {
        settings_path(part, PROJECT, folders) for part in CLIENTS[client].parts.values()
    }
    is_project = any(change.path in project_paths for change in pending)
    program = find_program(runtime.environ)
    if is_project and len(program[0]) > len("capdisc"):
        console.print_notice(
            f"notice: the file names {program[0]}, a path of this machine; "
            "with capdisc in PATH it would name just that"
        )
    scope = PROJECT if is_project else "user"
    if step := CLIENTS[client].next_steps.get(scope):
        console.print_notice(f"notice: {step}")


def _format_changes(client: str, changes: Sequence[FileChange], undo: bool) -> Iterator[str]:
    if not any(change.is_change or change.snippets for change in changes):
        yield f"{client}: {_say_nothing_to_do(changes, undo)}"
    for change in changes:
        if change.is_change:
            yield from _format_diff(change)
        for snippet in change.snippets:
            path = printable_path(str(change.path))
            reason = "cannot be changed without harm to the rest"
            if change.path.suffix != ".toml":
                reason = "is JSON with comments, which are not touched"
            yield f"{path} {reason}. Put this in by hand, {snippet.place}:"
            yield from ("", *snippet.text.splitlines(), "")


def _part_names(change: FileChange) -> list[str]:
    return list(dict.fromkeys(entry.part for entry in change.entries))


def _say_nothing_to_do(changes: Sequence[FileChange], undo: bool) -> str:
    if undo:
        return "nothing to do: setup has put nothing in"
    places = (
        f"{printable_path(str(change.path))} has "
        + " and ".join(_PART_TITLES[part] for part in _part_names(change))
        for change in changes
    )
    return f"nothing to do: {', '.join(places)}"


def _format_diff(change: FileChange) -> Iterator[str]:
    """The lines of a unified diff, with keys of services masked."""
    path = printable_path(str(change.path))
    before, after = change.before or "", change.after or ""
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        path if change.before is not None else "/dev/null",
        path if change.after is not None else "/dev/null",
        lineterm="",
    )
    yield from (mask_keys(line) for line in lines)


def _change_document(change: FileChange, is_agreed: bool) -> JsonObject:
    return {
        "path": str(change.path),
        "parts": _part_names(change),
        "diff": list(_format_diff(change)) if change.is_change else [],
        "by_hand": [{"place": snippet.place, "text": snippet.text} for snippet in change.snippets],
        "written": change.is_change and is_agreed,
    }


# The list of clients.


def _print_clients(runtime: surroundings.Runtime, json: bool) -> int:
    folders = base_folders(runtime)
    rows, documents = [], []
    for name, client in CLIENTS.items():
        states = find_states(runtime, name)
        is_here = is_present(client, runtime, folders)
        command = _setup_command(name, states) if is_here else ""
        cells = [_format_states(states.get(part)) for part in (HOOK, MCP)]
        rows.append([name, "yes" if is_here else "no", *cells, command])
        documents.append(
            {
                "client": name,
                "title": client.title,
                "here": is_here,
                **{part: states.get(part) for part in (HOOK, MCP)},
                "command": command or None,
            }
        )
    agents_path = runtime.workspace / "AGENTS.md"
    state = find_state(SettingsEntry(client=AGENTS_MD, part=BLOCK, path=agents_path, content=""))
    if json:
        block = {"path": str(agents_path), "block": state}
        console.print_document({"clients": documents, "agents_md": block})
        return ExitCode.OK
    table = console.format_table(["client", "here", "hook", "MCP server", "to set it up"], rows)
    console.print_lines(
        [
            *table,
            "",
            f"AGENTS.md has the block: {state}",
            *(["to put it in: capdisc setup agents-md"] if state == ABSENT else []),
        ]
    )
    return ExitCode.OK


def _format_states(states: dict[str, str] | None) -> str:
    if states is None:
        return "-"
    shown = [f"{state} ({scope})" for scope, state in states.items() if state != ABSENT]
    return ", ".join(shown) or ABSENT


def _setup_command(client: str, states: dict[str, dict[str, str]]) -> str:
    """The command that sets up what the client does not have; "" where it has everything."""
    missing = [part for part, by_scope in states.items() if PRESENT not in by_scope.values()]
    if not missing:
        return ""
    option_names = f" --{missing[0]}" if len(missing) < len(states) else ""
    return f"capdisc setup {client}{option_names}"
