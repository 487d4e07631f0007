"""From a capability and arguments to the exact call, or to everything that is wrong with them; and
from the call to its outcome.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

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
from capdisc_run import http_client, http_request, process
from capdisc_run.argv_template import argument_text, build_argv, placeholders
from capdisc_run.call_types import (
    DEFAULT_SECONDS,
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
from capdisc_run.run_declaration import (
    CommandRun,
    ToolRun,
    declared_timeout_s,
    read_run,
)

_SYSTEM_NETWORK = NetworkStack()


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
    run = read_run(descriptor)
    if isinstance(run, CommandRun):
        return _build_command_call(descriptor, run, arguments, passed_names, ctx)
    if isinstance(run, ToolRun):
        return _build_tool_call(descriptor, run, arguments, ctx)
    call = http_request.build_http_call(run, arguments, ctx)
    _check_all_used(passed_names, http_request.parameter_names(run))
    return call


def _build_command_call(
    descriptor: Descriptor,
    run: CommandRun,
    arguments: Arguments,
    passed_names: Collection[str],
    ctx: ExecutionContext,
) -> CommandCall:
    used_names = placeholders(run.command)
    parameter_names = _schema_names(descriptor) or [*used_names, *passed_names]
    argv = build_argv(run.command, arguments, parameter_names, descriptor.schema)
    if run.stdin != "json":
        _check_all_used(passed_names, [*used_names, *placeholders([run.stdin])])
    folder = _run_folder(descriptor, run, argv[0], ctx)
    return CommandCall(
        argv=(find_program(argv[0], ctx.environ, folder), *argv[1:]),
        cwd=Path(folder) if run.is_in_capability_folder else ctx.cwd,
        stdin=_stdin_bytes(run.stdin, arguments),
        environment=descriptor.secrets,
    )


def _build_tool_call(
    descriptor: Descriptor, run: ToolRun, arguments: Arguments, ctx: ExecutionContext
) -> ToolCall:
    folder = _run_folder(descriptor, run, run.command, ctx)
    return ToolCall(
        server=one_line(run.server, 80),
        argv=(find_program(run.command, ctx.environ, folder), *run.args),
        cwd=Path(folder) if run.is_in_capability_folder else ctx.cwd,
        tool=run.tool,
        arguments=arguments,
        environment=tuple(dict.fromkeys([*descriptor.secrets, *_server_variables(run, ctx)])),
    )


def _run_folder(
    descriptor: Descriptor, run: CommandRun | ToolRun, program: str, ctx: ExecutionContext
) -> str:
    """The capability's folder, where the run or its program lies in it; else ""."""
    is_relative_path = "/" in program and not program.startswith("/")
    if run.is_in_capability_folder or is_relative_path:
        return capability_folder(descriptor, ctx.roots)
    return ""


def _server_variables(run: ToolRun, ctx: ExecutionContext) -> list[str]:
    """The variables that a server gets: those of `env` that are set here and steer no programs (a
    server may do without the others, which may be mere settings), and those that its words refer
    to, as in ${TOKEN}.
    """
    set_names = [name for name in run.env if ctx.environ.get(name) and not is_steering(name)]
    return set_names + [name for word in run.args for name in variables_in(word, ctx.environ)]


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


def _schema_names(descriptor: Descriptor) -> list[str]:
    return list(as_mapping((descriptor.schema or {}).get("properties")))


def _check_all_used(passed_names: Iterable[str], used_names: Iterable[str]) -> None:
    if unused := sorted(set(passed_names) - set(used_names)):
        raise UsageError(f"it has no use for {', '.join(unused)}", "leave it out")


def timeout_seconds(descriptor: Descriptor, timeout_s: float | None) -> float:
    """The limit of time in seconds: the user's, else the manifest's within bounds, else
    DEFAULT_SECONDS.
    """
    if timeout_s is not None:
        return timeout_s
    return declared_timeout_s(descriptor) or DEFAULT_SECONDS


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
    outcome = _dispatch_call(call, environ, secrets, limits, network)
    return mask_outcome(outcome, secrets, limits.max_bytes)


def _dispatch_call(
    call: Call,
    environ: Mapping[str, str],
    secrets: Mapping[str, str],
    limits: CallLimits,
    network: NetworkStack,
) -> Outcome:
    if isinstance(call, HttpCall):
        return http_client.send_request(call, secrets, limits, network)
    environment = build_environment(environ, call.environment)
    if isinstance(call, CommandCall):
        return process.run_process(call, environment, limits)
    from capdisc_run.mcp_client import call_tool

    argv = tuple(fill_variables(word, secrets) or word for word in call.argv)
    return call_tool(replace(call, argv=argv), environment, limits)


# An example of arguments, for hints.

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
