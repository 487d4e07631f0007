"""From a capability and arguments to the exact call, or to everything that is wrong with them; and
from the call to its outcome.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from capdisc_guard import is_steering, refuse_misuses
from capdisc_indexer.links import capability_folder
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import Arguments, JsonObject, JsonSchema
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.formats.mcp_servers import fill_variables, variables_in
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_indexer.validation.arguments import fill_defaults, find_problems
from capdisc_indexer.validation.arguments.schema_walk import as_mapping
from capdisc_run import http_request, process
from capdisc_run.argv_template import argument_text, build_argv, placeholders
from capdisc_run.call_types import (
    DEFAULT_SECONDS,
    MAX_MANIFEST_SECONDS,
    Call,
    CallLimits,
    CommandCall,
    HttpCall,
    Outcome,
    ToolCall,
)
from capdisc_run.connection import NetworkStack
from capdisc_run.output_masking import mask_outcome
from capdisc_run.process import (
    build_environment,
    check_secrets,
    check_variable,
    find_program,
    read_secrets,
)

_SYSTEM_NETWORK = NetworkStack()
_RUN_HINT = "run: {command: [...]}, {mcp: {...}} or {http: {...}}"
# What stands for a value of a type.
_TYPE_EXAMPLES = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
_ANY_EXAMPLE = "..."
_MAX_EXAMPLES = 3


def prepare_call(descriptor: Descriptor, arguments: Arguments, ctx: ExecutionContext) -> Call:
    """The call that the arguments make, defaults filled in.

    Raises UsageError with everything that is wrong with the arguments, ApprovalRequiredError where
    one would be run as program text, InputError where the manifest's `run` makes no call here.
    """
    filled_arguments = check_arguments(descriptor, arguments)
    refuse_misuses(descriptor.id, descriptor.run, descriptor.schema)
    try:
        check_secrets(descriptor.secrets)
        call = _build_call(descriptor, filled_arguments, set(arguments), ctx)
        for name in call.environment:
            check_variable(name)
        return call
    except (InputError, UsageError) as error:
        raise type(error)(
            f"{one_line(descriptor.id)} cannot be run: {error.message}", error.hint
        ) from None


def check_arguments(descriptor: Descriptor, arguments: Arguments) -> JsonObject:
    """The arguments with the schema's defaults. Raises UsageError with a line for each problem."""
    if problems := find_problems(
        descriptor.schema, arguments, closed=descriptor.schema is not None
    ):
        lines = "\n".join(f"  {one_line(problem, 300)}" for problem in problems)
        raise UsageError(
            f"the arguments do not fit {one_line(descriptor.id)}\n{lines}",
            f"its parameters: capdisc show {one_line(descriptor.id)}",
        )
    return fill_defaults(descriptor.schema, arguments)


def _build_call(
    descriptor: Descriptor,
    arguments: Arguments,
    passed_names: Collection[str],
    ctx: ExecutionContext,
) -> Call:
    """The call with arguments that have their defaults; `passed_names` are those that the caller
    gave.
    """
    run = descriptor.run or {}
    if "command" in run:
        return _build_command_call(descriptor, run, arguments, passed_names, ctx)
    if isinstance(mcp := run.get("mcp"), Mapping):
        return _build_tool_call(descriptor, mcp, arguments, ctx)
    if isinstance(http := run.get("http"), Mapping):
        call = http_request.build_http_call(http, arguments, ctx)
        _check_all_used(passed_names, http_request.parameter_names(http))
        return call
    raise InputError("its manifest does not say what", _RUN_HINT)


def _build_command_call(
    descriptor: Descriptor,
    run: Mapping[str, object],
    arguments: Arguments,
    passed_names: Collection[str],
    ctx: ExecutionContext,
) -> CommandCall:
    """`command` should be a list of words and of lists of words; `stdin` may be "json" or one
    "{parameter}".
    """
    command, stdin = run["command"], run.get("stdin")
    used_names = placeholders(command)
    parameter_names = list(as_mapping((descriptor.schema or {}).get("properties")))
    parameter_names = parameter_names or [*used_names, *passed_names]
    argv = build_argv(command, arguments, parameter_names, descriptor.schema)
    if stdin != "json":
        _check_all_used(passed_names, [*used_names, *placeholders([stdin])])
    folder, cwd = _find_folders(descriptor, run, argv[0], ctx)
    return CommandCall(
        argv=(find_program(argv[0], ctx.environ, folder), *argv[1:]),
        cwd=cwd,
        stdin=_stdin_bytes(stdin, arguments),
        environment=descriptor.secrets,
    )


