"""One call of a tool of an MCP server, which is started for it and ended after it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from capdisc_indexer import __version__
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.running import sdk as gate
from capdisc_indexer.running.mcp_server_process import ServerProcess
from capdisc_indexer.running.values import Limits, Outcome, ToolCall

_POLL_SECONDS = 0.05


def called(call: ToolCall, environment: Mapping[str, str], limits: Limits) -> Outcome:
    """What the tool answered: its texts on stdout. Raises InputError without the SDK, or where the server cannot be
    started. Whatever protocol version the server speaks, from the first one on, is spoken."""
    sdk = gate.load()
    result: Outcome = sdk.anyio.run(_called, sdk, call, environment, limits)
    return result


async def _called(sdk: Any, call: ToolCall, environment: Mapping[str, str], limits: Limits) -> Outcome:
    began = time.monotonic()
    server = ServerProcess(sdk, call, environment, limits.max_bytes)
    found, problem = None, ""
    with sdk.anyio.move_on_after(limits.seconds) as scope:
        try:
            async with sdk.anyio.create_task_group() as tasks:
                tasks.start_soon(_end_when_stopped, sdk, limits, scope)
                found = await _asked(sdk, server, call)
                tasks.cancel_scope.cancel()
        except Exception as error:
            problem = _said(error)
    status = "stopped" if limits.stopped() else "timeout" if scope.cancelled_caught else ""
    status = "too-large" if server.is_too_large else status
    return _outcome(found, status, problem, server.stderr, time.monotonic() - began)


async def _asked(sdk: Any, server: ServerProcess, call: ToolCall) -> Any:
    name = sdk.types.Implementation(name="capdisc", version=__version__)
    async with sdk.Client(server.connected(), client_info=name) as client:
        return await client.call_tool(call.tool, dict(call.arguments))


async def _end_when_stopped(sdk: Any, limits: Limits, scope: Any) -> None:
    while not limits.stopped():
        await sdk.anyio.sleep(_POLL_SECONDS)
    scope.cancel()


def _said(error: Exception) -> str:
    """What went wrong in one line; of several things at once, the first. Ours pass through."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CapdiscError):
        raise error
    return (str(error).splitlines() or [type(error).__name__])[0]


def _outcome(found: Any, status: str, problem: str, stderr: bytes, seconds: float) -> Outcome:
    if found is None or status:
        # First, since the log may end in the middle of a secret.
        said = f"the server did not answer: {problem}\n".encode() if problem and not status else b""
        return Outcome(
            status=status or "failed", exit_code=1, stdout=b"", stderr=said + stderr, truncated=bool(status),
            seconds=seconds,
        )  # fmt: skip
    structured = found.structured_content
    text = "\n".join(_text(each) for each in found.content)
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    return Outcome(
        status="failed" if found.is_error else "ok",
        exit_code=int(bool(found.is_error)),
        stdout=(text + "\n" if text else "").encode("utf-8", "replace"),
        stderr=stderr,
        seconds=seconds,
        more={} if structured is None else {"structured_content": structured},
    )


def _text(content: Any) -> str:
    """A text as it is; of a picture, a sound or a file, what it is."""
    if content.type == "text":
        return str(content.text)
    inner = getattr(content, "resource", None)
    if text := getattr(inner, "text", None):
        return str(text)
    kind = getattr(content, "mime_type", None) or getattr(inner, "mime_type", None) or ""
    where = getattr(content, "uri", None) or getattr(inner, "uri", None) or ""
    return " ".join(f"[{content.type} {kind} {where}".split()) + "]"
