"""Running a capability once somebody agrees to it: a person at the terminal who is shown the call,
or an earlier yes where an agent runs it and nobody can be asked. And how the outcome is told as
JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import YES, read_answer
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import name_first, one_line
from capdisc_indexer.text.shell_quoting import quote_word
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals, call_preview
from capdisc_run.argv_template import with_written_words
from capdisc_run.call_types import Call, CallLimits, HttpCall, Outcome
from capdisc_run.output_masking import LEAST_MASKED, unmasked_secrets
from capdisc_run.prepare import execute_call, prepare_call, timeout_seconds
from capdisc_run.process import check_usable

# Characters of one word of a call; --dry-run prints it whole.
_MAX_WORD_CHARACTERS = 2_000
_MAX_FILES_SHOWN = 10
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

    def agree(written: Descriptor, call: Call) -> None:
        approval = approvals.approval_of(written, call, arguments)
        reasons = approvals.pending_reasons(state_dir, written, call, approval)
        if reasons and not yes:
            hint = f"let the user do it: {_command_line(written, arguments)}"
            if approval.any_arguments:
                hint += '; the answer "any" there lets you run it with other arguments, too'
            raise ApprovalRequiredError(
                f"{one_line(written.id)} was not run: {'; '.join(reasons)}", hint
            )

    return _run(descriptor, arguments, ctx, agree, stopped)


def run_with_approval(
    runtime: surroundings.Runtime,
    descriptor: Descriptor,
    arguments: Arguments,
    execution_ctx: ExecutionContext,
    yes: bool,
) -> JsonObject:
    """What the capability printed, as JSON, once its user agreed: before, at the terminal, or with
    `yes`. Raises ApprovalRequiredError where nobody did.
    """
    if yes or not has_person(runtime):
        return run_for_agent(descriptor, arguments, execution_ctx, runtime.state_dir(), yes)

    def agree(written: Descriptor, call: Call) -> None:
        require_approval(runtime, written, call, arguments, yes=False)

    return _run(descriptor, arguments, execution_ctx, agree, lambda: False)


def _run(
    descriptor: Descriptor,
    arguments: Arguments,
    ctx: ExecutionContext,
    agree: Callable[[Descriptor, Call], None],
    stopped: Callable[[], bool],
) -> JsonObject:
    if not descriptor.run:
        manual_call = call_preview.manual_call(descriptor, arguments)
        return {"executed": False, "tool": descriptor.id, "call": manual_call}
    with call_preview.masked_errors():
        descriptor = with_written_words(descriptor, ctx.roots)
        call = prepare_call(descriptor, arguments, ctx)
        check_usable(descriptor, ctx.environ)
        agree(descriptor, call)
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


def has_person(runtime: surroundings.Runtime) -> bool:
    """Whether somebody at a terminal can be asked."""
    return runtime.stdin_is_terminal and runtime.stderr_is_terminal


def require_approval(
    runtime: surroundings.Runtime,
    descriptor: Descriptor,
    call: Call,
    arguments: Arguments,
    yes: bool,
) -> None:
    """Returns where the call may be made. Raises ApprovalRequiredError otherwise.

    A yes at the terminal is remembered for the call with these arguments, or with any; a yes by
    option never.
    """
    if yes:
        return
    state_dir, approval = runtime.state_dir(), approvals.approval_of(descriptor, call, arguments)
    reasons = approvals.pending_reasons(state_dir, descriptor, call, approval)
    if not reasons:
        return
    if not has_person(runtime):
        raise ApprovalRequiredError(
            f"{descriptor.id} was not run: {'; '.join(reasons)}",
            "look at the call with --dry-run, then run it at a terminal or add --yes",
        )
    _print_call(descriptor, call, reasons, unmasked_secrets(call.environment, runtime.environ))
    choices = "[y/N]"
    if approval.any_arguments:
        choices = "[y/N/any]"
        console.print_notice(
            "note: y says yes to these arguments, whoever asks; numbers and choices may differ"
        )
        console.print_notice(
            "note: any says yes to every argument from now on, also where an agent runs it"
        )
    answer = read_answer(f"Run it? {choices}")
    if answer == "any" and approval.any_arguments:
        approvals.approve(state_dir, approval.any_arguments, descriptor.id, approval.definition)
    elif answer in YES:
        approvals.approve(state_dir, approval.exact, descriptor.id, approval.definition)
    else:
        raise ApprovalRequiredError(
            f"{descriptor.id} was not run", "--dry-run prints the call without making it"
        )


def approval_scope(descriptor: Descriptor, call: Call) -> str:
    """The note on the files by whose bytes a yes holds."""
    names = [quote_word(path) for path in approvals.list_covered_files(descriptor, call)]
    if not names:
        return "note: it names no file whose bytes a yes would hold for"
    listed = name_first(names, _MAX_FILES_SHOWN)
    return f"note: a yes holds for the bytes of {listed}; files that these load are not checked"


def note_unmasked(names: Sequence[str]) -> None:
    """Print which secrets are not masked in the output."""
    if names:
        console.print_notice(
            "note: too short to be taken out of what is printed"
            f" (under {LEAST_MASKED} characters): {', '.join(names)}"
        )


def _print_call(
    descriptor: Descriptor, call: Call, reasons: Sequence[str], unmasked: Sequence[str]
) -> None:
    """Print the call that a person is about to be asked for, and why."""
    line = call_preview.shell_line(call, _MAX_WORD_CHARACTERS)
    source = quote_word(descriptor.source.path)
    console.print_notice(f"{one_line(descriptor.id)}, from {source}:\n\n  {line}\n")
    if not isinstance(call, HttpCall):
        console.print_notice(f"in {quote_word(str(call.cwd))}")
        console.print_notice(approval_scope(descriptor, call))
    if call.environment:
        console.print_notice(f"with the secrets {', '.join(call.environment)}")
        note_unmasked(unmasked)
    for reason in reasons:
        console.print_notice(f"note: {reason}")
