"""capdisc mcp: search, reading and running for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.context import surroundings, workspace_trust
from capdisc.context.freshness import IndexPlace, locate_index
from capdisc.mcp_service.opening import answer_opening, take_stdin
from capdisc.mcp_service.tool_offer import (
    find_run_tool,
    needs_index,
    offer_tools,
    select_tools,
    server_instructions,
)
from capdisc.output import command_process, console
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.platforms import system
from capdisc_indexer.plugins import registry
from capdisc_indexer.tools.function_definitions import RUN_TOOLS


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
            help="Also run_capability, which makes calls that you agreed to at a terminal.",
        ),
    ] = False,
    yes: Annotated[bool, option(help="With --allow-run: run anything without asking.")] = False,
    gateway: Annotated[
        bool,
        option(
            help="Also find and call the tools of the MCP servers that your clients' files name.",
        ),
    ] = False,
    server: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="With --gateway: only these servers, separated by commas."),
    ] = None,
    listing: Annotated[
        bool, option("--list", help="With --gateway: print the servers, and serve nothing.")
    ] = False,
    json: params.Json = False,
    index_dir: params.IndexDir = None,
) -> int:
    """Serve the capabilities to an agent over MCP on stdin and stdout, until stdin ends.

    There are three tools: search_capabilities, read_capability and, with --allow-run,
    run_capability. An answer has at most 4,000 tokens; a cursor leads to what follows. The prompt
    find-capabilities and the resources capdisc://tier0 and capdisc://capability/ID hold the same.
    Skills are also served by the skills extension of MCP, with digests, under skill://.
    Answers come from the newest index, which is built where there is none; clients are notified
    when it changes.

    With --gateway, one server stands for all others: their tools are found by search and called
    by name. A server starts with its first call. A tool that is not declared as read-only is
    called once you have approved it (capdisc trust tool:SERVER.TOOL) or say yes when asked.

    Example: capdisc mcp < /dev/null
    """
    if yes and not allow_run:
        raise UsageError("--yes goes with --allow-run", "without it nothing is run")
    names = select_tools(tools or ())
    if not (allow_run or gateway) and (run_tool := find_run_tool(tools or ())):
        raise UsageError(f"{run_tool} goes with --allow-run", "without it nothing is run")
    if (server or listing) and not gateway:
        raise UsageError("--server and --list go with --gateway", "see: capdisc mcp --help")
    if json and not listing:
        raise UsageError("--json goes with --list", "see: capdisc mcp --help")

    runtime = surroundings.current_runtime()
    config = runtime.config()
    workspace_trust.announce_settings(config)
    gateway_service = registry.load_service("gateway") if gateway else None
    selection = gateway_service and gateway_service.choose_servers(runtime, config, server or ())
    if gateway_service and listing:
        return int(gateway_service.print_servers(runtime, selection, json))
    shared = runtime.shared_index(index_dir, config)
    if shared and (allow_run or gateway):
        raise ApprovalRequiredError(
            f"nothing is run from this index: {shared.provenance_warning}",
            "leave out --allow-run and --gateway",
        )
    lazy_imports.require_mcp()  # before a client is told that the server is there
    system.limit_malloc_arenas()
    if runtime.stdin_is_terminal:
        _explain_to_person()
    names = tuple(name for name in names if allow_run or gateway or name not in RUN_TOOLS)
    instructions, stdin = server_instructions(names), take_stdin()
    # A pinned capability is called, so it is offered where something may be run.
    pins = () if RUN_TOOLS.isdisjoint(names) else tuple(config["pin"])
    list_tools = None if needs_index(names, pins) else lambda: offer_tools(names, None).documents
    opening = answer_opening(stdin, instructions, list_tools)
    if opening is None:
        return 0
    # What takes long to import comes after what a client waits for.
    from capdisc.mcp_service.discovery_service import DiscoveryService, build_executor
    from capdisc.mcp_service.live_index import LiveIndex, start_polling
    from capdisc.mcp_service.mcp_server import serve
    from capdisc.mcp_service.served_skills import SkillOffer

    with (
        command_process.silence_native_stderr(),
        gateway_service.open_gateway(runtime, selection, index_dir)
        if gateway_service
        else nullcontext() as opened,
    ):
        await_first = opened.await_lists if opened else _wait_for_nothing
        # The tools that a gateway lists belong to this workspace alone.
        place = (
            IndexPlace(
                index_dir=runtime.index_dir(index_dir, config), runtime=runtime, config=config
            )
            if opened
            else locate_index(runtime, config, index_dir)
        )
        # A named index, a shared one and that of a gateway stay where they are.
        find_place = (
            None
            if shared or opened or index_dir
            else lambda: locate_index(runtime, runtime.config(), None)
        )
        live = LiveIndex(
            runtime, config, place, shared, await_first, find_place, is_named=bool(index_dir)
        )
        run = None
        if allow_run or opened:
            servers = opened.gateway if opened else None
            run = partial(build_executor, runtime, yes, servers, allow_run)
        service = DiscoveryService(
            live=live, names=names, run=run, skills=SkillOffer(live), pins=pins
        )
        if shared:
            start_polling(shared)
        serve(service, opening, stdin)
    return 0


def _explain_to_person() -> None:
    """Print what this is for somebody who typed it at a terminal, where it would wait in
    silence.
    """
    console.print_notice(
        "notice: this server is for an agent's client, which starts it and sends it JSON on stdin"
    )
    console.print_notice("notice: to put it into a client: capdisc setup CLIENT")
    console.print_notice("notice: to end it: Ctrl-C")


def _wait_for_nothing(is_stopped: Callable[[], bool]) -> None:
    pass
