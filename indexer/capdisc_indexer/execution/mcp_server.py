"""An MCP server on stdin and stdout: answers calls of tools in every version of the protocol that
the SDK speaks, and tells its clients when the index has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from capdisc_indexer import __version__, lazy_imports
from capdisc_indexer.execution.call_types import Caller
from capdisc_indexer.execution.client_questions import InputNeededError, make_caller
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments, JsonObject

OVERVIEW_URI = "capdisc://tier0"
_POLL_SECONDS = 1.0
# Less than the time between a signal and the end of the process.
_SETTLE_SECONDS = 1.0
_INSTRUCTIONS = "Finds the few capabilities (tools, skills, tables, documents) that a task needs. Ask before the first step."


@frozen(kw_only=True)
class ToolService:
    """What the server answers from. All may raise CapdiscError.

    `tools` gives definitions as `tools/list` has them. `answer` gives the text for a tool's name,
    its arguments, and the caller. `version` gives another
    text once the index has changed.
    """

    tools: Callable[[], list[JsonObject]]
    answer: Callable[[str, Arguments, Caller], str]
    overview: Callable[[], str]
    version: Callable[[], str]


class RequestTracker:
    """The calls that are being answered, each in a thread of its own, as a tool may run for long.
    When a caller cancels a call, or the server ends, what the call runs is killed.
    """

    def __init__(self, sdk: Any, service: ToolService) -> None:
        self._sdk, self._service = sdk, service
        self._unfinished: set[threading.Event] = set()

    async def answer_call(self, context: Any, params: Any) -> tuple[str, bool]:
        """The text of the answer and False, or that of an error and True. Raises InputNeededError
        where the user has to answer something first.
        """
        abandoned, finished = threading.Event(), threading.Event()
        self._unfinished.add(finished)
        caller = make_caller(self._sdk, context, params, abandoned.is_set)
        try:
            answer = partial(self._answer, params.name, params.arguments or {}, caller, finished)
            text, is_error = await self._sdk.anyio.to_thread.run_sync(
                answer, abandon_on_cancel=True
            )
            return text, is_error
        finally:
            abandoned.set()

    def settle(self) -> None:
        """Waits a moment for abandoned calls to end what they run."""
        for finished in list(self._unfinished):
            finished.wait(_SETTLE_SECONDS)

    def _answer(
        self,
        name: str,
        arguments: Arguments,
        caller: Caller,
        finished: threading.Event,
    ) -> tuple[str, bool]:
        try:
            return self._service.answer(name, arguments, caller), False
        except InputNeededError:
            raise
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


def serve(service: ToolService) -> None:
    """Serves until stdin ends. Raises InputError without the SDK."""
    sdk = lazy_imports.mcp_sdk()
    calls = RequestTracker(sdk, service)
    try:
        sdk.anyio.run(_serve, sdk, service, calls)
    finally:
        calls.settle()


async def _serve(sdk: Any, service: ToolService, calls: RequestTracker) -> None:
    bus = sdk.Bus()
    sessions: set[Any] = set()
    server = _build_server(sdk, service, calls, sdk.ListenHandler(bus), sessions)
    options = server.create_initialization_options(
        sdk.NotificationOptions(tools_changed=True, resources_changed=True)
    )
    async with sdk.stdio_server() as (incoming, outgoing), sdk.anyio.create_task_group() as tasks:
        tasks.start_soon(_notify_changes, sdk, service, bus, sessions)
        await server.run(incoming, outgoing, options)
        tasks.cancel_scope.cancel()


def _build_server(
    sdk: Any, service: ToolService, calls: RequestTracker, subscriptions: Any, sessions: set[Any]
) -> Any:
    """The server. Sessions of the older versions of the protocol are added to `sessions` as they
    begin.
    """
    types = sdk.types

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(definition) for definition in service.tools()]
        )

    async def call_tool(context: Any, params: Any) -> Any:
        try:
            text, is_error = await calls.answer_call(context, params)
        except InputNeededError as error:
            return types.InputRequiredResult(input_requests=error.requests)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=is_error
        )

    async def list_resources(context: Any, params: Any) -> Any:
        overview = types.Resource(
            uri=OVERVIEW_URI,
            name="overview",
            description="The categories of capabilities that there are, in at most 200 tokens.",
            mime_type="text/plain",
        )
        return types.ListResourcesResult(resources=[overview])

    async def read_resource(context: Any, params: Any) -> Any:
        try:
            if str(params.uri) != OVERVIEW_URI:
                raise sdk.Error(types.INVALID_PARAMS, f"there is no resource but {OVERVIEW_URI}")
            text = service.overview()
        except CapdiscError as error:
            raise sdk.Error(types.INTERNAL_ERROR, format_error(error)) from None
        content = types.TextResourceContents(uri=OVERVIEW_URI, text=text, mime_type="text/plain")
        return types.ReadResourceResult(contents=[content])

    async def remember_session(context: Any, params: Any) -> None:
        sessions.add(context.session)

    server = sdk.Server(
        "capdisc",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscriptions_listen=subscriptions,
    )
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, remember_session
    )
    return server


async def _notify_changes(sdk: Any, service: ToolService, bus: Any, sessions: set[Any]) -> None:
    """Looks every _POLL_SECONDS whether the index has changed, and tells all clients, which then
    ask for the lists again.
    """
    last_version = service.version()
    while True:
        await sdk.anyio.sleep(_POLL_SECONDS)
        if (version := service.version()) == last_version:
            continue
        last_version = version
        for session in list(sessions):
            await session.send_tool_list_changed()
            await session.send_resource_list_changed()
        await bus.publish(sdk.ToolsListChanged())
        await bus.publish(sdk.ResourceUpdated(OVERVIEW_URI))
