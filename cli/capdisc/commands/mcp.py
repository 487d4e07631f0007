"""capdisc mcp: the discovery tools for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from capdisc.args import params
from capdisc.args.params import option
from capdisc.context import live_index, surroundings, workspace_trust
from capdisc.context.shared_index import provenance_warning
from capdisc.output import standard_streams
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.store.permissions import distrust_reason
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.tools.tool_types import Executor, ToolAnswer


def mcp(
    tools: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="Only these tools or groups of them, by comma."),
    ] = None,
    allow_run: Annotated[
        bool,
        option("--allow-run", help="execute_tool too: runs what was said yes to at a terminal."),
    ] = False,
    yes: Annotated[
        bool, option("--yes", help="With --allow-run: runs anything, asking nobody.")
    ] = False,
    index_dir: params.IndexDir = None,
) -> int:
    """Serve the discovery tools over MCP on stdin and stdout, until stdin ends.

    Answers come from the newest index; when it changes, or is there at last, clients are told that
    the tools and the overview (capdisc://tier0) have changed. Needs the extra: pip install
    'capdisc[mcp]'.

    Example: capdisc mcp --tools discovery < /dev/null
    """
    if yes and not allow_run:
        raise UsageError("--yes goes with --allow-run", "without it nothing is run")
    names = live_index.select_tools(tools or ())
    if live_index.EXECUTE_TOOL in (tools or ()) and not allow_run:
        raise UsageError(
            f"{live_index.EXECUTE_TOOL} goes with --allow-run", "without it nothing is run"
        )
    from capdisc_indexer.execution.mcp_server import ToolService, serve

    runtime = surroundings.current_runtime()
    config = runtime.config()
    workspace_trust.announce_settings(config)
    shared = runtime.shared_index(index_dir, config)
    live = live_index.LiveIndex(runtime, config, runtime.index_dir(index_dir, config), shared)
    if shared and allow_run:
        raise ApprovalRequiredError(
            f"nothing is run from this index: {provenance_warning(shared)}", "leave out --allow-run"
        )
    run = partial(_build_executor, runtime, yes) if allow_run else None
    service = live_index.DiscoveryService(live=live, names=names, run=run)
    surroundings.limit_malloc_arenas()
    with standard_streams.silence_native_stderr():
        if shared:
            live_index.start_polling(shared)
        serve(
            ToolService(
                tools=service.tools,
                answer=service.answer,
                overview=service.overview,
                version=live.version,
            )
        )
    return 0


def _build_executor(
    runtime: surroundings.Runtime, yes: bool, index: Index, stopped: Callable[[], bool]
) -> Executor:
    """What runs a capability of this index, as `capdisc run` would where nobody sits."""
    from capdisc_indexer.execution import agent_execution
    from capdisc_indexer.execution.call_types import ExecutionContext

    execution_ctx = ExecutionContext(
        environ=runtime.environ, cwd=runtime.cwd, roots=tuple(index.meta("scan")["roots"])
    )

    def run(descriptor: Descriptor, arguments: Mapping[str, Any]) -> ToolAnswer:
        if doubt := distrust_reason(index.index_dir):
            raise ApprovalRequiredError(
                f"nothing is run from this index: {doubt}", "capdisc doctor says what mends it"
            )
        return agent_execution.run_for_agent(
            descriptor, arguments, execution_ctx, runtime.state_dir(), yes, stopped
        )

    return run
