"""capdisc run: make the call that a capability describes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option, parse_seconds
from capdisc.commands import call
from capdisc.context import open_index, session_memory, surroundings
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.shell_quoting import quote_word
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals, call_preview, http_request
from capdisc_run.approved_runs import (
    approval_scope,
    note_unmasked,
    outcome_json,
    require_approval,
)
from capdisc_run.argv_template import with_written_words
from capdisc_run.call_types import Call, CallLimits, HttpCall, Outcome, ToolCall
from capdisc_run.output_masking import unmasked_secrets
from capdisc_run.prepare import (
    check_arguments,
    example_json,
    execute_call,
    prepare_call,
    timeout_seconds,
)
from capdisc_run.process import check_usable

if TYPE_CHECKING:
    from capdisc_run.server_tools import ServerTool

# The last bytes of stderr that are shown of a program that was ended at a limit.
_MAX_STDERR_BYTES = 2_000
MAX_SECONDS = 86_400.0
NOT_RUN_HINT = "capdisc doctor says what is wrong with a folder; from a shared index nothing is run, index its files here"


@frozen(kw_only=True)
class RunOptions:
    """The options as they were typed; `seconds` None stands for the manifest's limit of time."""

    seconds: float | None
    max_bytes: int
    dry_run: bool
    yes: bool
    json: bool


