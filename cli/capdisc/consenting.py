"""A yes before a capability is run: from whoever sits at the terminal, or by an option."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from capdisc import output, runtime
from capdisc_indexer.errors import RefusedError
from capdisc_indexer.running import consent, covered, shown
from capdisc_indexer.running.masking import LEAST_MASKED, unmasked_secrets
from capdisc_indexer.running.quoting import quoted
from capdisc_indexer.running.values import Call, HttpCall
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

# Of one word; --dry-run prints it whole.
_MAX_SHOWN = 2_000
_MOST_FILES = 10


def agree(here: runtime.Runtime, descriptor: Descriptor, call: Call, given: Mapping[str, Any], yes: bool) -> None:
    """Returns when the call may be made. Raises RefusedError otherwise.

    A yes at the terminal is remembered for what is run with these arguments, or with any; one by option never.
    """
    if yes:
        return
    state_dir, approval = here.state_dir(), consent.approval_of(descriptor, call, given)
    why = consent.pending_reasons(state_dir, descriptor, call, approval)
    if not why:
        return
    if not (here.stdin_is_terminal and here.stderr_is_terminal):
        what = f"{descriptor.id} was not run: {'; '.join(why)}"
        raise RefusedError(what, "look at the call with --dry-run, then run it at a terminal or add --yes")
    unmasked = unmasked_secrets(call.environment, here.environ)
    answer = _ask(descriptor, call, why, unmasked, bool(approval.any_arguments))
    if answer == "any" and approval.any_arguments:
        consent.approve(state_dir, approval.any_arguments, descriptor.id, approval.definition)
    elif answer in ("y", "yes"):
        consent.approve(state_dir, approval.exact, descriptor.id, approval.definition)
    else:
        raise RefusedError(f"{descriptor.id} was not run", "--dry-run prints the call without making it")


def holds_for(descriptor: Descriptor, call: Call) -> str:
    """The note on the files by whose bytes a yes holds."""
    names = [quoted(path) for path in covered.shown(descriptor, call)]
    more = f" and {len(names) - _MOST_FILES:,} more" if len(names) > _MOST_FILES else ""
    if not names:
        return "note: it names no file whose bytes a yes would hold for"
    listed = ", ".join(names[:_MOST_FILES])
    return f"note: a yes holds for the bytes of {listed}{more}; what is loaded in turn is not looked at"


def note_unmasked(names: Sequence[str]) -> None:
    """Say which secrets are not taken out of what is printed."""
    if names:
        listed = ", ".join(names)
        output.notice(f"note: too short to be taken out of what is printed (under {LEAST_MASKED} characters): {listed}")


def _ask(descriptor: Descriptor, call: Call, why: Sequence[str], unmasked: Sequence[str], offers_any: bool) -> str:
    """The answer of whoever sits at the terminal, in small letters."""
    line, source = shown.shell_line(call, _MAX_SHOWN), quoted(descriptor.source.path)
    output.notice(f"{one_line(descriptor.id)}, from {source}:\n\n  {line}\n")
    if not isinstance(call, HttpCall):
        output.notice(f"in {quoted(str(call.cwd))}")
        output.notice(holds_for(descriptor, call))
    if call.environment:
        output.notice(f"with the secrets {', '.join(call.environment)}")
        note_unmasked(unmasked)
    for reason in why:
        output.notice(f"note: {reason}")
    if offers_any:
        output.notice("note: y says yes to these arguments, whoever asks; numbers and choices may differ")
        output.notice("note: any says yes to every argument from now on, also where an agent runs it")
    output.notice(f"Run it? [y/N{'/any' if offers_any else ''}]")
    forget_typed()
    return sys.stdin.readline().strip().lower()


def forget_typed() -> None:
    """What was typed before the question was there is no answer to it."""
    import termios

    with suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
