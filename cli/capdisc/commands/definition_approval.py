"""Show how a definition that is held back changed, and accept it where a person says so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from capdisc.commands.run import forget_typed
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.exit_codes import ExitCode
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.store import definition_memory
from capdisc_indexer.store.definition_memory import Pending
from capdisc_indexer.validation.changes.comparison import difference

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
