"""The values of a run: its limits, the call in each of three forms, the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import Arguments

MAX_OUTPUT_BYTES = 1024 * 1024
DEFAULT_SECONDS = 60.0
# What a manifest may ask for; a user may ask for more.
MAX_MANIFEST_SECONDS = 600.0


@frozen(kw_only=True)
class CallLimits:
    """When a call is ended: after `seconds`, past `max_bytes` of output, or as soon as
    `is_stopped` is true, which is asked again and again while the call runs.
    """

    seconds: float = DEFAULT_SECONDS
    max_bytes: int = MAX_OUTPUT_BYTES
    is_stopped: Callable[[], bool] = lambda: False


@frozen(kw_only=True)
class CommandCall:
    """A program with its arguments, without a shell. `environment` names the variables that it
    gets besides PATH, HOME and LANG.
    """

    argv: tuple[str, ...]
    cwd: Path
    stdin: bytes | None = None
    environment: tuple[str, ...] = ()


@frozen(kw_only=True)
class ToolCall:
    """A tool of an MCP server, which is started as `argv` for this one call and speaks over its
    standard streams.
    """

    server: str
    argv: tuple[str, ...]
    cwd: Path
    tool: str
    arguments: Arguments
    environment: tuple[str, ...] = ()


@frozen(kw_only=True)
class Credential:
    """A secret by the name of its variable, and where it stands in the request: behind `prefix` in
    the header or query parameter `name`. `place` is header or query.
    """

    secret: str
    place: str = "header"
    name: str = "Authorization"
    prefix: str = "Bearer "


@frozen(kw_only=True)
class HttpCall:
    """One request. It holds no secret: credentials are filled in when it is sent."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    credentials: tuple[Credential, ...] = ()
    allow_http: bool = False
    allow_private: bool = False

    @property
    def environment(self) -> tuple[str, ...]:
        """The names of the variables with its secrets."""
        return tuple(credential.secret for credential in self.credentials)


Call: TypeAlias = CommandCall | ToolCall | HttpCall


@frozen(kw_only=True)
class Outcome:
    """What a call gave. `status` is ok, failed, timeout, too-large or stopped; with the last three
    we ended the call, and the output is incomplete (`is_truncated`). `exit_code` is a program's
    own, or 128 and the number of its signal. `details` are facts of one kind of call:
    `http_status`, `content_type`, `structured_content`.
    """

    status: str
    exit_code: int
    stdout: bytes
    stderr: bytes = b""
    is_truncated: bool = False
    seconds: float = 0.0
    details: Mapping[str, object] = field(default_factory=dict)
