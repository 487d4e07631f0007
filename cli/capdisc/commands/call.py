"""capdisc call: ask one discovery tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc import answering, asking, options
from capdisc.declaring import argument, option
from capdisc.desks import desk
from capdisc_indexer.errors import UsageError


def call(
    tool: Annotated[str | None, argument(metavar="[TOOL]", help="capdisc tools --all --names lists them.")] = None,
    given: Annotated[str | None, argument(metavar="[JSON]", help="The arguments; - reads stdin.")] = None,
    args: Annotated[str | None, option("--args", metavar="JSON", help="The same, as an option.")] = None,
    batch: Annotated[
        Path | None,
        option(metavar="FILE", help='Calls, one JSON line each: {"tool": …, "arguments": {…}}; - reads stdin.'),
    ] = None,
    envelope: Annotated[
        bool, option("--envelope", help="Wrap it: {status, tool, results}, or {status, tool, error, hint}.")
    ] = False,
    max_tokens: Annotated[
        int | None, option("--max-tokens", min=1, help="Cut the answer to this, and say what was left out.")
    ] = None,
    mode: options.Mode = None,
    index_dir: options.IndexDir = None,
) -> int:
    """Ask one discovery tool, as an agent would, and print its answer as JSON.

    From a wish to a call: search_tool with keywords names what fits, search_tool with an exact name says all about it,
    execute_tool or capdisc run calls it. With --batch one line comes out for each line that goes in, errors included;
    exit status 1: some of them failed.

    Example: capdisc call search_tool '{"query": "merge PDF files"}'
    """
    if (batch is None) == (tool is None):
        raise UsageError(
            "name one tool, or a file of calls with --batch", "capdisc tools --all --names lists the tools"
        )
    if batch is not None and (given or args):
        raise UsageError("--batch has the arguments in its lines", "leave the arguments out")
    with asking.opened(index_dir) as asked:
        wanted = answering.Wanted(desk=desk(asked, mode), is_wrapped=envelope, max_tokens=max_tokens)
        if batch is not None:
            return answering.every(asked.here, wanted, str(batch))
        return answering.one(asked.here, wanted, tool or "", answering.arguments(given, args))
