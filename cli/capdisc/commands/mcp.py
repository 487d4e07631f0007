"""capdisc mcp: the discovery tools for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import option
from capdisc.context import surroundings, workspace_trust
from capdisc.context.shared_index import provenance_warning
from capdisc.mcp_service.discovery_service import (
    EXECUTE_TOOL,
    DiscoveryService,
    build_executor,
    select_tools,
)
from capdisc.mcp_service.live_index import LiveIndex, start_polling
from capdisc.output import standard_streams
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError


def mcp(
    tools: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="Only these tools or groups of tools, separated by commas."),
    ] = None,
    allow_run: Annotated[
        bool,
        option(
            "--allow-run",
            help="Also execute_tool, which runs calls that you agreed to at a terminal.",
        ),
    ] = False,
    yes: Annotated[
        bool, option("--yes", help="With --allow-run: run anything without asking.")
    ] = False,
    index_dir: params.IndexDir = None,
) -> int:
    """Serve the discovery tools over MCP on stdin and stdout, until stdin ends.

    Answers come from the newest index. When it changes, or there is one at last, clients get a
    notification that the tools and the overview (capdisc://tier0) have changed. Needs the extra:
    pip install 'capdisc[mcp]'.

    Example: capdisc mcp --tools discovery < /dev/null
    """
    if yes and not allow_run:
        raise UsageError("--yes goes with --allow-run", "without it nothing is run")
    names = select_tools(tools or ())
    if EXECUTE_TOOL in (tools or ()) and not allow_run:
        raise UsageError(f"{EXECUTE_TOOL} goes with --allow-run", "without it nothing is run")
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
                tools=service.tools,
                answer=service.answer,
                overview=service.overview,
                version=live.version,
            )
        )
    return 0
