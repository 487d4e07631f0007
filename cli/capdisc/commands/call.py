"""capdisc call: ask one discovery tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.commands import tool_calls
from capdisc.context import open_index
from capdisc.context.open_index import build_tool_context
from capdisc_indexer.model.errors import UsageError


def call(
    tool: Annotated[
        str | None, argument(metavar="[TOOL]", help="capdisc tools --all --names lists them.")
    ] = None,
    arguments_json: Annotated[
        str | None, argument(metavar="[JSON]", help="The arguments; - reads stdin.")
    ] = None,
    args: Annotated[
        str | None, option("--args", metavar="JSON", help="The arguments, as an option.")
    ] = None,
    batch: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help='Calls, a JSON object on each line: {"tool": …, "arguments": {…}}; - reads stdin.',
        ),
    ] = None,
    envelope: Annotated[
        bool,
        option(
            "--envelope", help="Print {status, tool, results}, or {status, tool, error, hint}."
        ),
    ] = False,
    max_tokens: Annotated[
        int | None,
        option(
            "--max-tokens",
            min=1,
            help="Cut the answer to so many tokens, and say what was left out.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        option(
            "--format",
            help="Answer tool_search as this provider takes it: anthropic, openai-responses.",
        ),
    ] = None,
    call_id: Annotated[
        str, option("--call-id", metavar="ID", help="With --format: the id of the model's call.")
    ] = "",
    mode: params.Mode = None,
    index_dir: params.IndexDir = None,
) -> int:
    """Ask one discovery tool, as an agent would, and print its answer as JSON.

    From a task to a call: search_tool with keywords names capabilities that fit, search_tool with
    an exact name prints one in full, execute_tool or capdisc run calls it. With --batch there is a
    line of output for each line of input, also for errors; exit status 1: some calls failed.

    With --format, the answer of tool_search loads the definitions that `capdisc tools --defer`
    deferred.

    Example: capdisc call search_tool '{"query": "merge PDF files"}'
    """
    if (batch is None) == (tool is None):
        raise UsageError(
            "name one tool, or a file of calls with --batch",
            "capdisc tools --all --names lists the tools",
        )
    if batch is not None and (arguments_json or args):
        raise UsageError("--batch has the arguments in its lines", "leave the arguments out")
    if format is not None and (batch is not None or envelope or max_tokens is not None):
        raise UsageError(
            "--format prints what the provider takes, as it is",
            "leave out --batch, --envelope and --max-tokens",
        )
    if call_id and format is None:
        raise UsageError("--call-id needs --format", "add --format anthropic or openai-responses")
    with open_index.open_index(index_dir) as ctx:
        options = tool_calls.CallOptions(
            tool_ctx=build_tool_context(ctx, mode), is_wrapped=envelope, max_tokens=max_tokens
        )
        if batch is not None:
            return tool_calls.run_batch(ctx.runtime, options, str(batch))
        arguments = tool_calls.parse_arguments(arguments_json, args)
        if format is not None:
            call = tool_calls.SearchCall(
                form=format, call_id=call_id, name=tool or "", arguments=arguments
            )
            return tool_calls.run_search(ctx.runtime, options, call)
        return tool_calls.run_call(ctx.runtime, options, tool or "", arguments)
