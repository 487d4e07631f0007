"""Talks to `capdisc mcp` with the SDK's own client."""

import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, types
from pydantic import TypeAdapter

ENOUGH = 60
# PYTHONPATH says which checkout is meant, the other where its byte code lies.
KEPT = ("HOME", "PYTHONPATH", "PYTHONPYCACHEPREFIX")


@asynccontextmanager
async def serve(*flags: str, mode: str = "auto", heard=None):
    """A client of a server with these flags; notifications are added to `heard`."""

    async def hear(message) -> None:
        if heard is not None and isinstance(message, types.ServerNotification):
            heard.append(message.method)

    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("CAPDISC_") or name in KEPT
    }
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "capdisc", "mcp", *flags], env=environment
    )
    with anyio.fail_after(ENOUGH):
        async with Client(command, mode=mode, message_handler=hear) as client:
            yield client


def run_session(talk, *flags: str, **options):
    """What `talk(client)` gives."""

    async def session():
        async with serve(*flags, **options) as client:
            return await talk(client)

    return anyio.run(session)


async def call(client, name: str, arguments=None) -> tuple[bool, str]:
    """Whether the answer is an error, and its text."""
    answer = await client.call_tool(name, arguments or {})
    return bool(answer.is_error), answer.content[0].text


async def ask(client, method: str, **params):
    """The answer of a method of the skills extension, as it came."""
    kind = (
        types.PaginatedRequestParams
        if method == "skills/list"
        else types.ReadResourceRequestParams
    )
    request = types.Request[kind, Literal[method]](method=method, params=kind(**params))
    return await client.session.send_request(request, TypeAdapter(dict))


async def refusal(call) -> tuple[int, str]:
    """The code and the message of the error that the call ends with."""
    with pytest.raises(MCPError) as caught:
        await call
    return caught.value.code, caught.value.message


def call_once(name: str, arguments=None, *flags: str, mode: str = "auto") -> tuple[bool, str]:
    """The same in a session of its own."""

    async def talk(client):
        return await call(client, name, arguments)

    return run_session(talk, *flags, mode=mode)


def start_server(*flags: str) -> subprocess.Popen:
    """A server whose client is the test itself."""
    argv = [sys.executable, "-m", "capdisc", "mcp", *flags]
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def wait_for(path: Path) -> None:
    """Wait until the file is there."""
    ends = time.monotonic() + ENOUGH
    while not path.exists():
        assert time.monotonic() < ends
        time.sleep(0.05)
