"""A yes before a capability is run: from whoever sits at the terminal, or by an option."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from capdisc import output, runtime
from capdisc_indexer.errors import RefusedError
from capdisc_indexer.running import consent, covered, shown
from capdisc_indexer.running.quoting import quoted
from capdisc_indexer.running.values import Call, HttpCall
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

# Of one word; --dry-run prints it whole.
_MAX_SHOWN = 2_000
_MOST_FILES = 10


def agree(here: runtime.Runtime, descriptor: Descriptor, call: Call, yes: bool) -> None:
    """Returns when the call may be made. Raises RefusedError otherwise.

    A yes at the terminal is remembered for what is run, not for its arguments; one by option never.
    """
    if yes:
        return
    state_dir, print_of = here.state_dir(), consent.fingerprint(descriptor, call)
    why = consent.reasons(descriptor, call, consent.is_approved(state_dir, print_of))
    if not why:
        return
    if not (here.stdin_is_terminal and here.stderr_is_terminal):
        what = f"{descriptor.id} was not run: {'; '.join(why)}"
        raise RefusedError(what, "look at the call with --dry-run, then run it at a terminal or add --yes")
    if not _said_yes(descriptor, call, why):
        raise RefusedError(f"{descriptor.id} was not run", "--dry-run prints the call without making it")
    consent.approve(state_dir, print_of, descriptor.id)


def holds_for(descriptor: Descriptor, call: Call) -> str:
    """The note on the files by whose bytes a yes holds."""
    names = [quoted(path) for path in covered.shown(descriptor, call)]
    more = f" and {len(names) - _MOST_FILES:,} more" if len(names) > _MOST_FILES else ""
    if not names:
        return "note: it names no file whose bytes a yes would hold for"
    listed = ", ".join(names[:_MOST_FILES])
    return f"note: a yes holds for the bytes of {listed}{more}; what is loaded in turn is not looked at"


def _said_yes(descriptor: Descriptor, call: Call, why: Sequence[str]) -> bool:
    line, source = shown.shell_line(call, _MAX_SHOWN), quoted(descriptor.source.path)
    output.notice(f"{one_line(descriptor.id)}, from {source}:\n\n  {line}\n")
    if not isinstance(call, HttpCall):
        output.notice(f"in {quoted(str(call.cwd))}")
        output.notice(holds_for(descriptor, call))
    if call.environment:
        output.notice(f"with the secrets {', '.join(call.environment)}")
    for reason in why:
        output.notice(f"note: {reason}")
    output.notice("Run it? [y/N]")
    forget_typed()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def forget_typed() -> None:
    """What was typed before the question was there is no answer to it."""
    import termios

    with suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
