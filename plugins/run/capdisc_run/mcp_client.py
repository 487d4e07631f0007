"""What an MCP server lists as its tools and skills, and what one of its tools answers. The server is
started for it and ended after it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.version import __version__
from capdisc_indexer.sources.formats.mcp_servers import ServerConfig, fill_variables, variables_in
from capdisc_indexer.text.normalization import one_line
from capdisc_run.call_types import CallLimits, Outcome, ToolCall
from capdisc_run.mcp_server_process import ServerProcess
from capdisc_run.output_masking import mask_json, mask_stream
from capdisc_run.process import build_environment, find_program
from capdisc_run.skill_requests import (
    LIST_TIMEOUT_S,
    MAX_SKILLS_BYTES,
    request_skills,
)

MAX_PAGES = 50
MAX_BYTES = 4 * 1024 * 1024
_POLL_SECONDS = 0.05

# A page of what a server says: {"tools": [...]}, as MCP's `tools/list` has it, or one of skills.
ToolsPage: TypeAlias = JsonObject


def list_tools(
    server: ServerConfig, environ: Mapping[str, str], cwd: Path, seconds: float = LIST_TIMEOUT_S
) -> list[ToolsPage]:
    """The pages of the server's answer to `tools/list`, and those of its skills. The server gets
    PATH, HOME, LANG and the variables that its entry names, no others.

    Raises InputError without the SDK, and where the server cannot be started, fails, or takes
    longer than `seconds`.
    """
    sdk = lazy_imports.mcp_sdk()
    values = _server_environment(server, environ)
    argv = (
        find_program(server.command, environ, str(cwd)),
        *(fill_variables(word, environ) or word for word in server.args),
    )
    call = ToolCall(server=server.name, argv=argv, cwd=cwd, tool="", arguments={})
    secrets = {name: environ[name] for word in server.args for name in variables_in(word, environ)}
    secrets |= {name: values[name] for name in server.env}
    pages: list[ToolsPage] = sdk.anyio.run(_list_pages, sdk, call, values, secrets, seconds)
    return pages


def _server_environment(server: ServerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    values = {name: fill_variables(text, environ) for name, text in server.env.items()}
    if missing := [name for name, value in values.items() if value is None]:
        message = f"its entry refers to what is not set here: {', '.join(missing)}"
        raise InputError(message, "set it in the environment")
    return build_environment(environ, ()) | {
        name: value for name, value in values.items() if value is not None
    }


async def _list_pages(
    sdk: Any, call: ToolCall, values: Mapping[str, str], secrets: Mapping[str, str], seconds: float
) -> list[ToolsPage]:
    server = ServerProcess(sdk, call, values, MAX_BYTES + MAX_SKILLS_BYTES)
    pages: list[ToolsPage] | None = None
    problem = ""
    with sdk.anyio.move_on_after(seconds) as scope:
        try:
            async with sdk.Client(
                server.connect(), client_info=sdk.types.Implementation(name="capdisc", version="1")
            ) as client:
                pages = await request_pages(client)
                scope.deadline = float("inf")  # the skills have a time of their own
                pages += await request_skills(sdk, client)
        except Exception as error:
            problem = _listing_error(error, secrets)
    if pages is None or scope.cancelled_caught:
        reason = problem or "no answer"
        if scope.cancelled_caught:
            reason = f"no answer within {seconds:g} seconds"
        stderr_line = one_line(
            mask_stream(server.stderr, secrets, is_cut=True).decode("utf-8", "replace"), 200
        )
        raise InputError(
            f"{reason}{f' ({stderr_line})' if stderr_line else ''}",
            "start it by hand to see what is wrong",
        )
    return pages


async def request_pages(client: Any) -> list[ToolsPage]:
    """The pages of the server's list, at most MAX_PAGES."""
    pages: list[ToolsPage] = []
    cursor = None
    while len(pages) < MAX_PAGES:
        page = await client.list_tools(cursor=cursor)
        tools = [
            tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools
        ]
        pages.append({"tools": tools})
        cursor = page.next_cursor
        if not cursor:
            break
    return pages


