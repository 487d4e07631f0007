"""Running capabilities where nobody can be asked: for `execute_tool`, on behalf of an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer.errors import RefusedError
from capdisc_indexer.running import consent, shown
from capdisc_indexer.running.execute import execute
from capdisc_indexer.running.masking import unmasked_secrets
from capdisc_indexer.running.prepare import prepare, seconds
from capdisc_indexer.running.quoting import quoted
from capdisc_indexer.running.surroundings import check_usable
from capdisc_indexer.running.values import Limits, Outcome, Place
from capdisc_indexer.running.written_words import with_written_words
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

# Of arguments in a hint, characters.
_LONGEST_SHOWN = 400


def answer(
    descriptor: Descriptor,
    arguments: Mapping[str, Any],
    place: Place,
    state_dir: Path,
    yes: bool,
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """What the capability printed, as JSON; for one that does not say how it is run, the call to make.

    Raises RefusedError for what nobody has said yes to at a terminal, and for all that has to be asked each time,
    unless `yes`; else as `prepare` and `execute`.
    """
    if not descriptor.run:
        return {"executed": False, "tool": descriptor.id, "call": shown.by_hand(descriptor, arguments)}
    with shown.masked_errors():
        return _run(with_written_words(descriptor, place.roots), arguments, place, (state_dir, yes), stopped)


def _run(
    descriptor: Descriptor,
    arguments: Mapping[str, Any],
    place: Place,
    leave: tuple[Path, bool],
    stopped: Callable[[], bool],
) -> dict[str, Any]:
    state_dir, yes = leave
    call = prepare(descriptor, arguments, place)
    check_usable(descriptor, place.environ)
    approval = consent.approval_of(descriptor, call, arguments)
    why = consent.pending_reasons(state_dir, descriptor, call, approval)
    if why and not yes:
        what = f"{one_line(descriptor.id)} was not run: {'; '.join(why)}"
        raise RefusedError(what, f"let the user do it: {_command_line(descriptor, arguments)}{_more(approval)}")
    limits = Limits(seconds=seconds(descriptor, None), stopped=stopped)
    unmasked = unmasked_secrets(call.environment, place.environ)
    return {"executed": True, "tool": descriptor.id, **facts(execute(call, place.environ, limits), unmasked)}


def _command_line(descriptor: Descriptor, arguments: Mapping[str, Any]) -> str:
    """What the user types to be asked; arguments too long for a line are left out."""
    line = f"capdisc run {one_line(descriptor.id)}"
    given = quoted(json.dumps(dict(arguments), ensure_ascii=False)) if arguments else ""
    return f"{line} {given}" if given and len(given) <= _LONGEST_SHOWN else line


def _more(approval: consent.Approval) -> str:
    return '; the answer "any" there lets you run it with other arguments, too' if approval.any_arguments else ""


def facts(outcome: Outcome, unmasked: Sequence[str] = ()) -> dict[str, Any]:
    """The outcome as JSON; bytes that are not UTF-8 are replaced. `unmasked` names the secrets too short to be taken
    out of it, if any."""
    return {
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": outcome.stderr.decode("utf-8", "replace"),
        "truncated": outcome.truncated,
        "seconds": round(outcome.seconds, 3),
        **outcome.more,
        **({"unmasked": list(unmasked)} if unmasked else {}),
    }