def run(
    identifier: Annotated[str, argument(metavar="ID", help="The capability's id or name.")],
    arguments: Annotated[
        list[str] | None,
        argument(
            metavar="[KEY=VALUE]...",
            help="Its arguments; or all of them as JSON, - reads that from stdin.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Print the call without making it.")
    ] = False,
    fill: Annotated[
        bool, option("--fill", help="Print the arguments with their defaults, and stop.")
    ] = False,
    yes: Annotated[
        bool, option("--yes", help="Do not ask; do everything that a yes would allow.")
    ] = False,
    timeout: Annotated[
        float | None,
        option(
            metavar="TIME",
            parser=parse_seconds,
            help="End it after this long [by its manifest, else 60s].",
        ),
    ] = None,
    max_output: Annotated[
        int, option(metavar="KIB", min=1, max=1024 * 1024, help="End it once it has printed more.")
    ] = 1024,
    allow_private: Annotated[
        bool, option("--allow-private", help="For HTTP: private hosts and any port.")
    ] = False,
    allow_http: Annotated[
        bool, option("--allow-http", help="For HTTP: also without encryption.")
    ] = False,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """Run a capability whose manifest says how: a command, a tool of an MCP server, or an HTTP
    operation.

    Its output and its exit status are passed on. A call that is new in this form, or that has side
    effects or a risk above low, needs a yes at the terminal, elsewhere --yes. A tool of an MCP
    server that a client's file names is called as the gateway calls it: without a question if its
    server says that it only reads, or if capdisc trust has approved it. For a capability that does
    not say how it is run, the call is printed for you to make; exit status 3.

    Example: capdisc run git-status --dry-run
    """
    if timeout is not None and not 0 < timeout <= MAX_SECONDS:
        raise UsageError(
            "--timeout must be more than 0 seconds and at most a day", "see: capdisc run --help"
        )
    runtime = surroundings.current_runtime()
    with open_index.open_index(index_dir, fresh) as ctx:
        if doubt := ctx.provenance_warning:
            raise ApprovalRequiredError(f"nothing is run from this index: {doubt}", NOT_RUN_HINT)
        descriptor = ctx.index.descriptor(identifier)
        roots = tuple(ctx.index.scan["roots"])
        api_url = _api_url(ctx.index, descriptor)
        place = ctx.place
    from capdisc_indexer.tools.function_definitions import capability_schema
    from capdisc_indexer.tools.parameter_schema import restore_names

    typed_arguments = call.parse_words(
        arguments or ("",), descriptor.schema or {}, example_json(descriptor.schema)
    )
    call_arguments = restore_names(capability_schema(descriptor), typed_arguments)
    if fill:
        return _print_filled_arguments(descriptor, call_arguments, json)
    execution_ctx = ExecutionContext(
        environ=runtime.environ,
        cwd=runtime.cwd,
        roots=roots,
        allow_http=allow_http,
        allow_private=allow_private,
    )
    options = RunOptions(
        seconds=timeout,
        max_bytes=max_output * 1024,
        dry_run=dry_run,
        yes=yes,
        json=json,
    )
    if not descriptor.run:
        # The lists of tools lie where the index was built, which may be the home folder's.
        if tool := _find_listed_tool(place.runtime, descriptor):
            return _run_server_tool(place.runtime, tool, call_arguments, options)
        return _print_manual_call(descriptor, call_arguments, api_url, json)
    return _run_capability(runtime, descriptor, call_arguments, execution_ctx, options)


def _find_listed_tool(runtime: surroundings.Runtime, descriptor: Descriptor) -> ServerTool | None:
    """The capability as a tool of a server that a client's file names; None for any other one."""
    if descriptor.kind != "tool" or not runtime.has_tool_lists():
        return None
    from capdisc_run import server_tools

    return server_tools.find_listed_tool(runtime, descriptor)


def _api_url(index: Index, descriptor: Descriptor) -> str:
    """The address of an operation's API; "" for another kind, and where none is known."""
    api = descriptor.extra.get("api") if descriptor.kind == "operation" else None
    header = index.resolve(f"api:{api}") if api else None
    return str(index.full_descriptor(header).extra.get("url") or "") if header else ""


def _print_filled_arguments(descriptor: Descriptor, arguments: Arguments, as_json: bool) -> int:
    filled_arguments = check_arguments(descriptor, arguments)
    if as_json:
        console.print_document({"id": descriptor.id, "arguments": filled_arguments})
    else:
        console.print_result(console.format_json_text(filled_arguments))
    return ExitCode.OK


def _print_manual_call(
    descriptor: Descriptor, arguments: Arguments, api_url: str, as_json: bool
) -> int:
    """Print the call of a capability that does not say how it is run, for the caller to make."""
    call = call_preview.manual_call(descriptor, check_arguments(descriptor, arguments), api_url)
    if as_json:
        console.print_document({"id": descriptor.id, "status": "not-run", "call": call})
    else:
        console.print_lines(
            [call.get("line") or call.get("read") or json.dumps(call, ensure_ascii=False)]
        )
    console.print_notice(f"error: {descriptor.id} does not say how it is run")
    console.print_notice("hint: stdout has the call; make it yourself")
    return ExitCode.BAD_INPUT


def _run_capability(
    runtime: surroundings.Runtime,
    descriptor: Descriptor,
    arguments: Arguments,
    execution_ctx: ExecutionContext,
    options: RunOptions,
) -> int:
    """Make the call and pass on its output and exit status; with `dry_run`, print it instead."""
    with call_preview.masked_errors():
        descriptor = with_written_words(descriptor, execution_ctx.roots)
        call = prepare_call(descriptor, arguments, execution_ctx)
        if options.dry_run:
            return _print_dry_run(runtime, descriptor, call, arguments, options.json)
        check_usable(descriptor, runtime.environ)
        require_approval(runtime, descriptor, call, arguments, options.yes)
        seconds = timeout_seconds(descriptor, options.seconds)
        limits = CallLimits(seconds=seconds, max_bytes=options.max_bytes)
        unmasked = unmasked_secrets(call.environment, runtime.environ)
        if options.yes:  # else the question has said so
            note_unmasked(unmasked)
        outcome = execute_call(call, runtime.environ, limits)
        if runtime.config()["log"]:
            session_memory.log_event(runtime, "run", [descriptor.id], ok=outcome.status == "ok")
        is_tool = isinstance(call, ToolCall)
        return _print_outcome(
            runtime, descriptor, outcome, limits, options.json, is_tool, unmasked
        )


def _run_server_tool(
    runtime: surroundings.Runtime, tool: ServerTool, arguments: Arguments, options: RunOptions
) -> int:
    """Call a tool of a server that a client's file names, as the gateway does, and pass on its
    output and exit status; with `dry_run`, print the call instead.
    """
    from capdisc_run import server_tools

    with call_preview.masked_errors():
        if options.dry_run:
            filled_arguments = check_arguments(tool.descriptor, arguments)
            document = server_tools.call_document(runtime, tool, filled_arguments)
            if options.json:
                console.print_document(document)
            else:
                console.print_lines([console.sanitise(document["call"]["line"])])
            return ExitCode.OK
        outcome, limits = server_tools.call_tool(
            runtime, tool, arguments, options.seconds, options.max_bytes, options.yes
        )
    return _print_outcome(runtime, tool.descriptor, outcome, limits, options.json, is_tool=True)


def _print_dry_run(
    runtime: surroundings.Runtime,
    descriptor: Descriptor,
    call: Call,
    arguments: Arguments,
    as_json: bool,
) -> int:
    """Print the call. Raises LinkRefusedError for one that would be refused."""
    approval = approvals.approval_of(descriptor, call, arguments)
    reasons = approvals.pending_reasons(runtime.state_dir(), descriptor, call, approval)
    unmasked = unmasked_secrets(call.environment, runtime.environ)
    if as_json:
        document = {
            "id": descriptor.id,
            "call": call_preview.call_document(call),
            "asks": list(reasons),
            "covers": approvals.list_covered_files(descriptor, call),
            "unmasked": unmasked,
        }
        console.print_document(document)
    else:
        console.print_lines([call_preview.shell_line(call)])
        note_unmasked(unmasked)
    if isinstance(call, HttpCall):
        http_request.check_request(call)
    elif not as_json:
        console.print_notice(f"note: it runs in {quote_word(str(call.cwd))}")
        console.print_notice(approval_scope(descriptor, call))
    return ExitCode.OK


def _print_outcome(
    runtime: surroundings.Runtime,
    descriptor: Descriptor,
    outcome: Outcome,
    limits: CallLimits,
    as_json: bool,
    is_tool: bool,
    unmasked: Sequence[str] = (),
) -> int:
    """Print what the call gave and, where a limit ended it, which one; the exit status."""
    if as_json:
        console.print_document({"id": descriptor.id, **outcome_json(outcome, unmasked)})
    elif not outcome.is_truncated:
        console.write_through(
            outcome.stdout, to_stderr=False, is_terminal=runtime.stdout_is_terminal
        )
        # The stderr of an MCP server whose tool succeeded is only its log.
        if outcome.status != "ok" or not is_tool:
            console.write_through(
                outcome.stderr, to_stderr=True, is_terminal=runtime.stderr_is_terminal
            )
    if not outcome.is_truncated:
        return outcome.exit_code
    if stderr_tail := outcome.stderr[-_MAX_STDERR_BYTES:].decode("utf-8", "replace").strip():
        console.print_notice(stderr_tail)
    problem, hint = f"did not end within {limits.seconds:g} s", "raise --timeout"
    if outcome.status == "too-large":
        problem = f"printed more than {limits.max_bytes // 1024:,} KiB"
        hint = "ask it for less, or raise --max-output"
    console.print_notice(f"error: {descriptor.id} {problem} and was ended")
    console.print_notice(f"hint: {hint}")
    return ExitCode.ENDED
