"""MCP servers that are started by their first call and kept for the next ones.

All connections live in one thread with its own event loop, so that callers in any thread share
them. The connection to a server that is not called for a while ends, and with it the program and
all that it started; all of them end when the pool is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_context import Elicit
from capdisc_run.call_types import Outcome
from capdisc_run.mcp_client import ToolsPage, build_outcome, first_error, first_line
from capdisc_run.output_masking import mask_json, mask_outcome, mask_stream
from capdisc_run.server_connection import (
    START_SECONDS,
    ServerConnection,
    ToolRequest,
    with_status,
)
from capdisc_run.server_launch import ServerLaunch

IDLE_SECONDS = 300.0
MAX_CONNECTIONS = 8
_REAP_SECONDS = 5.0
# Less than the time between a signal and the end of the process.
_CLOSE_SECONDS = 0.9


class ServerPool:
    """The connections of this process, at most `max_connections` at once, each ended after
    `idle_s` seconds without a call. `on_change` is called with the name of a server that says that
    its tools have changed. Raises InputError without the SDK.
    """

    def __init__(
        self,
        on_change: Callable[[str], None] = lambda _: None,
        idle_s: float = IDLE_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._sdk = lazy_imports.mcp_sdk()
        self._on_change, self._idle_s, self._max_connections = on_change, idle_s, max_connections
        self._connections: dict[str, ServerConnection] = {}
        self._locks: dict[str, Any] = {}
        self._tasks: Any = None
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(
            self._sdk.anyio.from_thread.start_blocking_portal()
        )
        self._supervisor, _ = self._portal.start_task(self._supervise)

    def call(self, launch: ServerLaunch, request: ToolRequest) -> Outcome:
        """What the tool answered, without the secrets of its server.

        Raises InputError where the server cannot be reached, and what `request.check` raises.
        """
        outcome: Outcome = self._portal.call(self._call, launch, request)
        return mask_outcome(outcome, launch.secrets, request.limits.max_bytes)

    def list_tools(self, launch: ServerLaunch) -> list[ToolsPage]:
        """The pages of the server's tools and skills, as it gives them now. A server that was
        started for it is ended again. Raises InputError where it cannot be reached.
        """
        pages: list[ToolsPage] = self._portal.call(self._list_tools, launch)
        return pages

    def close(self) -> None:
        """Ends all connections: each program gets a moment to end, and is killed then."""
        if self._supervisor.done():
            return
        ended = self._portal.start_task_soon(self._end_all)
        with suppress(Exception):
            ended.result(_CLOSE_SECONDS)
        for connection in list(self._connections.values()):
            connection.kill()
        self._supervisor.cancel()
        with suppress(Exception):
            self._stack.close()

    async def _supervise(self, *, task_status: Any) -> None:
        anyio = self._sdk.anyio
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            while True:
                await anyio.sleep(min(_REAP_SECONDS, self._idle_s))
                oldest = time.monotonic() - self._idle_s
                for connection in list(self._connections.values()):
                    is_idle = connection.is_lost or connection.last_used < oldest
                    if is_idle and not connection.calls:
                        connection.end()

    async def _end_all(self) -> None:
        connections = list(self._connections.values())
        for connection in connections:
            connection.end()
        for connection in connections:
            await connection.ended.wait()

    async def _list_tools(self, launch: ServerLaunch) -> list[ToolsPage]:
        is_new = launch.name not in self._connections
        connection = await self._open(launch, None)
        try:
            if not is_new:
                await connection.refresh()
            return [*connection.pages, *await connection.read_skills()]
        finally:
            connection.release()
            if is_new and not connection.calls:
                connection.end()

    async def _call(self, launch: ServerLaunch, request: ToolRequest) -> Outcome:
        began = time.monotonic()
        connection = await self._open(launch, request.elicit)
        try:
            request.check(connection.pages)
            result, status, problem = await connection.call(request)
            if (
                problem
                and connection.is_lost
                and (request.may_repeat or connection.was_not_reached)
            ):
                connection.release()
                connection = await self._open(launch, request.elicit)
                request.check(connection.pages)
                result, status, problem = await connection.call(request)
            if connection.is_lost and not request.may_repeat:
                problem += "; whether the tool did its work is unknown"
        finally:
            connection.release()
        return build_outcome(result, status, problem, connection.log, time.monotonic() - began)

    async def _open(self, launch: ServerLaunch, elicit: Elicit | None) -> ServerConnection:
        """The connection of the server, started where there is none that can be used; its caller
        releases it. Raises InputError where the server cannot be reached.
        """
        lock = self._locks.setdefault(launch.name, self._sdk.anyio.Lock())
        async with lock:
            connection = self._connections.get(launch.name)
            if connection and (connection.is_lost or connection.launch != launch):
                connection.end()
                await connection.ended.wait()
                connection = None
            if connection is None:
                self._make_room()
                connection = ServerConnection(self._sdk, launch, self._on_change, elicit)
                self._connections[launch.name] = connection
                connection.hold()  # or a slow start could count as a time without a call
                try:
                    await self._tasks.start(self._run_connection, connection)
                except Exception as error:
                    raise _start_problem(error, connection) from error
            else:
                connection.hold()
            return connection

    async def _run_connection(self, connection: ServerConnection, *, task_status: Any) -> None:
        try:
            await connection.run(task_status)
        finally:
            connection.ended.set()
            if self._connections.get(connection.launch.name) is connection:
                del self._connections[connection.launch.name]

    def _make_room(self) -> None:
        """Ends the connection that was not used for longest, where there are too many."""
        idle = sorted(
            (connection for connection in self._connections.values() if not connection.calls),
            key=lambda connection: connection.last_used,
        )
        if len(self._connections) >= self._max_connections:
            if not idle:
                raise InputError(
                    f"{len(self._connections)} servers are at work already", "call it again later"
                )
            idle[0].end()


def _start_problem(error: BaseException, connection: ServerConnection) -> InputError:
    """The error of a server that cannot be reached, without its secrets."""
    error = first_error(error)
    if isinstance(error, TimeoutError):
        text = f"it did not answer within {START_SECONDS:g} seconds"
    elif isinstance(error, CapdiscError):
        text = error.message
    else:
        text = first_line(error)
    text = one_line(with_status(text, connection.http_status), 300)
    log = mask_stream(connection.log, connection.launch.secrets, is_cut=True).decode(
        "utf-8", "replace"
    )
    last_line = one_line(log.strip().rpartition("\n")[2], 200)
    masked = str(mask_json(text, dict(connection.launch.secrets)))
    name = one_line(connection.launch.name, 80)
    hint = "capdisc mcp --gateway --list says where it is declared"
    if connection.http_status in (401, 403):
        hint = "it wants a login: put its token into the headers of its entry"
    return InputError(
        f"the server {name} cannot be reached: {masked}{f' ({last_line})' if last_line else ''}",
        hint,
    )
