"""What is run, where, within which limits, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import Arguments

MAX_OUTPUT_BYTES = 1024 * 1024
DEFAULT_SECONDS = 60.0
# What a manifest may ask for; a user may ask for more.
MAX_MANIFEST_SECONDS = 600.0


@frozen(kw_only=True)
class ExecutionContext:
    """Where a capability is run: the caller's environment and folder, and the folders that were
    indexed.
    """

    environ: Mapping[str, str]
    cwd: Path
    roots: tuple[str, ...] = ()
    allow_http: bool = False
    allow_private: bool = False


@frozen(kw_only=True)
class CallLimits:
    """When a call is ended. `stopped` is asked all along, for callers that may lose interest."""

    seconds: float = DEFAULT_SECONDS
    max_bytes: int = MAX_OUTPUT_BYTES
    is_stopped: Callable[[], bool] = lambda: False


@frozen(kw_only=True)
class CommandCall:
    """A program with its arguments, one word each, no shell. `environment` names what it gets
    beside PATH, HOME and LANG.
    """

    argv: tuple[str, ...]
    cwd: Path
    stdin: bytes | None = None
    environment: tuple[str, ...] = ()


@frozen(kw_only=True)
class ToolCall:
    """A tool of an MCP server that is started for this one call and speaks over its standard
    streams.
    """

    server: str
    argv: tuple[str, ...]
    cwd: Path
    tool: str
    arguments: Arguments
    environment: tuple[str, ...] = ()


@frozen(kw_only=True)
class Credential:
    """A secret by name, and where it stands in the request: `place` is header or query."""

    secret: str
    place: str = "header"
    name: str = "Authorization"
    prefix: str = "Bearer "


@frozen(kw_only=True)
class HttpCall:
    """One request. Its URL holds no secret; credentials are put in when it is sent."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    credentials: tuple[Credential, ...] = ()
    allow_http: bool = False
    allow_private: bool = False

    @property
    def environment(self) -> tuple[str, ...]:
        """The names of the secrets that it needs."""
        return tuple(credential.secret for credential in self.credentials)


Call: TypeAlias = CommandCall | ToolCall | HttpCall


@frozen(kw_only=True)
class Outcome:
    """What a call gave: `status` is ok, failed, timeout, too-large or stopped; with the last three
    it was ended by us, and what there is of its output is `truncated`. `exit_code` is a program's
    own, or 128 and its signal's number. `more` are facts of one kind of call: `http_status`,
    `content_type`, `structured_content`.
    """

    status: str
    exit_code: int
    stdout: bytes
    stderr: bytes = b""
    is_truncated: bool = False
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
