"""One running MCP server and the client that speaks to it, over standard streams or HTTP, for many
calls.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_context import Elicit, Progress
from capdisc_run.call_types import CallLimits
from capdisc_run.mcp_client import (
    MAX_BYTES,
    ToolsPage,
    client_info,
    first_line,
    request_pages,
    request_skills,
    request_within,
)
from capdisc_run.mcp_server_process import ServerProcess
from capdisc_run.server_launch import ServerLaunch

# The first start of a server may download it (npx, uvx).
START_SECONDS = 60.0
_SESSION_LOST = "Session terminated"


@frozen(kw_only=True)
class ToolRequest:
    """One call of a tool. `check` gets the server's own list of tools before the call and raises
    a CapdiscError where it must not be made; `may_repeat` says that a second call does no harm.
    """

    tool: str
    arguments: Arguments
    limits: CallLimits
    check: Callable[[Sequence[ToolsPage]], None] = lambda _: None
    may_repeat: bool = False
    elicit: Elicit | None = None
    progress: Progress | None = None


class ServerConnection:
    """One server while it runs, and the client that speaks to it."""

    def __init__(
        self,
        sdk: Any,
        launch: ServerLaunch,
        on_change: Callable[[str], None],
        elicit: Elicit | None,
    ) -> None:
        self._sdk, self.launch, self._on_change = sdk, launch, on_change
        self._elicits: list[Elicit] = []
        self._can_elicit = elicit is not None
        self._closing, self.ended = sdk.anyio.Event(), sdk.anyio.Event()
        self._client: Any = None
        self._process: ServerProcess | None = None
        self._meter = _Meter()
        self._has_failed = False
        self.was_not_reached = False
        self.pages: list[ToolsPage] = []
        self.calls, self.last_used = 0, time.monotonic()

    @property
    def is_lost(self) -> bool:
        """Whether the server has ended, or can no longer be used."""
        return (
            self._has_failed
            or self._closing.is_set()
            or (self._process is not None and self._process.has_ended)
        )

    @property
    def log(self) -> bytes:
        """The end of what the program wrote outside the protocol."""
        return self._process.stderr if self._process else b""

    @property
    def http_status(self) -> int:
        """The status of the last HTTP answer that was an error, 0 where there was none."""
        return self._meter.error_status

    def hold(self) -> None:
        """Counts a caller, who releases the session in the end."""
        self.calls += 1

    def release(self) -> None:
        """Ends what `hold` began."""
        self.calls -= 1
        self.last_used = time.monotonic()

    def end(self) -> None:
        """Lets the server end, from the thread of the sessions."""
        self._closing.set()

    def kill(self) -> None:
        """Kills a program that still runs, from any thread."""
        if self._process:
            self._process.kill()

    async def run(self, task_status: Any) -> None:
        """Runs until `end`. Raises what keeps the session from its start; later errors end it."""
        is_started = False
        try:
            async with self._connect() as client:
                self._client = client
                await self.refresh()
                is_started = True
                task_status.started()
                await self._wait(client)
        except Exception:
            if not is_started:
                raise
        finally:
            self._has_failed = True

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Any]:
        sdk = self._sdk
        if self.launch.url:
            transport = _connect_http(self.launch, self._meter)
        else:
            launch = self.launch
            self._process = ServerProcess(
                sdk, launch.argv, launch.cwd, launch.environment, MAX_BYTES, is_kept=True
            )
            transport = self._process.connect()
        client = sdk.Client(
            transport,
            client_info=client_info(sdk),
            elicitation_callback=self._answer_elicitation if self._can_elicit else None,
            message_handler=self._read_message,
            cache=None,
        )
        with sdk.anyio.move_on_after(START_SECONDS) as scope:
            async with client:
                scope.deadline = float("inf")
                yield client
        if scope.cancelled_caught:
            raise InputError(f"it did not answer within {START_SECONDS:g} seconds", "try again")

    async def _wait(self, client: Any) -> None:
        """Waits for `end`; meanwhile listens, where the protocol has a request for that, whether
        the tools change.
        """
        async with self._sdk.anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, client)
            await self._closing.wait()
            tasks.cancel_scope.cancel()

    async def _listen(self, client: Any) -> None:
        with suppress(Exception):  # an older protocol, or a server that does not listen
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._on_change(self.launch.name)

    async def _read_message(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._on_change(self.launch.name)

    async def refresh(self) -> None:
        """Reads the server's list of tools."""
        self._meter.reset()
        with self._sdk.anyio.fail_after(START_SECONDS):
            self.pages = await request_pages(self._client)

    async def read_skills(self) -> list[ToolsPage]:
        """The pages of the server's skills, which an index is made of."""
        self._meter.reset()
        return await request_skills(self._sdk, self._client)

    async def call(self, request: ToolRequest) -> tuple[Any, str, str]:
        """The result of the SDK's client or None, the status of a call that we ended ("" for
        another one), and what went wrong.
        """
        self._meter.reset()
        if self._process:
            self._process.forget_log()
        if request.elicit:
            self._elicits.append(request.elicit)
        call_tool = partial(
            self._client.call_tool,
            request.tool,
            dict(request.arguments),
            progress_callback=_progress_callback(self._sdk, request.progress),
        )
        result, error, status = await request_within(self._sdk, request.limits, call_tool)
        problem = self._read_problem(error) if error else ""
        if request.elicit:
            self._elicits.remove(request.elicit)
        if status and self.calls == 1:  # it may be stuck for good; others of its calls may go on
            self.end()
        if self._meter.is_too_large or (self._process and self._process.is_too_large):
            status = "too-large"
        return result, status, problem

    def _read_problem(self, error: BaseException) -> str:
        """What went wrong, on one line; notes whether the session is lost with it."""
        text = first_line(error)
        self.was_not_reached = text == _SESSION_LOST or isinstance(error, ConnectionError)
        is_answer = isinstance(error, self._sdk.Error) and text != _SESSION_LOST
        is_closed = is_answer and getattr(error, "code", 0) == self._sdk.types.CONNECTION_CLOSED
        if not is_answer or is_closed:
            self._has_failed = True
        if is_closed:
            text = "it has ended"
        return with_status(text, self.http_status)

    async def _answer_elicitation(self, context: Any, params: Any) -> Any:
        """What the user of the latest call answers; "decline" where none can be asked now."""
        types = self._sdk.types
        if not self._elicits:
            return types.ElicitResult(action="decline")
        elicit = self._elicits[-1]
        document = params.model_dump(by_alias=True, exclude_none=True, mode="json")
        server = one_line(self.launch.name, 80)
        document["message"] = f"The MCP server {server} asks: {document.get('message', '')}"
        try:
            answer = await self._sdk.anyio.to_thread.run_sync(
                elicit, document, abandon_on_cancel=True
            )
        except CapdiscError:
            return types.ElicitResult(action="decline")
        return types.ElicitResult.model_validate(answer)


