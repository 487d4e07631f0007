"""Tools served over MCP on stdin and stdout, in every version of the protocol that the SDK speaks."""

from __future__ import annotations

from typing import Any

from capdisc_indexer import __version__
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.running import sdk as gate
from capdisc_indexer.running.answers import Calls, Counter, said

OVERVIEW = "capdisc://tier0"
_POLL_SECONDS = 1.0
_WORDS = "Finds the few capabilities (tools, skills, tables, documents) that a task needs. Ask before the first step."


def serve(counter: Counter) -> None:
    """Serve until stdin ends. Raises InputError without the SDK."""
    sdk = gate.load()
    calls = Calls(sdk, counter)
    try:
        sdk.anyio.run(_serve, sdk, counter, calls)
    finally:
        calls.settle()


async def _serve(sdk: Any, counter: Counter, calls: Calls) -> None:
    bus, sessions = sdk.Bus(), set[Any]()
    server = _made(sdk, counter, calls, sdk.ListenHandler(bus), sessions)
    options = server.create_initialization_options(sdk.NotificationOptions(tools_changed=True, resources_changed=True))
    async with sdk.stdio_server() as (incoming, outgoing), sdk.anyio.create_task_group() as tasks:
        tasks.start_soon(_tell_of_changes, sdk, counter, bus, sessions)
        await server.run(incoming, outgoing, options)
        tasks.cancel_scope.cancel()


def _made(sdk: Any, counter: Counter, calls: Calls, listening: Any, sessions: set[Any]) -> Any:
    """The server; each session of the protocol's older versions that begins is put into `sessions`."""
    types = sdk.types

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in counter.tools()])

    async def call_tool(context: Any, params: Any) -> Any:
        text, is_error = await calls.answered(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    async def list_resources(context: Any, params: Any) -> Any:
        words = "The categories of capabilities that there are, in at most 200 tokens."
        one = types.Resource(uri=OVERVIEW, name="overview", description=words, mime_type="text/plain")
        return types.ListResourcesResult(resources=[one])

    async def read_resource(context: Any, params: Any) -> Any:
        try:
            if str(params.uri) != OVERVIEW:
                raise sdk.Error(types.INVALID_PARAMS, f"there is no resource but {OVERVIEW}")
            text = counter.overview()
        except CapdiscError as error:
            raise sdk.Error(types.INTERNAL_ERROR, said(error)) from None
        content = types.TextResourceContents(uri=OVERVIEW, text=text, mime_type="text/plain")
        return types.ReadResourceResult(contents=[content])

    async def begun(context: Any, params: Any) -> None:
        sessions.add(context.session)

    server = sdk.Server(
        "capdisc",
        version=__version__,
        instructions=_WORDS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscriptions_listen=listening,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, begun)
    return server


async def _tell_of_changes(sdk: Any, counter: Counter, bus: Any, sessions: set[Any]) -> None:
    """Once a second, whether the index is another one; whoever listens then asks for the lists anew."""
    last = counter.version()
    while True:
        await sdk.anyio.sleep(_POLL_SECONDS)
        if (now := counter.version()) == last:
            continue
        last = now
        for session in list(sessions):
            await session.send_tool_list_changed()
            await session.send_resource_list_changed()
        await bus.publish(sdk.ToolsListChanged())
        await bus.publish(sdk.ResourceUpdated(OVERVIEW))
