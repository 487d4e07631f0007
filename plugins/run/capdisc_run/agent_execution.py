"""Running a capability on behalf of an agent, where nobody can be asked: for `execute_tool`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.shell_quoting import quote_word
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals, call_preview
from capdisc_run.argv_template import with_written_words
from capdisc_run.call_types import CallLimits, Outcome
from capdisc_run.output_masking import unmasked_secrets
from capdisc_run.prepare import execute_call, prepare_call, timeout_seconds
from capdisc_run.process import check_usable

# Longer arguments are left out of the command in a hint; in characters.
_MAX_SHOWN_ARGUMENTS = 400


def run_for_agent(
    descriptor: Descriptor,
    arguments: Arguments,
    ctx: ExecutionContext,
    state_dir: Path,
    yes: bool,
    stopped: Callable[[], bool] = lambda: False,
) -> JsonObject:
    """What the capability printed, as JSON; for one that does not say how it is run, the call for
    the agent to make. `stopped` is asked whether the caller is gone.

    Raises ApprovalRequiredError, unless `yes`, for a call that nobody has approved at a terminal
    or that has to be asked about each time; else as `prepare_call` and `execute_call`.
    """
    if not descriptor.run:
        return {
            "executed": False,
            "tool": descriptor.id,
            "call": call_preview.manual_call(descriptor, arguments),
        }
    with call_preview.masked_errors():
        written = with_written_words(descriptor, ctx.roots)
        return _run_approved(written, arguments, ctx, state_dir, yes, stopped)


def _run_approved(
    descriptor: Descriptor,
    arguments: Arguments,
    ctx: ExecutionContext,
    state_dir: Path,
    yes: bool,
    stopped: Callable[[], bool],
) -> JsonObject:
    call = prepare_call(descriptor, arguments, ctx)
    check_usable(descriptor, ctx.environ)
    approval = approvals.approval_of(descriptor, call, arguments)
    reasons = approvals.pending_reasons(state_dir, descriptor, call, approval)
    if reasons and not yes:
        hint = f"let the user do it: {_command_line(descriptor, arguments)}"
        if approval.any_arguments:
            hint += '; the answer "any" there lets you run it with other arguments, too'
        raise ApprovalRequiredError(
            f"{one_line(descriptor.id)} was not run: {'; '.join(reasons)}", hint
        )
    limits = CallLimits(seconds=timeout_seconds(descriptor, None), is_stopped=stopped)
    unmasked = unmasked_secrets(call.environment, ctx.environ)
    outcome = execute_call(call, ctx.environ, limits)
    return {"executed": True, "tool": descriptor.id, **outcome_json(outcome, unmasked)}


def _command_line(descriptor: Descriptor, arguments: Arguments) -> str:
    """What the user types to be asked; arguments that are too long for a line are left out."""
    line = f"capdisc run {one_line(descriptor.id)}"
    if not arguments:
        return line
    word = quote_word(json.dumps(dict(arguments), ensure_ascii=False))
    return f"{line} {word}" if len(word) <= _MAX_SHOWN_ARGUMENTS else line


def outcome_json(outcome: Outcome, unmasked: Sequence[str] = ()) -> JsonObject:
    """The outcome as JSON; bytes that are not UTF-8 are replaced. `unmasked` names the secrets
    that are too short to be masked in the output, if any.
    """
    return {
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": outcome.stderr.decode("utf-8", "replace"),
        "truncated": outcome.is_truncated,
        "seconds": round(outcome.seconds, 3),
        **outcome.details,
        **({"unmasked": list(unmasked)} if unmasked else {}),
    }
