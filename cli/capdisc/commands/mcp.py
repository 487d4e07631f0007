"""capdisc mcp: the discovery tools for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from capdisc import following, options, runtime, serving, streams, trusting
from capdisc.declaring import option
from capdisc.sharing import others
from capdisc_indexer.errors import RefusedError, UsageError
from capdisc_indexer.index import Index
from capdisc_indexer.store.permissions import distrust
from capdisc_indexer.tools.values import Execute, ToolAnswer
from capdisc_indexer.types import Descriptor


def mcp(
    tools: Annotated[
        list[str] | None, option(metavar="NAMES", help="Only these tools or groups of them, by comma.")
    ] = None,
    allow_run: Annotated[
        bool, option("--allow-run", help="execute_tool too: runs what was said yes to at a terminal.")
    ] = False,
    yes: Annotated[bool, option("--yes", help="With --allow-run: runs anything, asking nobody.")] = False,
    index_dir: options.IndexDir = None,
) -> int:
    """Serve the discovery tools over MCP on stdin and stdout, until stdin ends.

    Answers come from the newest index; when it changes, or is there at last, clients are told that the tools and the
    overview (capdisc://tier0) have changed. Needs the extra: pip install 'capdisc[mcp]'.

    Example: capdisc mcp --tools discovery < /dev/null
    """
    if yes and not allow_run:
        raise UsageError("--yes goes with --allow-run", "without it nothing is run")
    names = serving.chosen(tools or ())
    if serving.RUNNER in (tools or ()) and not allow_run:
        raise UsageError(f"{serving.RUNNER} goes with --allow-run", "without it nothing is run")
    from capdisc_indexer.running.answers import Counter
    from capdisc_indexer.running.served import serve

    here = runtime.current()
    config = here.config()
    trusting.announce_settings(config)
    shared = here.shared(index_dir, config)
    live = serving.Live(here, config, here.index_dir(index_dir, config), shared)
    if shared and allow_run:
        raise RefusedError(f"nothing is run from this index: {others(shared)}", "leave out --allow-run")
    run = partial(_runner, here, yes) if allow_run else None
    service = serving.Service(live=live, names=names, run=run)
    runtime.keep_small()
    with streams.native_hushed():
        if shared:
            following.follow(shared)
        serve(Counter(tools=service.tools, answer=service.answer, overview=service.overview, version=live.version))
    return 0


def _runner(here: runtime.Runtime, yes: bool, index: Index, stopped: Callable[[], bool]) -> Execute:
    """What runs a capability of this index, as `capdisc run` would where nobody sits."""
    from capdisc_indexer.running import unattended
    from capdisc_indexer.running.values import Place

    place = Place(environ=here.environ, cwd=here.cwd, roots=tuple(index.meta("scan")["roots"]))

    def run(descriptor: Descriptor, arguments: Mapping[str, Any]) -> ToolAnswer:
        if doubt := distrust(index.index_dir):
            raise RefusedError(f"nothing is run from this index: {doubt}", "capdisc doctor says what mends it")
        return unattended.answer(descriptor, arguments, place, here.state_dir(), yes, stopped)

    return run