def _listing_error(error: BaseException, secrets: Mapping[str, str]) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = error.message if isinstance(error, InputError) else str(error) or type(error).__name__
    return one_line(str(mask_json(text, secrets)), 200)


def call_tool(call: ToolCall, environment: Mapping[str, str], limits: CallLimits) -> Outcome:
    """What the tool answered, its texts as stdout. The server may speak any version of the
    protocol, from the first one on. Raises InputError without the SDK, or where the server cannot
    be started.
    """
    sdk = lazy_imports.mcp_sdk()
    result: Outcome = sdk.anyio.run(_call_tool, sdk, call, environment, limits)
    return result


async def _call_tool(
    sdk: Any, call: ToolCall, environment: Mapping[str, str], limits: CallLimits
) -> Outcome:
    began = time.monotonic()
    server = ServerProcess(sdk, call, environment, limits.max_bytes)
    result, problem = None, ""
    with sdk.anyio.move_on_after(limits.seconds) as scope:
        try:
            async with sdk.anyio.create_task_group() as tasks:
                tasks.start_soon(end_when_stopped, sdk, limits, scope)
                result = await _request_tool(sdk, server, call)
                tasks.cancel_scope.cancel()
        except Exception as error:
            problem = error_line(error)
    status = "stopped" if limits.is_stopped() else "timeout" if scope.cancelled_caught else ""
    status = "too-large" if server.is_too_large else status
    return build_outcome(result, status, problem, server.stderr, time.monotonic() - began)


async def _request_tool(sdk: Any, server: ServerProcess, call: ToolCall) -> Any:
    name = sdk.types.Implementation(name="capdisc", version=__version__)
    async with sdk.Client(server.connect(), client_info=name) as client:
        return await client.call_tool(call.tool, dict(call.arguments))


async def end_when_stopped(sdk: Any, limits: CallLimits, scope: Any) -> None:
    """Cancels the scope as soon as the caller is gone."""
    while not limits.is_stopped():
        await sdk.anyio.sleep(_POLL_SECONDS)
    scope.cancel()


def error_line(error: Exception) -> str:
    """What went wrong, on one line; of several errors at once, the first. Raises the error where
    it is one of ours.
    """
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CapdiscError):
        raise error
    return (str(error).splitlines() or [type(error).__name__])[0]


def build_outcome(
    result: Any, status: str, problem: str, stderr: bytes, seconds: float
) -> Outcome:
    """The outcome of a call: the result's texts as stdout, or, where there is no result or we
    ended the call (`status`), the problem and the log.
    """
    if result is None or status:
        # The message comes first, as the log may end in the middle of a secret.
        message = (
            f"the server did not answer: {problem}\n".encode() if problem and not status else b""
        )
        return Outcome(
            status=status or "failed",
            exit_code=1,
            stdout=b"",
            stderr=message + stderr,
            is_truncated=bool(status),
            seconds=seconds,
        )
    structured = result.structured_content
    text = "\n".join(_content_text(part) for part in result.content)
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    return Outcome(
        status="failed" if result.is_error else "ok",
        exit_code=int(bool(result.is_error)),
        stdout=(text + "\n" if text else "").encode("utf-8", "replace"),
        stderr=stderr,
        seconds=seconds,
        details={} if structured is None else {"structured_content": structured},
    )


def _content_text(content: Any) -> str:
    """A text as it is; for a picture, a sound or a file, its type, media type and URI."""
    if content.type == "text":
        return str(content.text)
    resource = getattr(content, "resource", None)
    if text := getattr(resource, "text", None):
        return str(text)
    media_type = getattr(content, "mime_type", None) or getattr(resource, "mime_type", None) or ""
    uri = getattr(content, "uri", None) or getattr(resource, "uri", None) or ""
    return " ".join(f"[{content.type} {media_type} {uri}".split()) + "]"
