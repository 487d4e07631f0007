"""capdisc trust: what a workspace's file, an index from elsewhere or a changed definition may do
here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.commands import trust_grants
from capdisc.commands.run import forget_typed
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.config.configuration import MARKS, WORKSPACE_FILES
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.store import definition_memory
from capdisc_indexer.store.definition_memory import Pending
from capdisc_indexer.validation.changes.comparison import difference

# Show how a definition that is held back changed, and accept it where a person says so.

_NEXT = "the next capdisc index takes it in"


def approve_definitions(here: surroundings.Runtime, wanted: str, yes: bool, json: bool) -> int:
    """Print the change of each held-back definition with this id, or whose id fits this pattern
    (`tool:server.*`), and accept those that somebody says yes to.

    Raises UsageError where none waits, RefusedError where nobody is there to say yes.
    """
    memory = Path(here.definition_guard().memory)
    every = definition_memory.waiting(memory)
    waiting = [each for each in every if each.id == wanted] or [
        each for each in every if fnmatchcase(each.id, wanted)
    ]
    if not waiting:
        names = console.format_names([each.id for each in every])
        hint = f"these wait: {names}" if every else "capdisc index says what is held back"
        raise UsageError(f"no changed definition of {wanted} waits", hint)
    if json:
        accepted = waiting if yes else []
        _accept(memory, accepted)
        console.print_document(
            {"definitions": [_described(each, bool(accepted)) for each in waiting]}
        )
        return ExitCode.OK
    for pending in waiting:
        console.print_lines(_shown(pending))
        if not yes:
            _ask(here, pending)
        _accept(memory, [pending])
        console.print_notice(f"notice: accepted {pending.id}; {_NEXT}")
    return ExitCode.OK


def _accept(memory: Path, waiting: Sequence[Pending]) -> None:
    """Raises RefusedError where a definition changed again since it was shown; none is accepted
    then.
    """
    if not waiting:
        return
    with definition_memory.changing(memory) as opened:
        for pending in waiting:
            if not opened.approve(pending):
                message = f"{pending.id} changed again while it was looked at; nothing was accepted"
                raise ApprovalRequiredError(message, "look at it once more")


def _ask(here: surroundings.Runtime, pending: Pending) -> None:
    if not (here.stdin_is_terminal and here.stderr_is_terminal):
        message = f"{pending.id} was not accepted: nobody is there to say yes"
        raise ApprovalRequiredError(
            message, "look at the change, then run it at a terminal or add --yes"
        )
    console.print_notice("Accept this definition? [y/N]")
    forget_typed()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ApprovalRequiredError(f"{pending.id} was not accepted", "it stays held back")


def _shown(pending: Pending) -> list[str]:
    since = f", accepted on {pending.accepted}" if pending.accepted else ""
    lines = [
        f"{pending.id} of {printable_path(pending.path)}{since}",
        f"held back since {pending.seen}:",
    ]
    lines += [f"  {reason}" for reason in pending.reasons]
    return [*lines, "", *_difference(pending)]


def _difference(pending: Pending) -> Sequence[str]:
    if not pending.before:
        return [
            "what it said before is not kept; now it says",
            *(f"+{line}" for line in pending.now),
        ]
    return difference(pending.before, pending.now)


def _described(pending: Pending, is_accepted: bool) -> dict[str, object]:
    return {
        "id": pending.id,
        "path": printable_path(pending.path),
        "held_since": pending.seen,
        "accepted_before": pending.accepted or None,
        "reasons": pending.reasons,
        "before": pending.before or None,
        "now": pending.now,
        "accepted": is_accepted,
    }


# `skill:merge-pdfs`, `table:chinook.tracks`; a path that exists is taken for a path.
_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_WHAT = "name a workspace, its configuration file, or an index folder"


def trust(
    target: Annotated[
        str | None,
        argument(
            metavar="[PATH|ID]",
            help="A workspace, its configuration file, or an index folder [here].",
        ),
    ] = None,
    yes: Annotated[bool, option("--yes", "-y", help="Allow it without being asked.")] = False,
    listing: Annotated[bool, option("--list", help="List what is trusted.")] = False,
    revoke: Annotated[bool, option("--revoke", help="Take the trust back.")] = False,
    json: params.Json = False,
) -> int:
    """Show what a workspace asks for beyond its own folder, line by line, and allow it.

    A cloned folder's configuration may choose what lies inside it. Paths, links, an index or a
    model elsewhere, databases, servers, and silencing rules that guard the reader wait for this.
    It holds for the file as it is now: a changed file asks again. Of an index folder: shows whose
    it is, and believes it as your own. Exit status 5: nobody said yes.

    Example: capdisc trust --list
    """
    here = surroundings.current_runtime()
    if listing:
        if target is not None or revoke or yes:
            raise UsageError("--list goes with --json alone", "see: capdisc trust --help")
        return trust_grants.list_trusted(here, json)
    path = here.expand(Path(target)) if target else here.cwd
    if revoke:
        if yes:
            raise UsageError("--revoke needs no --yes", "leave it out")
        return trust_grants.revoke(here, path, json)
    if target is not None and not os.path.lexists(path):
        return _trust_definition(here, target, yes, json)
    if target is not None and _is_index(path):
        return trust_grants.adopt_index(here, path, yes, json)
    if not path.is_dir() and path.name not in {Path(name).name for name in WORKSPACE_FILES}:
        raise UsageError(f"{target} is nothing that is trusted", _WHAT)
    return trust_grants.trust_workspace(_standing_in(here, path), yes, json)


def _is_index(path: Path) -> bool:
    """Whether the folder is an index and no workspace: a clone can have a file of any name."""
    is_workspace = any((path / mark).exists() for mark in MARKS)
    return (path / "CURRENT").is_file() and (path / "gens").is_dir() and not is_workspace


def _standing_in(here: surroundings.Runtime, path: Path) -> surroundings.Runtime:
    """The surroundings as they are for somebody who stands in the workspace of this path."""
    workspace = trust_grants.workspace_at(here, path)
    return here if workspace == here.workspace else replace(here, cwd=workspace)


def _trust_definition(here: surroundings.Runtime, identifier: str, yes: bool, json: bool) -> int:
    """Accept the changed definition of the capability with this id, or of those whose ids fit this
    pattern. Raises UsageError where none is held back.
    """
    if not _CAPABILITY_ID.fullmatch(identifier):
        raise UsageError(f"there is no {identifier}", _WHAT)

    return approve_definitions(here, identifier, yes, json)