def _build_tool_call(
    descriptor: Descriptor, mcp: Mapping[str, object], arguments: Arguments, ctx: ExecutionContext
) -> ToolCall:
    """The server gets the variables of `env` that are set here and steer no programs (it may do
    without the others, which may be mere settings), and those that its words refer to, as in
    ${TOKEN}.
    """
    command, args = mcp.get("command"), mcp.get("args", [])
    tool, env = mcp.get("tool", descriptor.name), mcp.get("env")
    if not (
        _is_word(command)
        and _is_word(tool)
        and isinstance(args, list)
        and all(map(_is_word, args))
    ):
        raise InputError(
            "its MCP server is not one that can be started",
            "mcp: {command, args, tool}; only over stdio",
        )
    names = env if isinstance(env, list | tuple | Mapping) else ()
    set_names = [
        name
        for name in names
        if isinstance(name, str) and ctx.environ.get(name) and not is_steering(name)
    ]
    words_names = [name for word in args for name in variables_in(word, ctx.environ)]
    folder, cwd = _find_folders(descriptor, mcp, command, ctx)
    return ToolCall(
        server=one_line(str(mcp.get("server", command)), 80),
        argv=(find_program(command, ctx.environ, folder), *args),
        cwd=cwd,
        tool=tool,
        arguments=arguments,
        environment=tuple(dict.fromkeys([*descriptor.secrets, *set_names, *words_names])),
    )


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and "\0" not in value


def _find_folders(
    descriptor: Descriptor, section: Mapping[str, object], program: str, ctx: ExecutionContext
) -> tuple[str, Path]:
    """The folder in which the program is found, "" for that of PATH, and the one in which it runs:
    the capability's where the manifest says so or, for the program, where its path is relative.
    """
    is_in_folder = section.get("cwd") == "capability"
    if is_in_folder or ("/" in program and not program.startswith("/")):
        folder = capability_folder(descriptor, ctx.roots)
        return folder, Path(folder) if is_in_folder else ctx.cwd
    return "", ctx.cwd


def _stdin_bytes(stdin: object, arguments: Arguments) -> bytes | None:
    if stdin is None:
        return None
    if stdin == "json":
        return json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace")
    names = placeholders([stdin])
    if len(names) != 1 or stdin != f"{{{names[0]}}}":
        raise InputError("its stdin is neither json nor one {parameter}", "stdin: json")
    value = arguments.get(names[0])
    return None if value is None else argument_text(value).encode("utf-8", "replace")


def _check_all_used(passed_names: Iterable[str], used_names: Iterable[str]) -> None:
    if unused := sorted(set(passed_names) - set(used_names)):
        raise UsageError(f"it has no use for {', '.join(unused)}", "leave it out")


def timeout_seconds(descriptor: Descriptor, timeout_s: float | None) -> float:
    """The limit of time in seconds: the user's, else that of `run` or of a section of it, at most
    MAX_MANIFEST_SECONDS, else DEFAULT_SECONDS.
    """
    if timeout_s is not None:
        return timeout_s
    run = descriptor.run or {}
    sections = [section for section in (run, *run.values()) if isinstance(section, Mapping)]
    timeout = next((section["timeout"] for section in sections if "timeout" in section), None)
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        return DEFAULT_SECONDS
    return float(min(timeout, MAX_MANIFEST_SECONDS))


def execute_call(
    call: Call,
    environ: Mapping[str, str],
    limits: CallLimits,
    network: NetworkStack = _SYSTEM_NETWORK,
) -> Outcome:
    """What the call gave, without the values of its secrets. Raises InputError where it cannot be
    made (a secret that is not set, a program that does not start), LinkRefusedError for a host
    that is not allowed.
    """
    secrets = read_secrets(environ, call.environment)
    if isinstance(call, HttpCall):
        outcome = http_request.send_request(call, secrets, limits, network)
    elif isinstance(call, CommandCall):
        environment = build_environment(environ, call.environment)
        outcome = process.run_process(call, environment, limits)
    else:
        from capdisc_run.mcp_client import call_tool

        argv = tuple(fill_variables(word, secrets) or word for word in call.argv)
        environment = build_environment(environ, call.environment)
        outcome = call_tool(replace(call, argv=argv), environment, limits)
    return mask_outcome(outcome, secrets, limits.max_bytes)


# An example of arguments, for hints.


def example_json(schema: JsonSchema | None) -> str:
    """Arguments as they could be typed, as JSON: the first parameters that a call needs, or that
    it may have where it needs none.
    """
    properties = as_mapping((schema or {}).get("properties"))
    required = (schema or {}).get("required")
    required_names = [
        name for name in properties if isinstance(required, list) and name in required
    ]
    return json.dumps(
        {
            name: _example_value(properties[name])
            for name in islice(required_names or properties, _MAX_EXAMPLES)
        }
    )


def _example_value(schema: object) -> Any:
    declared = as_mapping(schema)
    if isinstance(choices := declared.get("enum"), list) and choices:
        return choices[0]
    kind = declared.get("type")
    type_example = (
        _TYPE_EXAMPLES.get(kind, _ANY_EXAMPLE) if isinstance(kind, str) else _ANY_EXAMPLE
    )
    return declared.get("default", type_example)