def _progress_callback(sdk: Any, progress: Progress | None) -> Any:
    if progress is None:
        return None

    async def report(done: float, total: float | None, message: str | None) -> None:
        await sdk.anyio.to_thread.run_sync(progress, done, total, message or "")

    return report


def with_status(text: str, http_status: int) -> str:
    """The text of an error, or the HTTP status that is behind it."""
    return f"it answered with HTTP status {http_status}" if http_status else text


# Servers that speak HTTP.


class _Meter:
    """The bytes of one answer, and the status of the last one that was an error."""

    def __init__(self) -> None:
        self.error_status = 0
        self.is_too_large = False

    def reset(self) -> None:
        """Forgets the last answer."""
        self.error_status, self.is_too_large = 0, False


@asynccontextmanager
async def _connect_http(launch: ServerLaunch, meter: _Meter) -> AsyncIterator[Any]:
    """The streams of messages from and to the server. No answer may be larger than MAX_BYTES; a
    redirect is followed within the server's own origin alone.
    """
    http = lazy_imports.mcp_http_client()
    client = http.httpx.AsyncClient(
        headers=dict(launch.headers),
        timeout=http.httpx.Timeout(30.0, read=300.0),
        event_hooks={"response": [lambda response: _limit_answer(response, meter)]},
    )
    async with (
        client,
        http.streamable_http_client(
            launch.url, http_client=client, max_sse_event_size=MAX_BYTES
        ) as streams,
    ):
        yield streams


async def _limit_answer(response: Any, meter: _Meter) -> None:
    if response.status_code >= 400 and response.request.method == "POST":
        meter.error_status = response.status_code
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return  # the SDK limits each event
    read = response.aiter_raw

    async def read_limited(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in read(chunk_size):
            size += len(chunk)
            if size > MAX_BYTES:
                meter.is_too_large = True
                raise OSError("its answer is too large")
            yield chunk

    response.aiter_raw = read_limited
