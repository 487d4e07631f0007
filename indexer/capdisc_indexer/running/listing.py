"""The list of tools of an MCP server, which is started for it and ended after it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer.errors import InputError
from capdisc_indexer.running import sdk as gate
from capdisc_indexer.running.masking import mask_json, mask_stream
from capdisc_indexer.running.mcp_server_process import ServerProcess
from capdisc_indexer.running.surroundings import environment, program
from capdisc_indexer.running.values import ToolCall
from capdisc_indexer.sources.server_config import Server, filled, references
from capdisc_indexer.text import one_line

ASK_SECONDS = 20.0
MAX_PAGES = 50
MAX_BYTES = 4 * 1024 * 1024


def listed(server: Server, environ: Mapping[str, str], cwd: Path, seconds: float = ASK_SECONDS) -> list[dict[str, Any]]:
    """The pages of its answer to `tools/list`. The server gets PATH, HOME, LANG and what its entry names, no more.

    Raises InputError without the SDK, and where the server cannot be started, fails, or takes longer than `seconds`.
    """
    sdk = gate.load()
    values = _environment(server, environ)
    argv = (program(server.command, environ, str(cwd)), *(filled(word, environ) or word for word in server.args))
    call = ToolCall(server=server.name, argv=argv, cwd=cwd, tool="", arguments={})
    named = {name: environ[name] for word in server.args for name in references(word, environ)}
    secrets = named | {name: values[name] for name in server.env}
    pages: list[dict[str, Any]] = sdk.anyio.run(_pages, sdk, call, values, secrets, seconds)
    return pages


def _environment(server: Server, environ: Mapping[str, str]) -> dict[str, str]:
    values = {name: filled(text, environ) for name, text in server.env.items()}
    if missing := [name for name, value in values.items() if value is None]:
        message = f"its entry refers to what is not set here: {', '.join(missing)}"
        raise InputError(message, "set it in the environment")
    return environment(environ, ()) | {name: value for name, value in values.items() if value is not None}


async def _pages(
    sdk: Any, call: ToolCall, values: Mapping[str, str], secrets: Mapping[str, str], seconds: float
) -> list[dict[str, Any]]:
    server = ServerProcess(sdk, call, values, MAX_BYTES)
    found: list[dict[str, Any]] | None = None
    problem = ""
    with sdk.anyio.move_on_after(seconds) as scope:
        try:
            async with sdk.Client(
                server.connected(), client_info=sdk.types.Implementation(name="capdisc", version="1")
            ) as one:
                found = await _asked(one)
        except Exception as error:
            problem = _said(error, secrets)
    if found is None or scope.cancelled_caught:
        why = f"no answer within {seconds:g} seconds" if scope.cancelled_caught else problem or "no answer"
        said = one_line(mask_stream(server.stderr, secrets, is_cut=True).decode("utf-8", "replace"), 200)
        raise InputError(f"{why}{f' ({said})' if said else ''}", "start it by hand to see what is wrong")
    return found


async def _asked(client: Any) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = []
    cursor = None
    while len(pages) < MAX_PAGES:
        page = await client.list_tools(cursor=cursor)
        pages.append({"tools": [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools]})
        cursor = page.next_cursor
        if not cursor:
            break
    return pages


def _said(error: BaseException, secrets: Mapping[str, str]) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = error.message if isinstance(error, InputError) else str(error) or type(error).__name__
    return one_line(str(mask_json(text, secrets)), 200)
