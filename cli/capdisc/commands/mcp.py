"""capdisc mcp: search, reading and running for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import option
from capdisc.context import surroundings, workspace_trust
from capdisc.context.shared_index import provenance_warning
from capdisc.mcp_service.discovery_service import DiscoveryService, build_executor
from capdisc.mcp_service.live_index import LiveIndex, start_polling
from capdisc.mcp_service.tool_offer import find_run_tool, select_tools
from capdisc.output import standard_streams
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError


def mcp(
    tools: Annotated[
        list[str] | None,
        option(
            metavar="NAMES",
            help="These tools or groups of tools instead, separated by commas; all: every tool.",
        ),
    ] = None,
    allow_run: Annotated[
        bool,
        option(
            "--allow-run",
            help="Also run_capability, which makes calls that you agreed to at a terminal.",
        ),
    ] = False,
    yes: Annotated[
        bool, option("--yes", help="With --allow-run: run anything without asking.")
    ] = False,
    index_dir: params.IndexDir = None,
) -> int:
    """Serve the capabilities to an agent over MCP on stdin and stdout, until stdin ends.

    There are three tools: search_capabilities, read_capability and, with --allow-run,
    run_capability. An answer has at most 4,000 tokens; a cursor leads to what follows. The prompt
    find-capabilities and the resources capdisc://tier0 and capdisc://capability/ID hold the same.
    Answers come from the newest index, which is built where there is none; clients are notified
    when it changes. Needs the extra: pip install 'capdisc[mcp]'.

    Example: capdisc mcp < /dev/null
    """
    if yes and not allow_run:
        raise UsageError("--yes goes with --allow-run", "without it nothing is run")
    names = select_tools(tools or ())
    if not allow_run and (run_tool := find_run_tool(tools or ())):
        raise UsageError(f"{run_tool} goes with --allow-run", "without it nothing is run")
    from capdisc_indexer.execution.mcp_server import ToolService, serve

    runtime = surroundings.current_runtime()
    config = runtime.config()
    workspace_trust.announce_settings(config)
    shared = runtime.shared_index(index_dir, config)
    live = LiveIndex(runtime, config, runtime.index_dir(index_dir, config), shared)
    if shared and allow_run:
        raise ApprovalRequiredError(
            f"nothing is run from this index: {provenance_warning(shared)}",
            "leave out --allow-run",
        )
    run = partial(build_executor, runtime, yes) if allow_run else None
    service = DiscoveryService(live=live, names=names, run=run)
    surroundings.limit_malloc_arenas()
    with standard_streams.silence_native_stderr():
        if shared:
            start_polling(shared)
        serve(
            ToolService(
                instructions=service.instructions,
                tools=service.tools,
                answer=service.answer,
                prompt=service.prompt,
                overview=service.overview,
                capability=service.capability,
                complete_id=service.complete_id,
                version=live.version,
            )
        )
    return 0
