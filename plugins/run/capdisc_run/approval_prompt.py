"""How a person at the terminal says yes: before a capability is run, and to requests for trust."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.questions import YES, read_answer
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import name_first, one_line
from capdisc_indexer.text.shell_quoting import quote_word
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals, call_preview
from capdisc_run.call_types import Call, HttpCall
from capdisc_run.output_masking import LEAST_MASKED, unmasked_secrets

# Characters of one word of a call; --dry-run prints it whole.
_MAX_WORD_CHARACTERS = 2_000
_MAX_FILES_SHOWN = 10


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
    if not (runtime.stdin_is_terminal and runtime.stderr_is_terminal):
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
    from capdisc_run.agent_execution import run_for_agent
    from capdisc_run.argv_template import with_written_words
    from capdisc_run.prepare import prepare_call

    state_dir = runtime.state_dir()
    if not yes and runtime.stdin_is_terminal and runtime.stderr_is_terminal:
        with call_preview.masked_errors():
            written = with_written_words(descriptor, execution_ctx.roots)
            call = prepare_call(written, arguments, execution_ctx)
            require_approval(runtime, written, call, arguments, yes=False)
        yes = True
    return run_for_agent(descriptor, arguments, execution_ctx, state_dir, yes)


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
