"""What a client asks first, `initialize` and `tools/list`, answered before the SDK is imported.

A client that loads our tools always waits for both when it starts, and the SDK takes 0.5 s. The
SDK then reads all lines again that it has to know, and its own answer to `initialize` is dropped.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from capdisc.output import console
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.version import __version__
from capdisc_indexer.platforms import system

RequestId: TypeAlias = int | str

SERVER_NAME = "capdisc"
# Those that begin with `initialize`, the newest last; a client of another one is offered that.
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_CAPABILITIES: JsonObject = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": True, "subscribe": False},
    "tools": {"listChanged": True},
}
# How long a client may wait with its second request before the SDK takes over, which also tells
# of changes.
_QUIET_SECONDS = 1.0
_MAX_BYTES = 1024 * 1024


@frozen(kw_only=True)
class Opening:
    """What came first on a stream: `unread` are the bytes that the SDK has to read, `answered` is
    the id of the `initialize` among them that has its answer.
    """

    unread: bytes
    answered: RequestId | None


def take_stdin() -> int:
    """A descriptor of stdin that no process inherits; from now on, stdin itself is empty."""
    own_fd, null_fd = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    os.close(null_fd)
    return own_fd


def answer_opening(
    stdin: int, instructions: str, list_tools: Callable[[], list[JsonObject]] | None
) -> Opening | None:
    """Answers `initialize` and the first `tools/list` on stdout, the latter unless the tools
    depend on the index (None), and gives what was read; None where the client is gone and waits
    for nothing, or reads nothing because stdout is closed.
    """
    if sys.stdout is None:
        return None
    unread, partial_line, answered = b"", b"", None
    wait_seconds: float | None = None
    is_waiting = False
    while (
        system.wait_for_input(stdin, wait_seconds) and len(unread) + len(partial_line) < _MAX_BYTES
    ):
        data = os.read(stdin, 65_536)
        if not (data or is_waiting or partial_line):
            return None
        if not data:
            break
        lines = (partial_line + data).split(b"\n")
        partial_line = lines.pop()
        for line in lines:
            message = _parse_message(line)
            is_first = answered is None and not is_waiting
            if is_first and (version := _requested_version(message)) is not None:
                _print_result(message["id"], _initialize_result(version, instructions))
                answered, wait_seconds = message["id"], _QUIET_SECONDS
            elif answered is not None and list_tools and _asks_for_tools(message):
                _print_result(message["id"], {"tools": list_tools()})
                list_tools, wait_seconds = None, 0
                continue
            elif is_first or "id" in message or not message:
                is_waiting, wait_seconds = True, 0
            unread += line + b"\n"
    return Opening(unread=unread + partial_line, answered=answered)


def _parse_message(line: bytes) -> JsonObject:
    """The message of a line; empty for any other line."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else {}


def _requested_version(message: JsonObject) -> str | None:
    """The version that an `initialize` asks for; None for another message."""
    match message:
        case {
            "method": "initialize",
            "id": int() | str(),
            "params": {
                "protocolVersion": str(version),
                "capabilities": dict(),
                "clientInfo": {"name": str(), "version": str()},
            },
        }:
            return version
    return None


def _asks_for_tools(message: JsonObject) -> bool:
    match message:
        # A client of the newer protocol names its version in each request.
        case {"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": _}}}:
            return False
        case {"method": "tools/list", "id": int() | str()}:
            return isinstance(message.get("params", {}), dict)
    return False


def _initialize_result(version: str, instructions: str) -> JsonObject:
    return {
        "protocolVersion": version if version in _VERSIONS else _VERSIONS[-1],
        "capabilities": _CAPABILITIES,
        "serverInfo": {"name": SERVER_NAME, "version": __version__},
        "instructions": instructions,
    }


def _print_result(request_id: RequestId, result: JsonObject) -> None:
    response = {"jsonrpc": "2.0", "id": request_id, "result": result}
    console.print_result(console.format_json_text(response, indent=None))


class _RestOfStdin(io.RawIOBase):
    def __init__(self, unread: bytes, stdin: int) -> None:
        self._unread, self._stdin = unread, stdin

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._unread[: len(buffer)] or os.read(self._stdin, len(buffer))
        self._unread = self._unread[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def open_rest(opening: Opening, stdin: int) -> io.TextIOWrapper:
    """What the SDK reads in place of stdin."""
    raw = _RestOfStdin(opening.unread, stdin)
    return io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="replace")


class AnswerFilter:
    """A stream to the client without the answer to the request of this id, which it has had."""

    def __init__(self, stream: Any, answered: RequestId | None) -> None:
        self._stream, self._answered = stream, answered

    async def send(self, item: Any) -> None:
        """Send a message, unless it is that answer."""
        if self._answered is not None and getattr(item.message, "id", None) == self._answered:
            self._answered = None
            return
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> AnswerFilter:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
