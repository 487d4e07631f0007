"""Tools served over MCP on stdin and stdout, in every version of the protocol that the SDK
speaks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from capdisc_indexer import __version__, lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments

# What a server answers from, and the calls that it is answering.

# Less than what is left after a signal before the process ends itself.
_SETTLE_SECONDS = 1.0


@frozen(kw_only=True)
class ToolService:
    """What is served. `tools` are definitions as `tools/list` has them; `answer` is given a name,
    arguments and a question whether the caller is still there, and gives text; `version` is
    another one once the index has changed. All may raise CapdiscError.
    """

    tools: Callable[[], list[dict[str, Any]]]
    answer: Callable[[str, Mapping[str, Any], Callable[[], bool]], str]
    overview: Callable[[], str]
    version: Callable[[], str]


class RequestTracker:
    """The calls that are being answered, each in a thread: running a tool may take long. Who
    cancels a call, and the end of the server, are told on to what it runs, which is then killed.
    """

    def __init__(self, sdk: Any, counter: ToolService) -> None:
        self._sdk, self._counter = sdk, counter
        self._unfinished: set[threading.Event] = set()

    async def answer_call(self, name: str, arguments: Arguments) -> tuple[str, bool]:
        """The answer, or what is wrong and that it is an error."""
        left, finished = threading.Event(), threading.Event()
        self._unfinished.add(finished)
        try:
            ask = partial(self._answer, name, arguments, left, finished)
            text, is_error = await self._sdk.anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
            return text, is_error
        finally:
            left.set()

    def settle(self) -> None:
        """Wait a moment for calls that were left to end what they run."""
        for finished in list(self._unfinished):
            finished.wait(_SETTLE_SECONDS)

    def _answer(
        self,
        name: str,
        arguments: Arguments,
        left: threading.Event,
        finished: threading.Event,
    ) -> tuple[str, bool]:
        try:
            return self._counter.answer(name, arguments, left.is_set), False
        except CapdiscError as error:
            return format_error(error), True
        except Exception as error:
            return f"this is a bug in capdisc ({type(error).__name__}): {error}", True
        finally:
            finished.set()
            self._unfinished.discard(finished)


def format_error(error: CapdiscError) -> str:
    """An error as an agent reads it."""
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message


OVERVIEW_URI = "capdisc://tier0"
_POLL_SECONDS = 1.0
_INSTRUCTIONS = "Finds the few capabilities (tools, skills, tables, documents) that a task needs. Ask before the first step."


def serve(counter: ToolService) -> None:
    """Serve until stdin ends. Raises InputError without the SDK."""
    sdk = lazy_imports.mcp_sdk()
    calls = RequestTracker(sdk, counter)
    try:
        sdk.anyio.run(_serve, sdk, counter, calls)
    finally:
        calls.settle()


async def _serve(sdk: Any, counter: ToolService, calls: RequestTracker) -> None:
    bus, sessions = sdk.Bus(), set[Any]()
    server = _build_server(sdk, counter, calls, sdk.ListenHandler(bus), sessions)
    options = server.create_initialization_options(
        sdk.NotificationOptions(tools_changed=True, resources_changed=True)
    )
    async with sdk.stdio_server() as (incoming, outgoing), sdk.anyio.create_task_group() as tasks:
        tasks.start_soon(_notify_changes, sdk, counter, bus, sessions)
        await server.run(incoming, outgoing, options)
        tasks.cancel_scope.cancel()


def _build_server(
    sdk: Any, counter: ToolService, calls: RequestTracker, listening: Any, sessions: set[Any]
) -> Any:
    """The server; each session of the protocol's older versions that begins is put into
    `sessions`.
    """
    types = sdk.types

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(definition) for definition in counter.tools()]
        )

    async def call_tool(context: Any, params: Any) -> Any:
        text, is_error = await calls.answer_call(params.name, params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=is_error
        )

    async def list_resources(context: Any, params: Any) -> Any:
        words = "The categories of capabilities that there are, in at most 200 tokens."
        overview = types.Resource(
            uri=OVERVIEW_URI, name="overview", description=words, mime_type="text/plain"
        )
        return types.ListResourcesResult(resources=[overview])

    async def read_resource(context: Any, params: Any) -> Any:
        try:
            if str(params.uri) != OVERVIEW_URI:
                raise sdk.Error(types.INVALID_PARAMS, f"there is no resource but {OVERVIEW_URI}")
            text = counter.overview()
        except CapdiscError as error:
            raise sdk.Error(types.INTERNAL_ERROR, format_error(error)) from None
        content = types.TextResourceContents(uri=OVERVIEW_URI, text=text, mime_type="text/plain")
        return types.ReadResourceResult(contents=[content])

    async def begun(context: Any, params: Any) -> None:
        sessions.add(context.session)

    server = sdk.Server(
        "capdisc",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscriptions_listen=listening,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, begun)
    return server


async def _notify_changes(sdk: Any, counter: ToolService, bus: Any, sessions: set[Any]) -> None:
    """Once a second, whether the index is another one; whoever listens then asks for the lists
    anew.
    """
    last_version = counter.version()
    while True:
        await sdk.anyio.sleep(_POLL_SECONDS)
        if (now := counter.version()) == last_version:
            continue
        last_version = now
        for session in list(sessions):
            await session.send_tool_list_changed()
            await session.send_resource_list_changed()
        await bus.publish(sdk.ToolsListChanged())
        await bus.publish(sdk.ResourceUpdated(OVERVIEW_URI))
