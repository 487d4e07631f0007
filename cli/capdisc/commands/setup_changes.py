"""Shows what `capdisc setup` is about to do, asks for a yes, and does it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import capdisc_guard
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, has_person, read_answer
from capdisc.setup import settings_files
from capdisc.setup.client_settings import (
    CLIENTS,
    HOOK,
    MCP,
    PROJECT,
    base_folders,
    find_program,
    settings_path,
)
from capdisc.setup.file_changes import FileChange
from capdisc.setup.settings_entries import BEHIND, BLOCK, MOVED, SKILLS
from capdisc_indexer.model.errors import ApprovalRequiredError, InputError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.plugins import registry
from capdisc_indexer.sources.scan.scanned_files import printable_path

if TYPE_CHECKING:
    from capdisc_run.setup_gateway import GatewayPlan

PART_TITLES = {
    HOOK: "the hook",
    MCP: "the MCP server",
    BLOCK: "the block",
    SKILLS: "the states of these skills",
    BEHIND: "the servers behind the gateway",
    MOVED: "no server that moved behind the gateway",
}
_BY_HAND = "add these lines yourself: rewriting the file would drop its comments"


@frozen(kw_only=True)
class SetupRequest:
    """For which clients something is put in, or taken out (`undo`), and who is told how. `absent`
    are those that seem not to be installed, `left_out` says what else is not done, and why.
    `facts` are more fields of the document of --json.
    """

    clients: Sequence[str]
    undo: bool
    yes: bool
    json: bool
    absent: Sequence[str] = ()
    left_out: Sequence[str] = ()
    facts: JsonObject = field(default_factory=dict)


def carry_out(
    runtime: surroundings.Runtime,
    request: SetupRequest,
    changes: Sequence[FileChange],
    plan: GatewayPlan | None,
) -> int:
    """Show the changes, ask, write, and say what follows; the exit status. Raises
    ApprovalRequiredError where nobody says yes.
    """
    pending = [change for change in changes if change.is_change]
    for change in pending:
        settings_files.check_link(change.path, runtime.workspace, runtime.home)
        settings_files.check_writable(change.path)
    is_asked = not (request.json or request.yes) and has_person(runtime)
    new_folders = list(dict.fromkeys(_find_new_folders(pending)))
    if not request.json:
        console.print_lines(_format_changes(request, changes, plan))
    if plan:
        plan = _show_plan(runtime, request, plan, is_asked)
    question = _ask_for(pending, plan)
    is_agreed = bool(question) and (request.yes or (is_asked and read_answer(question) in YES))
    if is_agreed or not question:
        write_changes(runtime, changes, request.undo)
        if plan:
            registry.load_service("gateway-setup").carry_out(runtime, plan)
    if request.json:
        console.print_document(_result_document(runtime, request, changes, plan, is_agreed))
    if question and not is_agreed:
        raise describe_refusal(runtime, request.json)
    for folder in new_folders:
        console.print_notice(f"notice: created the folder {printable_path(folder)}")
    _print_next_steps(runtime, request, pending, plan)
    has_snippets = any(change.snippets for change in changes)
    for reason in [*([_BY_HAND] if has_snippets else []), *request.left_out]:
        console.print_notice(f"notice: {reason}")
    return ExitCode.FINDINGS if has_snippets or request.left_out else ExitCode.OK


def _show_plan(
    runtime: surroundings.Runtime, request: SetupRequest, plan: GatewayPlan, is_asked: bool
) -> GatewayPlan:
    """Print the servers of the gateway; the plan with the tools that a person then names."""
    setup_gateway = registry.load_service("gateway-setup")
    if not request.json:
        console.print_lines(setup_gateway.format_plan(runtime, plan))
    return setup_gateway.choose_tools(plan) if is_asked and not plan.is_chosen else plan


def _ask_for(pending: Sequence[FileChange], plan: GatewayPlan | None) -> str:
    """The question whether to do all that; "" where there is nothing to do."""
    parts = []
    verb = "change" if any(change.after is None for change in pending) else "write"
    if pending:
        parts.append(
            f"{verb} this file" if len(pending) == 1 else f"{verb} these {len(pending)} files"
        )
    if plan and plan.question:
        parts.append(plan.question)
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}? [y/N]" if text else ""


def _find_new_folders(pending: Sequence[FileChange]) -> Iterator[str]:
    """The first folder of each file that writing it creates."""
    for change in pending:
        folders = (change.path.parent, *change.path.parent.parents)
        missing = [folder for folder in folders if not folder.exists()]
        if missing and change.after is not None:
            yield str(missing[-1])


def describe_refusal(
    runtime: surroundings.Runtime, json: bool, participle: str = "written"
) -> ApprovalRequiredError:
    """The error where nobody said yes: nobody was there, or somebody said no."""
    if json or not has_person(runtime):
        return ApprovalRequiredError(
            f"nothing was {participle}: there is no terminal to ask on",
            "check the change, then run it at a terminal or add --yes",
        )
    return ApprovalRequiredError(f"nothing was {participle}, as you said", "")


def write_changes(
    runtime: surroundings.Runtime, changes: Sequence[FileChange], undo: bool
) -> None:
    """Write all of them. Raises InputError where a file changed since it was read."""
    state_dir, workspace = runtime.user_state_dir(), runtime.workspace
    # What undo finds as it was before was taken out by hand, or by a process that was killed.
    due = [change for change in changes if undo or change.is_change]
    if not due:
        return
    with settings_files.lock_records(state_dir):
        for change in due:
            if settings_files.read_text(change.path) != change.before:
                raise InputError(
                    f"{change.path} changed while you were asked", "run the command again"
                )
        for change in due:
            is_in_project = workspace != runtime.home and change.path.is_relative_to(workspace)
            settings_files.write_with_record(
                state_dir,
                change.path,
                change.after,
                change.record,
                change.folders,
                is_private=not is_in_project,
            )


def _print_next_steps(
    runtime: surroundings.Runtime,
    request: SetupRequest,
    pending: Sequence[FileChange],
    plan: GatewayPlan | None,
) -> None:
    for change in pending:
        verb = "removed" if change.after is None else "wrote"
        console.print_notice(f"notice: {verb} {_format_path(change)}")
    if request.undo:
        return
    for client in request.clients:
        changed = [
            change for change in pending if any(entry.client == client for entry in change.entries)
        ]
        if client in CLIENTS and changed:
            _print_next_steps_of(runtime, client, changed, client in request.absent)
    if plan:
        registry.load_service("gateway-setup").print_next_steps(plan)


def _print_next_steps_of(
    runtime: surroundings.Runtime, client: str, changed: Sequence[FileChange], is_absent: bool
) -> None:
    title, folders = CLIENTS[client].title, base_folders(runtime)
    if is_absent:
        console.print_notice(
            f"notice: {title} was not found here; it reads the file once it is installed"
        )
    project_paths = {
        settings_path(part, PROJECT, folders)
        for part in CLIENTS[client].parts.values()
        if part.files[PROJECT]
    }
    is_project = any(change.path in project_paths for change in changed)
    program = find_program(runtime.environ)
    if is_project and len(program[0]) > len("capdisc"):
        console.print_notice(
            f"notice: the file names {program[0]}, a path of this machine; "
            "with capdisc in PATH it would name just that"
        )
    scope = PROJECT if is_project else "user"
    if step := CLIENTS[client].next_steps.get(scope):
        console.print_notice(f"notice: {step}")


def _format_changes(
    request: SetupRequest, changes: Sequence[FileChange], plan: GatewayPlan | None
) -> Iterator[str]:
    """The changes as diffs, and what is left to a person; a line where there is no change."""
    if not any(change.is_change or change.snippets for change in changes):
        names = f"{', '.join(request.clients)}: " if request.clients else ""
        if request.undo and not (plan and plan.question):
            shared = [_format_path(change) for change in changes if change.record]
            reason = "setup has put nothing in"
            if shared:
                reason = f"another client reads the same entry of {', '.join(shared)}"
            yield f"{names}nothing to do: {reason}"
        elif changes and not request.undo:
            is_all = not (plan and (plan.question or plan.waiting))
            verb = "nothing to do: " if is_all else ""
            yield f"{names}{verb}{_describe_present(changes)}"
    for change in changes:
        if change.is_change:
            yield from _format_diff(change)
        for snippet in change.snippets:
            path = _format_path(change)
            reason = "cannot be changed without harm to the rest"
            if change.path.suffix != ".toml":
                reason = "is JSON with comments, which are not touched"
            yield f"{path} {reason}. Put this in by hand, {snippet.place}:"
            yield from ("", *snippet.text.splitlines(), "")


def part_names(change: FileChange) -> list[str]:
    """The parts that the change is about."""
    return list(dict.fromkeys(entry.part for entry in change.entries))


def _describe_present(changes: Sequence[FileChange]) -> str:
    """Which files have what setup would put in."""
    places = (
        f"{_format_path(change)} has "
        + " and ".join(PART_TITLES[part] for part in part_names(change))
        for change in changes
    )
    return ", ".join(places)


def _format_path(change: FileChange) -> str:
    return printable_path(change.path.as_posix())


def _format_diff(change: FileChange) -> Iterator[str]:
    """The lines of a unified diff, with keys of services masked."""
    path = _format_path(change)
    before, after = change.before or "", change.after or ""
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        path if change.before is not None else "/dev/null",
        path if change.after is not None else "/dev/null",
        lineterm="",
    )
    yield from (capdisc_guard.mask_keys(line) for line in lines)


def _result_document(
    runtime: surroundings.Runtime,
    request: SetupRequest,
    changes: Sequence[FileChange],
    plan: GatewayPlan | None,
    is_agreed: bool,
) -> JsonObject:
    document: JsonObject = {
        "client": request.clients[0] if len(request.clients) == 1 else None,
        "clients": request.clients,
        "undo": request.undo,
        "files": [_change_document(change, is_agreed) for change in changes],
        "left_out": "; ".join(request.left_out) or None,
        **request.facts,
    }
    if plan:
        document["gateway"] = {
            **registry.load_service("gateway-setup").plan_document(runtime, plan),
            "approved": bool(plan.question) and is_agreed,
        }
    return document


def _change_document(change: FileChange, is_agreed: bool) -> JsonObject:
    return {
        "path": change.path.as_posix(),
        "parts": part_names(change),
        "diff": list(_format_diff(change)) if change.is_change else [],
        "by_hand": [{"place": snippet.place, "text": snippet.text} for snippet in change.snippets],
        "written": change.is_change and is_agreed,
    }
