"""Whether a trial went as its case asks: the class, the code, the neighbour, and nothing of what must never be."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from capdisc_indexer.lazy_imports import load_token_counter
from hostile.commands import BUDGET
from hostile.make import neighbour
from hostile.streams import Said
from hostile.trial import Trial
from hostile.writing import ENV_CANARY, FILE_CANARY
from properties.frames import FRAMED, FrameError, frames

STATUSES = (0, 1, 2, 3)
# Controls but TAB and LF, direction marks that override, tag characters.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
# Bold, dim and the colours of letters; nothing that hides a text, moves the cursor or clears.
OWN_COLOURS = re.compile("\x1b\\[(?:[012]|3[0-79])(?:;(?:[012]|3[0-79]))*m")
_SUMMANDS, _USUAL_SECONDS = 2_000_000, 0.25
_FAILURES = ("Traceback (most recent call last)", "panicked at", "this is a bug")


def faults(trial: Trial) -> list[str]:
    """Everything that is not as it should be; empty when the case passes."""
    found = [*_class(trial), *_index(trial), *_limits(trial), *trial.touched]
    found += [fault for said in trial.said for fault in said_faults(trial, said)]
    found += [fault for check in trial.case.checks for fault in check(trial)]
    return list(dict.fromkeys(found))


def _class(trial: Trial) -> Iterator[str]:
    case, levels = trial.case, {one["severity"] for one in trial.own}
    codes = {one["code"] for one in trial.own}
    is_refused = case.kind in ("unfit", "rejected")
    if is_refused and "error" not in levels:
        yield "no error"
    if not is_refused and "error" in levels:
        yield f"an error: {_told(trial, 'error')}"
    if case.kind == "accepted" and "warning" in levels:
        yield f"a warning: {_told(trial, 'warning')}"
    if case.kind == "warned" and "warning" not in levels:
        yield "no warning"
    if case.codes and not codes & set(case.codes):
        yield f"none of {', '.join(case.codes)}; found: {', '.join(sorted(codes)) or 'nothing'}"


def _told(trial: Trial, level: str) -> str:
    return "; ".join(
        sorted(
            {f"{one['code']} ({one['message']})" for one in trial.own if one["severity"] == level}
        )
    )


def _index(trial: Trial) -> Iterator[str]:
    case, own = trial.case, trial.own_capabilities
    ids = {one["id"] for one in trial.capabilities}
    if neighbour(case) not in {one["name"] for one in trial.capabilities}:
        yield "the neighbour is not indexed"
    yield from (f"not indexed: {wanted}" for wanted in case.indexed if wanted not in ids)
    if case.kind == "rejected":
        yield from (f"indexed: {one['id']}" for one in own if one["id"] not in case.indexed)
    elif not case.indexed and not own:
        yield "nothing of the case is indexed"
    for one in own:
        below = one["path"].removeprefix(str(trial.root))
        yield from (
            f"indexed: {one['id']} of {below}" for word in case.absent if word in one["id"] + below
        )
    for canary in (FILE_CANARY, ENV_CANARY):
        if canary.encode() in trial.index_bytes:
            yield f"the index holds {canary}"


def _limits(trial: Trial) -> Iterator[str]:
    if trial.seconds > trial.case.seconds and trial.seconds > trial.case.seconds * _slowness():
        yield f"took {trial.seconds:.1f} s of processor time"
    if trial.mebibytes > trial.case.mebibytes:
        yield f"took {trial.mebibytes:.0f} MiB"


def _slowness() -> float:
    """How many times slower a sum is now than on the machine for which the limits were set, at least
    1: next to other work, a processor of two threads does the same in up to twice the time.
    """
    started = time.process_time()
    sum(number * number for number in range(_SUMMANDS))
    return max(1.0, (time.process_time() - started) / _USUAL_SECONDS)


def steering(said: Said) -> list[str]:
    """The characters of an output that steer or mislead, but for our own colours on a terminal."""
    everything = said.out + said.err
    return sorted(
        set(FORBIDDEN.findall(OWN_COLOURS.sub("", everything) if said.on_terminal else everything))
    )


def said_faults(trial: Trial, said: Said) -> Iterator[str]:
    """What one command should not have said."""
    case, everything, where = (
        trial.case,
        said.out + said.err,
        f"{said.label}{' on a terminal' * said.on_terminal}",
    )
    if said.status not in STATUSES:
        yield f"{where}: status {said.status}: {said.err[:200]}"
    yield from (f"{where}: says {word!r}" for word in _FAILURES if word in everything)
    yield from (f"{where}: says U+{ord(each):04X}" for each in steering(said))
    never = (FILE_CANARY, ENV_CANARY, *case.unsaid)
    never += case.untold if said.label.startswith(("validate", "index")) else ()
    never += case.unrendered if said.label.startswith("render") else ()
    yield from (f"{where}: says {word!r}" for word in never if word in everything)
    if said.label.startswith("render") and not said.on_terminal:
        yield from _prompt_faults(said)


def _prompt_faults(said: Said) -> Iterator[str]:
    if (tokens := load_token_counter()(said.out)) > BUDGET:
        yield f"{said.label}: {tokens} tokens"
    name = said.label.removeprefix("render ")
    if name in FRAMED and said.status == 0:
        try:
            frames(name, said.out)
        except FrameError as error:
            yield f"{said.label}: {error}"
