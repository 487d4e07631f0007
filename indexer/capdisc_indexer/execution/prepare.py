"""From a capability and arguments to the exact call, or to everything that is wrong with them at
once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from capdisc_indexer.execution import http_client, http_request, process
from capdisc_indexer.execution.argv_template import argument_text, build_argv, placeholders
from capdisc_indexer.execution.call_preview import check_variable
from capdisc_indexer.execution.call_types import (
    DEFAULT_SECONDS,
    MAX_MANIFEST_SECONDS,
    Call,
    CallLimits,
    CommandCall,
    ExecutionContext,
    HttpCall,
    Outcome,
    ToolCall,
)
from capdisc_indexer.execution.output_masking import mask_outcome
from capdisc_indexer.execution.process import (
    build_environment,
    check_secrets,
    find_program,
    read_secrets,
)
from capdisc_indexer.fetch.connection import NetworkStack
from capdisc_indexer.links.resolution import capability_folder
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.formats.mcp_servers import fill_variables, variables_in
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.arguments import fill_defaults, find_problems
from capdisc_indexer.validation.program_text.misuses import refuse_misuses
from capdisc_indexer.validation.program_text.steering import is_steering

# A call made, within its limits, and without the values of its secrets in what comes back.

_SYSTEM_NETWORK = NetworkStack()


def execute_call(
    call: Call,
    environ: Mapping[str, str],
    limits: CallLimits,
    network: NetworkStack = _SYSTEM_NETWORK,
) -> Outcome:
    """What the call gave. Raises InputError where it cannot be made (a secret that is not set, a
    program that does not start), LinkRefusedError for a host that is not allowed.
    """
    hidden = read_secrets(environ, call.environment)
    outcome = _dispatch_call(call, environ, hidden, limits, network)
    return mask_outcome(outcome, hidden, limits.max_bytes)


def _dispatch_call(
    call: Call,
    environ: Mapping[str, str],
    hidden: Mapping[str, str],
    limits: CallLimits,
    network: NetworkStack,
) -> Outcome:
    if isinstance(call, HttpCall):
        return http_client.send_request(call, hidden, limits, network)
    if isinstance(call, CommandCall):
        return process.run_process(call, build_environment(environ, call.environment), limits)
    from capdisc_indexer.execution.mcp_client import call_tool

    words = tuple(fill_variables(word, hidden) or word for word in call.argv)
    return call_tool(
        replace(call, argv=words), build_environment(environ, call.environment), limits
    )


# Arguments as they could be typed, for hints.

# What stands for a value of a type.
_TYPE_EXAMPLES = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
_MAX_EXAMPLES = 3


def example_json(schema: JsonSchema | None) -> str:
    """JSON with the first of the parameters that a call needs, or that it may have where it needs
    none.
    """
    declared = (schema or {}).get("properties")
    properties = declared if isinstance(declared, Mapping) else {}
    required = (schema or {}).get("required")
    needed = [name for name in properties if isinstance(required, list) and name in required]
    return json.dumps(
        {
            name: _example_value(properties[name])
            for name in islice(needed or properties, _MAX_EXAMPLES)
        }
    )


def _example_value(schema: Any) -> Any:
    declared = schema if isinstance(schema, Mapping) else {}
    if isinstance(choices := declared.get("enum"), list) and choices:
        return choices[0]
    kind = declared.get("type")
    return declared.get(
        "default", _TYPE_EXAMPLES.get(kind, "...") if isinstance(kind, str) else "..."
    )


_RUN_HINT = "run: {command: [...]}, {mcp: {...}} or {http: {...}}"


def prepare_call(descriptor: Descriptor, arguments: Arguments, ctx: ExecutionContext) -> Call:
    """The call that the arguments make, defaults filled in. Raises UsageError with all that is
    wrong with them, RefusedError where one would be run as program text, InputError where the
    manifest's `run` makes no call here.
    """
    filled_arguments = check_arguments(descriptor, arguments)
    refuse_misuses(descriptor.id, descriptor.run, descriptor.schema)
    try:
        check_secrets(descriptor.secrets)
        call = _build_call(descriptor, descriptor.run or {}, filled_arguments, arguments, ctx)
        for name in call.environment:
            check_variable(name)
        return call
    except (InputError, UsageError) as error:
        raise type(error)(
            f"{one_line(descriptor.id)} cannot be run: {error.message}", error.hint
        ) from None


def _build_call(
    descriptor: Descriptor,
    run: Mapping[str, Any],
    filled_arguments: dict[str, Any],
    arguments: Arguments,
    ctx: ExecutionContext,
) -> Call:
    if "command" in run:
        return _command_call(descriptor, run, filled_arguments, set(arguments), ctx)
    if isinstance(tool := run.get("mcp"), Mapping):
        return _tool_call(descriptor, tool, filled_arguments, ctx)
    if isinstance(http := run.get("http"), Mapping):
        call = http_request.build_http_call(http, filled_arguments, ctx)
        _check_all_used(arguments, http_request.parameter_names(http))
        return call
    raise InputError("its manifest does not say what", _RUN_HINT)


def check_arguments(descriptor: Descriptor, arguments: Arguments) -> dict[str, Any]:
    """The arguments with the schema's defaults. Raises UsageError, a line for each thing that is
    wrong.
    """
    if errors := find_problems(descriptor.schema, arguments, closed=descriptor.schema is not None):
        what = "\n".join(f"  {one_line(error, 300)}" for error in errors)
        hint = f"its parameters: capdisc show {one_line(descriptor.id)}"
        raise UsageError(f"the arguments do not fit {one_line(descriptor.id)}\n{what}", hint)
    return fill_defaults(descriptor.schema, arguments)


def timeout_seconds(descriptor: Descriptor, timeout_s: float | None) -> float:
    """The limit of time: the user's, else the manifest's within bounds, else a minute."""
    if timeout_s is not None:
        return timeout_s
    run = descriptor.run or {}
    timeouts = [
        section["timeout"]
        for section in (run, *run.values())
        if isinstance(section, Mapping) and "timeout" in section
    ]
    manifest_timeout = timeouts[0] if timeouts else None
    if (
        isinstance(manifest_timeout, int | float)
        and not isinstance(manifest_timeout, bool)
        and manifest_timeout > 0
    ):
        return min(float(manifest_timeout), MAX_MANIFEST_SECONDS)
    return DEFAULT_SECONDS


def _command_call(
    descriptor: Descriptor,
    run: Mapping[str, Any],
    arguments: Arguments,
    given_names: set[str],
    ctx: ExecutionContext,
) -> CommandCall:
    command, stdin = run["command"], run.get("stdin")
    named = placeholders(command)
    parameter_names = _declared_names(descriptor) or [*named, *given_names]
    if stdin not in (None, "json"):
        named += placeholders([stdin])
    words = build_argv(command, arguments, parameter_names, descriptor.schema)
    if stdin != "json":
        _check_all_used(given_names, named)
    folder = capability_folder(descriptor, ctx.roots) if _needs_folder(run, words) else ""
    return CommandCall(
        argv=(find_program(words[0], ctx.environ, folder), *words[1:]),
        cwd=Path(folder) if run.get("cwd") == "capability" else ctx.cwd,
        stdin=_stdin_bytes(stdin, arguments),
        environment=descriptor.secrets,
    )


def _needs_folder(run: Mapping[str, Any], words: tuple[str, ...]) -> bool:
    return run.get("cwd") == "capability" or ("/" in words[0] and not words[0].startswith("/"))


def _stdin_bytes(declared: Any, arguments: Arguments) -> bytes | None:
    if declared is None:
        return None
    if declared == "json":
        import json

        return json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace")
    named = placeholders([declared])
    if len(named) != 1 or declared != f"{{{named[0]}}}":
        raise InputError("its stdin is neither json nor one {parameter}", "stdin: json")
    value = arguments.get(named[0])
    return None if value is None else argument_text(value).encode("utf-8", "replace")


def _tool_call(
    descriptor: Descriptor,
    mcp: Mapping[str, Any],
    arguments: Arguments,
    ctx: ExecutionContext,
) -> ToolCall:
    command, args, tool = mcp.get("command"), mcp.get("args", []), mcp.get("tool", descriptor.name)
    if not isinstance(command, str) or not _are_words([command, tool]) or not _are_words(args):
        raise InputError(
            "its MCP server is not one that can be started",
            "mcp: {command, args, tool}; only over stdio",
        )
    folder = capability_folder(descriptor, ctx.roots) if _needs_folder(mcp, (command,)) else ""
    return ToolCall(
        server=one_line(str(mcp.get("server", command)), 80),
        argv=(find_program(command, ctx.environ, folder), *args),
        cwd=Path(folder) if mcp.get("cwd") == "capability" else ctx.cwd,
        tool=str(tool),
        arguments=arguments,
        environment=tuple(
            dict.fromkeys([*descriptor.secrets, *_environment_names(mcp.get("env"), args, ctx)])
        ),
    )


def _environment_names(declared_names: Any, args: list[str], ctx: ExecutionContext) -> list[str]:
    """Of the names that a server is given, those that are set, since to it they may be settings
    that it can do without, and that steer no programs; and those that its words refer to, as in
    ${TOKEN}.
    """
    set_names = [
        name
        for name in declared_names or ()
        if isinstance(name, str) and ctx.environ.get(name) and not is_steering(name)
    ]
    return set_names + [name for word in args for name in variables_in(word, ctx.environ)]


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(word, str) and "\0" not in word for word in value
    )


def _declared_names(descriptor: Descriptor) -> list[str]:
    declared = (descriptor.schema or {}).get("properties")
    return list(declared) if isinstance(declared, Mapping) else []


def _check_all_used(given_names: Iterable[str], used: Iterable[str]) -> None:
    if unused := sorted(set(given_names) - set(used)):
        raise UsageError(f"it has no use for {', '.join(unused)}", "leave it out")
