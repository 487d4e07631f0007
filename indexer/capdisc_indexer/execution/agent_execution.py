"""Running capabilities where nobody can be asked: for `execute_tool`, on behalf of an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer.execution import approvals, call_preview
from capdisc_indexer.execution.argv_template import with_written_words
from capdisc_indexer.execution.call_preview import quote_word
from capdisc_indexer.execution.call_types import CallLimits, ExecutionContext, Outcome
from capdisc_indexer.execution.output_masking import unmasked_secrets
from capdisc_indexer.execution.prepare import execute_call, prepare_call, timeout_seconds
from capdisc_indexer.execution.process import check_usable
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line

# Of arguments in a hint, characters.
_LONGEST_SHOWN = 400


def run_for_agent(
    descriptor: Descriptor,
    arguments: Arguments,
    ctx: ExecutionContext,
    state_dir: Path,
    yes: bool,
    stopped: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """What the capability printed, as JSON; for one that does not say how it is run, the call to
    make.

    Raises RefusedError for what nobody has said yes to at a terminal, and for all that has to be
    asked each time, unless `yes`; else as `prepare` and `execute`.
    """
    if not descriptor.run:
        return {
            "executed": False,
            "tool": descriptor.id,
            "call": call_preview.manual_call(descriptor, arguments),
        }
    with call_preview.masked_errors():
        return _run(
            with_written_words(descriptor, ctx.roots), arguments, ctx, (state_dir, yes), stopped
        )


def _run(
    descriptor: Descriptor,
    arguments: Arguments,
    place: ExecutionContext,
    leave: tuple[Path, bool],
    stopped: Callable[[], bool],
) -> dict[str, Any]:
    state_dir, yes = leave
    call = prepare_call(descriptor, arguments, place)
    check_usable(descriptor, place.environ)
    approval = approvals.approval_of(descriptor, call, arguments)
    why = approvals.pending_reasons(state_dir, descriptor, call, approval)
    if why and not yes:
        what = f"{one_line(descriptor.id)} was not run: {'; '.join(why)}"
        raise ApprovalRequiredError(
            what, f"let the user do it: {_command_line(descriptor, arguments)}{_more(approval)}"
        )
    limits = CallLimits(seconds=timeout_seconds(descriptor, None), is_stopped=stopped)
    unmasked = unmasked_secrets(call.environment, place.environ)
    return {
        "executed": True,
        "tool": descriptor.id,
        **outcome_json(execute_call(call, place.environ, limits), unmasked),
    }


def _command_line(descriptor: Descriptor, arguments: Arguments) -> str:
    """What the user types to be asked; arguments too long for a line are left out."""
    line = f"capdisc run {one_line(descriptor.id)}"
    given = quote_word(json.dumps(dict(arguments), ensure_ascii=False)) if arguments else ""
    return f"{line} {given}" if given and len(given) <= _LONGEST_SHOWN else line


def _more(approval: approvals.Approval) -> str:
    return (
        '; the answer "any" there lets you run it with other arguments, too'
        if approval.any_arguments
        else ""
    )


def outcome_json(outcome: Outcome, unmasked: Sequence[str] = ()) -> dict[str, Any]:
    """The outcome as JSON; bytes that are not UTF-8 are replaced. `unmasked` names the secrets too
    short to be taken out of it, if any.
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
