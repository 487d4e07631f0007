"""An MCP server in its own process, as a transport for the SDK's client.

The SDK's own transport gives the server more of the environment, and reads lines of any length.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.platforms import system
from capdisc_indexer.sources.readers.process_group import delay_signals
from capdisc_run.process import check_can_run, start_error

# How long a server may take to end by itself once its stdin is closed.
_GRACE_SECONDS = 1.0
# How much is remembered of what a server that is kept writes outside the protocol.
_KEPT_LOG_BYTES = 16 * 1024


class ServerProcess:
    """The server from its start to its end. `is_too_large` says that it wrote more than
    `max_bytes`, after which nothing of it was read. A server that is kept for many calls
    (`is_kept`) may write more in all: its limit is that of one message.
    """

    def __init__(
        self,
        sdk: Any,
        argv: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        max_bytes: int,
        is_kept: bool = False,
    ) -> None:
        self._sdk, self._argv, self._cwd, self._environment = sdk, argv, cwd, environment
        self._max_bytes, self._size, self._is_kept = max_bytes, 0, is_kept
        self._stderr: list[bytes] = []
        self._stray: list[bytes] = []  # lines on stdout that are not messages
        self._process: Any = None
        self.is_too_large = False
        self.has_ended = False

    @property
    def stderr(self) -> bytes:
        """What it wrote outside the protocol: first lines on stdout, then all of stderr in one
        piece.
        """
        return b"".join([*self._stray, *self._stderr])

    def forget_log(self) -> None:
        """Forgets what it wrote outside the protocol until now."""
        self._stderr.clear()
        self._stray.clear()

    def kill(self) -> None:
        """Kills the server and all that it started, from any thread."""
        if self._process is not None and self._process.returncode is None:
            system.kill_group(self._process.pid)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[Any, Any]]:
        """The streams of messages from and to the server. Raises InputError where it cannot be
        started.

        On the way out the server and all that it started are ended, at once when something went
        wrong.
        """
        try:
            with delay_signals():
                self._process = await self._start_process()
            async with self._open_streams() as streams:
                yield streams
        except BaseException:
            self.kill()
            raise

    @asynccontextmanager
    async def _open_streams(self) -> AsyncIterator[tuple[Any, Any]]:
        anyio = self._sdk.anyio
        # Messages from the server: this class writes them, the client reads them. And the reverse.
        from_server, client_input = anyio.create_memory_object_stream(0)
        client_output, to_server = anyio.create_memory_object_stream(0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read_messages, from_server)
            tasks.start_soon(self._read_stderr)
            tasks.start_soon(self._write_messages, to_server)
            grace_s = 0.0
            try:
                yield client_input, client_output
                grace_s = _GRACE_SECONDS
            finally:
                with anyio.CancelScope(shield=True):
                    await self._shut_down(grace_s)
                    for stream in (from_server, client_input, client_output, to_server):
                        stream.close()
                tasks.cancel_scope.cancel()

    async def _shut_down(self, grace_s: float) -> None:
        with suppress(*self._stream_errors):
            await self._process.stdin.aclose()
        with self._sdk.anyio.move_on_after(grace_s):
            await self._process.wait()
        system.kill_group(self._process.pid)
        await self._process.wait()
        await self._process.aclose()

    async def _start_process(self) -> Any:
        check_can_run()
        pipe = subprocess.PIPE
        try:
            return await self._sdk.anyio.open_process(
                self._argv,
                env=dict(self._environment),
                cwd=self._cwd,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                **system.group_options(),
            )
        except (OSError, ValueError) as error:
            raise start_error(self._argv, error) from error

    @property
    def _stream_errors(self) -> tuple[type[BaseException], ...]:
        anyio = self._sdk.anyio
        return anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError

    async def _read_messages(self, incoming: Any) -> None:
        """Passes on messages, a line each, until the output ends or is too large."""
        pending: list[bytes] = []
        with suppress(*self._stream_errors):
            async with incoming:
                while data := await self._receive_chunk(self._process.stdout):
                    *line_ends, unfinished_line = data.split(b"\n")
                    for line_end in line_ends:
                        await self._dispatch_line(b"".join([*pending, line_end]), incoming)
                        pending = []
                    pending.append(unfinished_line)
                    if self._is_kept and line_ends:
                        self._size = len(unfinished_line)
        self.has_ended = True

    async def _receive_chunk(self, stream: Any) -> bytes:
        data: bytes = await stream.receive()
        self._size += len(data)
        self.is_too_large = self._size > self._max_bytes
        return b"" if self.is_too_large else data

    async def _dispatch_line(self, line: bytes, incoming: Any) -> None:
        message = self._parse_message(line) if line.lstrip().startswith(b"{") else None
        if message is None:  # a greeting, or a log in the wrong place
            self._remember_log(self._stray, line + b"\n")
        else:
            await incoming.send(self._sdk.SessionMessage(message))

    def _parse_message(self, line: bytes) -> Any:
        try:
            return self._sdk.types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return None

    async def _read_stderr(self) -> None:
        with suppress(*self._stream_errors):
            while data := await (
                self._process.stderr.receive()
                if self._is_kept
                else self._receive_chunk(self._process.stderr)
            ):
                self._remember_log(self._stderr, data)

    def _remember_log(self, chunks: list[bytes], data: bytes) -> None:
        """Adds the data; of a server that is kept, only the end of its log stays."""
        chunks.append(data)
        if self._is_kept:
            chunks[:] = [b"".join(chunks)[-_KEPT_LOG_BYTES:]]

    async def _write_messages(self, outgoing: Any) -> None:
        with suppress(*self._stream_errors):
            async with outgoing:
                async for session_message in outgoing:
                    text = session_message.message.model_dump_json(
                        by_alias=True, exclude_unset=True
                    )
                    await self._process.stdin.send(text.encode() + b"\n")
