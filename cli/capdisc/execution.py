"""What `run` does with the capability that was found: says the call, leaves it to the caller, or makes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capdisc import consenting, output, runtime
from capdisc.exit_codes import ExitCode
from capdisc_indexer.frozen import frozen
from capdisc_indexer.running import covered, sending, shown
from capdisc_indexer.running.consent import approval_of, pending_reasons
from capdisc_indexer.running.execute import execute
from capdisc_indexer.running.masking import unmasked_secrets
from capdisc_indexer.running.prepare import checked, prepare, seconds
from capdisc_indexer.running.quoting import quoted
from capdisc_indexer.running.surroundings import check_usable
from capdisc_indexer.running.unattended import facts
from capdisc_indexer.running.values import Call, HttpCall, Limits, Outcome, Place, ToolCall
from capdisc_indexer.running.written_words import with_written_words
from capdisc_indexer.types import Descriptor

# Of what a tool said on stderr before it was ended.
_LAST_BYTES = 2_000


@frozen(kw_only=True)
class Wish:
    """The options as they were typed; without `seconds`, the manifest's limit of time."""

    seconds: float | None
    max_bytes: int
    dry_run: bool
    yes: bool
    json: bool


def fill(descriptor: Descriptor, given: Mapping[str, Any], as_json: bool) -> int:
    """Print the arguments with their defaults."""
    whole = checked(descriptor, given)
    if as_json:
        output.document({"id": descriptor.id, "arguments": whole})
    else:
        output.result(output.json_text(whole))
    return ExitCode.OK


def leave_to_caller(descriptor: Descriptor, given: Mapping[str, Any], api_url: str, as_json: bool) -> int:
    """Print the call for the caller to make."""
    call = shown.by_hand(descriptor, checked(descriptor, given), api_url)
    if as_json:
        output.document({"id": descriptor.id, "status": "not-run", "call": call})
    else:
        output.lines([call.get("line") or call.get("read") or json.dumps(call, ensure_ascii=False)])
    output.notice(f"error: {descriptor.id} does not say how it is run, so it was not")
    output.notice("hint: the call is yours to make, as it was printed")
    return ExitCode.BAD_INPUT


def run(here: runtime.Runtime, descriptor: Descriptor, given: Mapping[str, Any], place: Place, wish: Wish) -> int:
    """Make the call, or with `dry_run` print it. Its output and its exit status are passed on."""
    with shown.masked_errors():
        return _run(here, with_written_words(descriptor, place.roots), given, place, wish)


def _run(here: runtime.Runtime, descriptor: Descriptor, given: Mapping[str, Any], place: Place, wish: Wish) -> int:
    made = prepare(descriptor, given, place)
    if wish.dry_run:
        return _dry(here, descriptor, made, given, wish.json)
    check_usable(descriptor, here.environ)
    consenting.agree(here, descriptor, made, given, wish.yes)
    limits = Limits(seconds=seconds(descriptor, wish.seconds), max_bytes=wish.max_bytes)
    unmasked = unmasked_secrets(made.environment, here.environ)
    if wish.yes:  # who was asked was told
        consenting.note_unmasked(unmasked)
    outcome = execute(made, here.environ, limits)
    if wish.json:
        output.document({"id": descriptor.id, **facts(outcome, unmasked)})
    elif not outcome.truncated:
        output.passed_on(outcome.stdout, to_stderr=False, is_terminal=here.stdout_is_terminal)
        if outcome.status != "ok" or not isinstance(made, ToolCall):  # a server that did well only told its log
            output.passed_on(outcome.stderr, to_stderr=True, is_terminal=here.stderr_is_terminal)
    return _code(descriptor, outcome, limits)


def _dry(here: runtime.Runtime, descriptor: Descriptor, made: Call, given: Mapping[str, Any], as_json: bool) -> int:
    """Print the call. One that would be refused is an error all the same: LinkRefusedError."""
    asks = pending_reasons(here.state_dir(), descriptor, made, approval_of(descriptor, made, given))
    unmasked = unmasked_secrets(made.environment, here.environ)
    if as_json:
        names = covered.shown(descriptor, made)
        told = {"call": shown.document(made), "asks": list(asks), "covers": names, "unmasked": unmasked}
        output.document({"id": descriptor.id, **told})
    else:
        output.lines([shown.shell_line(made)])
        consenting.note_unmasked(unmasked)
    if isinstance(made, HttpCall):
        sending.check(made)
    elif not as_json:
        output.notice(f"note: it runs in {quoted(str(made.cwd))}")
        output.notice(consenting.holds_for(descriptor, made))
    return ExitCode.OK


def _code(descriptor: Descriptor, outcome: Outcome, limits: Limits) -> int:
    """The exit status; for what was ended at a limit, after saying so."""
    if not outcome.truncated:
        return outcome.exit_code
    if last := outcome.stderr[-_LAST_BYTES:].decode("utf-8", "replace").strip():
        output.notice(last)
    if outcome.status == "too-large":
        output.notice(f"error: {descriptor.id} printed more than {limits.max_bytes // 1024:,} KiB and was ended")
        output.notice("hint: ask it for less, or raise --max-output")
    else:
        output.notice(f"error: {descriptor.id} did not end within {limits.seconds:g} s and was ended")
        output.notice("hint: raise --timeout")
    return ExitCode.ENDED
