"""From a capability and arguments to the exact call, or to everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer.arguments import filled, problems
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.linked_files import folder_of
from capdisc_indexer.program_text.misuses import refuse_misuses
from capdisc_indexer.program_text.steering import is_steering
from capdisc_indexer.running import request
from capdisc_indexer.running.quoting import variable
from capdisc_indexer.running.surroundings import check_secrets, program
from capdisc_indexer.running.values import (
    DEFAULT_SECONDS,
    MAX_MANIFEST_SECONDS,
    Call,
    CommandCall,
    Place,
    ToolCall,
)
from capdisc_indexer.running.words import argv, placeholders, text_of
from capdisc_indexer.sources.server_config import references
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

_WAYS = "run: {command: [...]}, {mcp: {...}} or {http: {...}}"


def prepare(descriptor: Descriptor, arguments: Mapping[str, Any], place: Place) -> Call:
    """The call that the arguments make, defaults filled in. Raises UsageError with all that is wrong with them,
    RefusedError where one would be run as program text, InputError where the manifest's `run` makes no call here."""
    whole = checked(descriptor, arguments)
    refuse_misuses(descriptor.id, descriptor.run, descriptor.schema)
    try:
        check_secrets(descriptor.secrets)
        call = _call(descriptor, descriptor.run or {}, whole, arguments, place)
        for name in call.environment:
            variable(name)
        return call
    except (InputError, UsageError) as error:
        raise type(error)(f"{one_line(descriptor.id)} cannot be run: {error.message}", error.hint) from None


def _call(
    descriptor: Descriptor, run: Mapping[str, Any], whole: dict[str, Any], given: Mapping[str, Any], place: Place
) -> Call:
    if "command" in run:
        return _command(descriptor, run, whole, set(given), place)
    if isinstance(tool := run.get("mcp"), Mapping):
        return _tool(descriptor, tool, whole, place)
    if isinstance(http := run.get("http"), Mapping):
        call = request.http_call(http, whole, place)
        _check_used(given, request.names(http))
        return call
    raise InputError("its manifest does not say what", _WAYS)


def checked(descriptor: Descriptor, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the schema's defaults. Raises UsageError, a line for each thing that is wrong."""
    if found := problems(descriptor.schema, arguments, closed=descriptor.schema is not None):
        what = "\n".join(f"  {one_line(each, 300)}" for each in found)
        hint = f"its parameters: capdisc show {one_line(descriptor.id)}"
        raise UsageError(f"the arguments do not fit {one_line(descriptor.id)}\n{what}", hint)
    return filled(descriptor.schema, arguments)


def seconds(descriptor: Descriptor, asked: float | None) -> float:
    """The limit of time: the user's, else the manifest's within bounds, else a minute."""
    if asked is not None:
        return asked
    run = descriptor.run or {}
    told = [each["timeout"] for each in (run, *run.values()) if isinstance(each, Mapping) and "timeout" in each]
    own = told[0] if told else None
    if isinstance(own, int | float) and not isinstance(own, bool) and own > 0:
        return min(float(own), MAX_MANIFEST_SECONDS)
    return DEFAULT_SECONDS


def _command(
    descriptor: Descriptor, run: Mapping[str, Any], arguments: Mapping[str, Any], given: set[str], place: Place
) -> CommandCall:
    command, stdin = run["command"], run.get("stdin")
    named = placeholders(command)
    known = _known(descriptor) or [*named, *given]
    if stdin not in (None, "json"):
        named += placeholders([stdin])
    words = argv(command, arguments, known, descriptor.schema)
    if stdin != "json":
        _check_used(given, named)
    folder = folder_of(descriptor, place.roots) if _needs_folder(run, words) else ""
    return CommandCall(
        argv=(program(words[0], place.environ, folder), *words[1:]),
        cwd=Path(folder) if run.get("cwd") == "capability" else place.cwd,
        stdin=_stdin(stdin, arguments),
        environment=descriptor.secrets,
    )


def _needs_folder(run: Mapping[str, Any], words: tuple[str, ...]) -> bool:
    return run.get("cwd") == "capability" or ("/" in words[0] and not words[0].startswith("/"))


def _stdin(declared: Any, arguments: Mapping[str, Any]) -> bytes | None:
    if declared is None:
        return None
    if declared == "json":
        import json

        return json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace")
    named = placeholders([declared])
    if len(named) != 1 or declared != f"{{{named[0]}}}":
        raise InputError("its stdin is neither json nor one {parameter}", "stdin: json")
    value = arguments.get(named[0])
    return None if value is None else text_of(value).encode("utf-8", "replace")


def _tool(descriptor: Descriptor, mcp: Mapping[str, Any], arguments: Mapping[str, Any], place: Place) -> ToolCall:
    command, args, tool = mcp.get("command"), mcp.get("args", []), mcp.get("tool", descriptor.name)
    if not isinstance(command, str) or not _are_words([command, tool]) or not _are_words(args):
        raise InputError("its MCP server is not one that can be started", "mcp: {command, args, tool}; only over stdio")
    folder = folder_of(descriptor, place.roots) if _needs_folder(mcp, (command,)) else ""
    return ToolCall(
        server=one_line(str(mcp.get("server", command)), 80),
        argv=(program(command, place.environ, folder), *args),
        cwd=Path(folder) if mcp.get("cwd") == "capability" else place.cwd,
        tool=str(tool),
        arguments=arguments,
        environment=tuple(dict.fromkeys([*descriptor.secrets, *_names(mcp.get("env"), args, place)])),
    )


def _names(given: Any, args: list[str], place: Place) -> list[str]:
    """Of the names that a server is given, those that are set, since to it they may be settings that it can do
    without, and that steer no programs; and those that its words refer to, as in ${TOKEN}."""
    own = [name for name in given or () if isinstance(name, str) and place.environ.get(name) and not is_steering(name)]
    return own + [name for word in args for name in references(word, place.environ)]


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and "\0" not in word for word in value)


def _known(descriptor: Descriptor) -> list[str]:
    declared = (descriptor.schema or {}).get("properties")
    return list(declared) if isinstance(declared, Mapping) else []


def _check_used(given: Iterable[str], used: Iterable[str]) -> None:
    if unused := sorted(set(given) - set(used)):
        raise UsageError(f"it has no use for {', '.join(unused)}", "leave it out")
