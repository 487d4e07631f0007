"""capdisc trust: show and allow what a workspace's file, an index from elsewhere, a changed
definition or a tool of an MCP server may do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.commands import trust_grants
from capdisc.context import surroundings
from capdisc.context.surroundings import is_workspace
from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, has_person, read_answer
from capdisc_indexer.config.configuration import WORKSPACE_FILES
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.platforms import resolve_path
from capdisc_indexer.plugins import registry
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.store import definition_memory
from capdisc_indexer.store.definition_memory import Pending

# The changes of definitions that are held back, and what a person accepts of them.

_NEXT = "the next capdisc index picks it up"


def approve_definitions(runtime: surroundings.Runtime, pattern: str, yes: bool, json: bool) -> int:
    """Print the change of the held-back definition with this id, or of all whose ids fit the
    pattern (`tool:server.*`), and accept those that somebody says yes to.

    Raises UsageError where none is held back, ApprovalRequiredError where nobody says yes.
    """
    memory = Path(runtime.definition_guard().memory)
    changes = definition_memory.waiting(memory)
    chosen = [change for change in changes if change.id == pattern] or [
        change for change in changes if fnmatchcase(change.id, pattern)
    ]
    if not chosen:
        names = console.format_names([change.id for change in changes])
        hint = f"these wait: {names}" if changes else "capdisc index says what is held back"
        raise UsageError(f"no changed definition of {pattern} waits", hint)
    if json:
        if yes:
            _accept_changes(memory, chosen)
        documents = [_change_document(change, is_accepted=yes) for change in chosen]
        console.print_document({"definitions": documents})
        return ExitCode.OK
    for change in chosen:
        console.print_lines(_format_change(change))
        if not yes:
            _require_yes(runtime, change)
        _accept_changes(memory, [change])
        console.print_notice(f"notice: accepted {change.id}; {_NEXT}")
    return ExitCode.OK


def _accept_changes(memory: Path, changes: Sequence[Pending]) -> None:
    """Accept all of them. Raises ApprovalRequiredError where one changed after it was printed."""
    with definition_memory.changing(memory) as opened:
        for change in changes:
            if not opened.approve(change):
                message = f"{change.id} changed again during the review; nothing was accepted"
                raise ApprovalRequiredError(message, "review it again")


def _require_yes(runtime: surroundings.Runtime, change: Pending) -> None:
    """Ask at the terminal. Raises ApprovalRequiredError for another answer than yes."""
    if not has_person(runtime):
        message = f"{change.id} was not accepted: nobody is there to say yes"
        raise ApprovalRequiredError(
            message, "review the change, then run it at a terminal or add --yes"
        )
    if read_answer("Accept this definition? [y/N]") not in YES:
        raise ApprovalRequiredError(f"{change.id} was not accepted", "it stays held back")


def _format_change(change: Pending) -> list[str]:
    since = f", accepted on {change.accepted}" if change.accepted else ""
    return [
        f"{change.id} of {printable_path(change.path)}{since}",
        f"held back since {change.seen}:",
        *(f"  {reason}" for reason in change.reasons),
        "",
        *_format_difference(change),
    ]


def _format_difference(change: Pending) -> Sequence[str]:
    if change.before:
        # Imported here, since most uses of this command show no change.
        from difflib import unified_diff

        lines = list(unified_diff(change.before, change.now, n=1, lineterm=""))
        return [line for line in lines[2:] if not line.startswith("@@")]  # without its two heads
    heading = "what it said before is not kept; now it says"
    return [heading, *(f"+{line}" for line in change.now)]


def _change_document(change: Pending, is_accepted: bool) -> dict[str, object]:
    return {
        "id": change.id,
        "path": printable_path(change.path),
        "held_since": change.seen,
        "accepted_before": change.accepted or None,
        "reasons": change.reasons,
        "before": change.before or None,
        "now": change.now,
        "accepted": is_accepted,
    }


# An id such as `skill:merge-pdfs` or `table:chinook.tracks`; what exists as a path is a path.
_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_WHAT = "name a workspace, its configuration file, a link, or an index folder"


def trust(
    target: Annotated[
        str | None,
        argument(
            metavar="[PATH|ID]",
            help="A workspace, its configuration file, a link, or an index folder [here].",
        ),
    ] = None,
    yes: Annotated[bool, option("--yes", "-y", help="Allow it without a question.")] = False,
    listing: Annotated[bool, option("--list", help="List what is trusted.")] = False,
    revoke: Annotated[bool, option(help="Revoke the trust.")] = False,
    json: params.Json = False,
) -> int:
    """Show what a workspace's settings ask for outside its own folder, and approve it.

    Until you do, capdisc ignores what a cloned folder says about paths, links, an index or a model
    elsewhere, databases, servers, and rules that guard the reader. Approval holds for the file as
    it is now: a changed file must be approved again. TARGET may also be a symbolic link that a
    scan should follow, an index folder to use as your own, or the id of an MCP server's tool
    (tool:SERVER.TOOL or tool:SERVER.*) that agents may call through `capdisc mcp --gateway`.
    Exit status 5: nobody said yes.

    Example: capdisc trust --list
    """
    runtime = surroundings.current_runtime()
    if listing:
        if target is not None or revoke or yes:
            raise UsageError("--list goes with --json alone", "see: capdisc trust --help")
        return trust_grants.list_trusted(runtime, json)
    path = runtime.expand(Path(target)) if target else runtime.cwd
    if revoke:
        if yes:
            raise UsageError("--revoke needs no --yes", "leave it out")
        if target and _CAPABILITY_ID.fullmatch(target) and not os.path.lexists(path):
            return int(registry.load_service("server-tools").revoke_tools(runtime, target, json))
        return trust_grants.revoke(runtime, path, json)
    if target is not None and not os.path.lexists(path):
        return _trust_definition(runtime, target, yes, json)
    return _trust_path(runtime, path, target, yes, json)


def _trust_path(
    runtime: surroundings.Runtime, path: Path, target: str | None, yes: bool, json: bool
) -> int:
    """Trust the link, index or workspace at this path; without a `target`, the workspace."""
    if target is not None and _is_trusted_as_link(runtime, path):
        return trust_grants.trust_link(_runtime_at(runtime, path.parent), path, yes, json)
    if target is not None and _is_index(path):
        return trust_grants.adopt_index(runtime, path, yes, json)
    if not path.is_dir() and path.name not in {Path(name).name for name in WORKSPACE_FILES}:
        raise UsageError(f"{target} cannot be trusted", _WHAT)
    return trust_grants.trust_workspace(_runtime_at(runtime, path), yes, json)


def _is_index(path: Path) -> bool:
    """Whether the folder is an index and no workspace: a clone can have files of any name."""
    has_generations = (path / "CURRENT").is_file() and (path / "gens").is_dir()
    return has_generations and not is_workspace(path.as_posix())


def _is_trusted_as_link(runtime: surroundings.Runtime, path: Path) -> bool:
    """Whether the path is a link that a scan may follow, not a name of a workspace or index."""
    if not path.is_symlink():
        return False
    if not (is_workspace(path.as_posix()) or _is_index(path)):
        return True
    from capdisc.context.index_scope import find_scan_requests

    there = _runtime_at(runtime, path.parent)
    real_path = (Path(resolve_path(path.parent)) / path.name).as_posix()
    return any(request.value == real_path for request in find_scan_requests(there, there.config()))


def _runtime_at(runtime: surroundings.Runtime, path: Path) -> surroundings.Runtime:
    """The runtime of a command that runs in the workspace of this path."""
    workspace = trust_grants.workspace_at(runtime, path)
    return runtime if workspace == runtime.workspace else replace(runtime, cwd=workspace)


def _trust_definition(
    runtime: surroundings.Runtime, identifier: str, yes: bool, json: bool
) -> int:
    """Accept the changed definition of the capability with this id, or of those whose ids fit this
    pattern; where none is held back, approve the tools of MCP servers with this id or pattern.
    Raises UsageError where there is neither.
    """
    if not _CAPABILITY_ID.fullmatch(identifier):
        raise UsageError(f"there is no {identifier}", _WHAT)
    is_held = any(
        identifier == change.id or fnmatchcase(change.id, identifier)
        for change in definition_memory.waiting(Path(runtime.definition_guard().memory))
    )
    server_tools = registry.find_service("server-tools")
    if not is_held and server_tools and (tools := server_tools.find_tools(runtime, identifier)):
        return int(server_tools.approve_tools(runtime, tools, yes, json))
    return approve_definitions(runtime, identifier, yes, json)
