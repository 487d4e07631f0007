"""What the `run` of a manifest declares, as values with names.

Anyone may have written a manifest, so a field whose check needs the arguments, or comes later, is
an `object` here and checked where the call is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_run.call_types import MAX_MANIFEST_SECONDS

_RUN_HINT = "run: {command: [...]}, {mcp: {...}} or {http: {...}}"


@frozen(kw_only=True)
class CommandRun:
    """`run.command`: a program. `command` should be a list of words and of lists of words; `stdin`
    is None, "json" or one "{parameter}".
    """

    command: object
    stdin: object
    is_in_capability_folder: bool


@frozen(kw_only=True)
class ToolRun:
    """`run.mcp`: a tool of an MCP server that is started over stdio. `env` names the variables
    that the server gets where they are set.
    """

    server: str
    command: str
    args: tuple[str, ...]
    tool: str
    env: tuple[str, ...]
    is_in_capability_folder: bool


@frozen(kw_only=True)
class HttpRun:
    """`run.http`: a request. `parameters` should be objects {name, in}; `security` names of
    secrets or objects {secret, in, name, prefix}. `method` is in capitals.
    """

    method: str
    url: object
    parameters: tuple[object, ...]
    is_form: bool
    security: tuple[object, ...]


DeclaredRun: TypeAlias = CommandRun | ToolRun | HttpRun


def read_run(descriptor: Descriptor) -> DeclaredRun:
    """What the capability declares. Raises InputError where it declares no run, and for an MCP
    server that cannot be started.
    """
    run = descriptor.run or {}
    if "command" in run:
        return CommandRun(
            command=run["command"],
            stdin=run.get("stdin"),
            is_in_capability_folder=_is_in_capability_folder(run),
        )
    if isinstance(mcp := run.get("mcp"), Mapping):
        return _read_tool_run(mcp, descriptor.name)
    if isinstance(http := run.get("http"), Mapping):
        return read_http_run(http)
    raise InputError("its manifest does not say what", _RUN_HINT)


def _read_tool_run(mcp: Mapping[str, object], default_tool: str) -> ToolRun:
    command, args, tool = mcp.get("command"), mcp.get("args", []), mcp.get("tool", default_tool)
    if not (_is_word(command) and _is_word(tool) and _are_words(args)):
        raise InputError(
            "its MCP server is not one that can be started",
            "mcp: {command, args, tool}; only over stdio",
        )
    env = mcp.get("env")
    return ToolRun(
        server=str(mcp.get("server", command)),
        command=command,
        args=tuple(args),
        tool=tool,
        env=tuple(
            name
            for name in (env if isinstance(env, list | tuple | Mapping) else ())
            if isinstance(name, str)
        ),
        is_in_capability_folder=_is_in_capability_folder(mcp),
    )


def read_http_run(http: Mapping[str, object]) -> HttpRun:
    """The request that these fields declare: {method, url, parameters, body, security}."""
    return HttpRun(
        method=str(http.get("method", "GET")).upper(),
        url=http.get("url"),
        parameters=_items(http.get("parameters")),
        is_form=http.get("body") == "form",
        security=_items(http.get("security")),
    )


def declared_timeout_s(descriptor: Descriptor) -> float | None:
    """The limit of time in seconds, at most MAX_MANIFEST_SECONDS; None where the manifest sets
    none that is a positive number. It stands in `run`, or in a section of it.
    """
    run = descriptor.run or {}
    sections = [section for section in (run, *run.values()) if isinstance(section, Mapping)]
    timeout = next((section["timeout"] for section in sections if "timeout" in section), None)
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        return None
    return float(min(timeout, MAX_MANIFEST_SECONDS))


def declared_words(descriptor: Descriptor) -> object:
    """The words of the command, or of that of the MCP server, unchecked and as nested as they
    are.
    """
    run = descriptor.run or {}
    mcp = run.get("mcp")
    if "command" not in run and isinstance(mcp, Mapping):
        return [mcp.get("command"), mcp.get("args")]
    return run.get("command")


def _is_in_capability_folder(section: Mapping[str, object]) -> bool:
    return section.get("cwd") == "capability"


def _items(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list) else ()


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and "\0" not in value


def _are_words(value: object) -> TypeGuard[Sequence[str]]:
    return isinstance(value, list) and all(_is_word(word) for word in value)
