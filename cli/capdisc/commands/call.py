"""capdisc call: ask one discovery tool, or many in one go, and print the answers within a limit of
tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.context import open_index, session_memory, surroundings, user_files
from capdisc.context.query_execution import build_tool_context
from capdisc.output import command_process, console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    CapdiscError,
    UsageError,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import Arguments, JsonObject, JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.plugins import registry
from capdisc_indexer.sources.readers.json_reader import JsonLine, json_lines, read_json
from capdisc_indexer.text.o200k import load_counter
from capdisc_indexer.text.shell_quoting import quote_word
from capdisc_indexer.tools import tool_table
from capdisc_indexer.tools.call_binding import BoundCall
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext
from capdisc_indexer.validation.arguments import MAX_BYTES, fill_defaults
from capdisc_indexer.validation.arguments.schema_walk import as_list, as_mapping

# An answer is cut to a limit of tokens in its longest lists and texts. A text of fewer characters
# is a name, and a part of a name is worth nothing.
_MAX_NAME_CHARACTERS = 80
MAX_CALLS = 1_000
_EXAMPLE = '{"query": "merge PDFs"}'


@frozen(kw_only=True)
class CallOptions:
    """How answers are printed, and what a call may do."""

    envelope: Annotated[
        bool,
        option(help="Print {status, tool, results}, or {status, tool, error, hint}."),
    ] = False
    max_tokens: Annotated[
        int | None,
        option(min=1, help="Cut the answer to this many tokens, and say what was left out."),
    ] = None
    format: Annotated[
        str | None,
        option(
            help="Answer tool_search as this provider takes it.",
            choices=("anthropic", "openai-responses"),
        ),
    ] = None
    yes: Annotated[bool, option(help="Let execute_tool run what it names, without asking.")] = (
        False
    )
    call_id: Annotated[
        str, option(metavar="ID", help="With --format: the id of the model's call.")
    ] = ""
    trace: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help="Add each call with the sources of its answer to FILE, which --batch replays.",
        ),
    ] = None
    session: params.SessionName = None
    mode: params.Mode = None


@frozen(kw_only=True)
class CallingCommand:
    """`capdisc call` with its index: where answers come from, and the options."""

    ctx: open_index.CommandContext
    tool_ctx: ToolContext
    options: CallOptions


def call(
    tool: Annotated[
        str | None, argument(metavar="[TOOL]", help="capdisc tools --all --names lists them.")
    ] = None,
    arguments: Annotated[
        list[str] | None,
        argument(
            metavar="[ARGUMENT]...",
            help="Values of the required parameters, or of all in their order, or KEY=VALUE; or all "
            "of them as JSON, - reads that from stdin.",
        ),
    ] = None,
    args: Annotated[
        str | None, option(metavar="JSON", help="The arguments, as an option.")
    ] = None,
    batch: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help='Calls, a JSON object on each line: {"tool": …, "arguments": {…}}; - reads stdin.',
        ),
    ] = None,
    options: CallOptions = CallOptions(),
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
) -> int:
    """Ask one discovery tool, as an agent would, and print its answer as JSON.

    From a task to a call: search_tool with keywords names capabilities that fit, search_tool with
    an exact name prints one in full, execute_tool or capdisc run calls it. execute_tool runs what
    you agreed to before, asks at a terminal, and else prints the call. With --batch there is a
    line of output for each line of input, also for errors; exit status 1: some calls failed.

    With --session, or "session" in the arguments, a search records what it found, and execute_tool
    what it ran, with the entities that its result names.

    With --format, the answer of tool_search loads the definitions that `capdisc tools --defer`
    deferred.

    Example: capdisc call search_tool "merge PDF files" limit=3
    """
    if (batch is None) == (tool is None):
        raise UsageError(
            "name one tool, or a file of calls with --batch",
            "capdisc tools --all --names lists the tools",
        )
    if batch is not None and (arguments or args):
        raise UsageError("--batch has the arguments in its lines", "leave the arguments out")
    _check_format(options, is_batch=batch is not None)
    name = tool or ""
    try:
        with open_index.open_index(index_dir, fresh) as ctx:
            tool_ctx = _build_context(ctx, options)
            caller = CallingCommand(ctx=ctx, tool_ctx=tool_ctx, options=options)
            if batch is not None:
                return _run_batch(caller, str(batch))
            values = _read_arguments(name, arguments or (), args)
            indent = 2 if ctx.runtime.stdout_is_terminal else None
            if options.format is not None:
                answer = _answer_search(caller, name, values)
            else:
                answer = _answer_call(caller, name, values, indent)
                answer = _success_envelope(name, answer) if options.envelope else answer
            console.print_result(console.format_json_text(answer, indent))
            return ExitCode.OK
    except CapdiscError as error:
        if options.envelope and batch is None:
            indent = 2 if surroundings.current_runtime().stdout_is_terminal else None
            console.print_result(console.format_json_text(_error_envelope(name, error), indent))
        raise


def _check_format(options: CallOptions, is_batch: bool) -> None:
    """Raises UsageError for options that do not go with --format, or need it."""
    if options.format is None:
        if options.call_id:
            hint = "add --format anthropic or openai-responses"
            raise UsageError("--call-id needs --format", hint)
        return
    if is_batch or options.envelope or options.max_tokens is not None:
        raise UsageError(
            "--format prints what the provider takes, as it is",
            "leave out --batch, --envelope and --max-tokens",
        )
    if options.trace is not None:
        raise UsageError("--trace records calls without --format", "leave out one of them")


def _build_context(ctx: open_index.CommandContext, options: CallOptions) -> ToolContext:
    """The context of a call, in which `execute_tool` runs what its user agreed to."""
    doubt = ctx.provenance_warning

    def run(descriptor: Descriptor, arguments: Arguments) -> ToolAnswer:
        from capdisc_indexer.tools.call_context import ExecutionContext
        from capdisc_indexer.tools.execute_tool import unexecuted_call

        filled = fill_defaults(descriptor.schema, arguments)
        if not descriptor.run or doubt:
            return unexecuted_call(descriptor, filled, doubt)
        execution_ctx = ExecutionContext(
            environ=ctx.runtime.environ,
            cwd=ctx.runtime.cwd,
            roots=tuple(ctx.index.scan["roots"]),
        )
        try:
            answer: ToolAnswer = registry.load_service("runner").run_with_approval(
                ctx.runtime, descriptor, arguments, execution_ctx, options.yes
            )
        except ApprovalRequiredError as error:
            console.print_notice(f"notice: {error.message}")
            console.print_notice(f"hint: {error.hint}")
            return unexecuted_call(descriptor, filled, "nobody agreed to it")
        return answer

    return replace(build_tool_context(ctx, options.mode), execute=run)


def _read_arguments(name: str, words: Sequence[str], option: str | None) -> Any:
    """The arguments of the tool of this name, as words or as an option. Raises UsageError for
    words that give none of its parameters a value.
    """
    if words and option is not None:
        raise UsageError("the arguments are given twice", "leave out --args")
    if option is not None or not words:
        return parse_arguments(option or "")
    tool = tool_table.find_tool(name)
    if tool is None:
        return {}  # the call names the tools that there are
    return parse_words(words, tool.input_schema, has_positions=True)


def parse_words(
    words: Sequence[str],
    schema: JsonSchema,
    example: str = _EXAMPLE,
    *,
    has_positions: bool = False,
) -> Any:
    """The arguments in words KEY=VALUE, or in one of JSON. With `has_positions`, any other words
    are the values of the required parameters, or where there are more of them, of all in their
    order. A value is a text where the schema says so, or where it is not JSON. Raises UsageError
    for any other word, and for a parameter that has two values.
    """
    if len(words) == 1 and (words[0] == "-" or words[0].lstrip()[:1] in ("", "{", "[", '"')):
        return parse_arguments(words[0], example)
    hint = f"write KEY=VALUE, or all of them as JSON: {quote_word(example)}"
    properties = as_mapping(as_mapping(schema).get("properties"))
    texts: dict[str, str] = {}
    loose: list[str] = []
    for word in words:
        key, equals, text = word.partition("=")
        if has_positions and not (equals and key.isidentifier()):
            loose.append(word)
        elif not (key and equals):
            raise UsageError(f"{word[:80]!r} is not KEY=VALUE", hint)
        elif key in texts:
            raise UsageError(f"{key[:80]} is given twice", hint)
        else:
            texts[key] = text
    if loose and loose[0].lstrip().startswith("{"):
        raise UsageError("arguments as JSON stand alone", hint)
    free = [name for name in properties if name not in texts]
    required = [name for name in free if name in as_list(schema.get("required"))]
    if len(loose) > len(free):
        surplus = loose[len(free)][:80]
        raise UsageError(f"{surplus!r} is not KEY=VALUE, and every parameter has a value", hint)
    texts |= zip(required if len(loose) <= len(required) else free, loose)  # noqa: B905
    return {key: _read_value(text, as_mapping(properties.get(key))) for key, text in texts.items()}


def _read_value(text: str, schema: JsonSchema) -> Any:
    kinds = schema.get("type")
    value = text if "string" in [kinds, *as_list(kinds)] else read_json(text)
    return text if isinstance(value, Finding) else value


def parse_arguments(text: str, example: str = _EXAMPLE) -> Any:
    """The arguments as they stand in JSON, from the command line or from stdin. Raises UsageError,
    with the example in its hint, for a text that is not JSON.
    """
    text = command_process.read_stdin_text() if text == "-" else text
    if not text.strip():
        return {}
    if len(text) > MAX_BYTES:
        raise UsageError(
            f"the arguments have more than {MAX_BYTES // 1024} KiB", "give names, not contents"
        )
    value = read_json(text)
    if isinstance(value, Finding):
        raise UsageError(
            f"the arguments cannot be read: {value.message}", f"write JSON: {quote_word(example)}"
        )
    return value


def _answer_search(caller: CallingCommand, name: str, arguments: Any) -> JsonObject:
    """The answer of the tool search, in the form of its provider, that loads what was found.
    Raises UsageError for another tool, and for a provider without deferred definitions.
    """
    from capdisc_indexer.tools import provider_formats

    form, ctx = caller.options.format or "", caller.tool_ctx
    if form not in provider_formats.DEFERRING_FORMATS:
        raise UsageError(
            f"the format {form!r} has no tool search",
            f"one of: {', '.join(provider_formats.DEFERRING_FORMATS)}",
        )
    ready, session = _bind_call(caller, name, arguments)
    if ready.tool.name != tool_table.SEARCH_TOOL:
        raise UsageError(
            f"{ready.tool.name} is not the tool search", f"call {tool_table.SEARCH_TOOL}"
        )
    definitions = tool_table.find_callable(ctx, ready.arguments["query"], ready.arguments["limit"])
    names = provider_formats.deferred_names(
        tool_table.search_definition(ctx), tool_table.capability_definitions(ctx)
    )
    # What is hidden was not defined in the request, so that no answer may refer to it.
    definitions = [definition for definition in definitions if definition.id in names]
    sources = {"sources": [definition.id for definition in definitions]}
    session_memory.record_call(caller.ctx, ready, sources, session)
    answer: JsonObject = provider_formats.format_search_answer(
        form, definitions, names, caller.options.call_id
    )
    return answer


def _run_batch(caller: CallingCommand, name: str) -> int:
    """Print one line for each call in the file, also for calls that fail."""
    calls = list(json_lines(user_files.read_file_or_stdin(caller.ctx.runtime, name), name))
    if len(calls) > MAX_CALLS:
        raise UsageError(
            f"{name} has {len(calls):,} calls; at most {MAX_CALLS:,} are made at once", "split it"
        )
    answers = [_run_line(caller, call) for call in calls]
    console.print_result(
        "".join(console.format_json_text(answer, None) + "\n" for answer in answers)
    )
    has_failures = any(answer["status"] == "error" for answer in answers)
    return ExitCode.FINDINGS if has_failures else ExitCode.OK


def _run_line(caller: CallingCommand, call: JsonLine | Finding) -> JsonObject:
    name = ""
    try:
        name, arguments = _parse_line(call)
        return _success_envelope(name, _answer_call(caller, name, arguments, None))
    except CapdiscError as error:
        line = call.line if isinstance(call, Finding) else call.number
        return _error_envelope(name, error) | {"line": line}


def _parse_line(call: JsonLine | Finding) -> tuple[str, Any]:
    if isinstance(call, Finding):
        raise UsageError(f"the line cannot be read: {call.message}", call.hint)
    value = call.value
    name = (value.get("tool") or value.get("name")) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(name, str):
        raise UsageError(
            "the line names no tool", 'write {"tool": "list_skills", "arguments": {}}'
        )
    return name, value.get("arguments", value.get("args", {}))


def _answer_call(
    caller: CallingCommand, name: str, arguments: Any, indent: int | None
) -> ToolAnswer:
    ctx, options = caller.ctx, caller.options
    ready, session = _bind_call(caller, name, arguments)
    answer = ready.tool.answer(caller.tool_ctx, ready.arguments)
    session_memory.record_call(ctx, ready, answer, session)
    if options.trace:
        trace = ctx.runtime.expand(options.trace)
        registry.load_service("calls").add_to_trace(ctx, trace, name, arguments, answer)
    if options.max_tokens is None:
        return answer
    count_text = load_counter()

    def count(candidate: ToolAnswer) -> int:
        document = _success_envelope(name, candidate) if options.envelope else candidate
        return count_text(console.format_json_text(document, indent) + "\n")

    return truncate_answer(answer, options.max_tokens, count)


def _bind_call(caller: CallingCommand, name: str, arguments: Any) -> tuple[BoundCall, str | None]:
    """The call with its checked arguments, and its session, which they may name where the tool has
    no parameter for it. Raises UsageError for what cannot name a session.
    """
    session, tool = caller.options.session, tool_table.find_tool(name)
    is_own = tool is not None and "session" in tool.input_schema["properties"]
    if isinstance(arguments, dict) and isinstance(arguments.get("session"), str) and not is_own:
        session = arguments["session"]
        arguments = {key: value for key, value in arguments.items() if key != "session"}
    if session is not None:  # before anything runs
        session_memory.load_ids(caller.ctx.runtime.state_dir(), session)
    ready = tool_table.bind_call(name, arguments)
    for notice in ready.notices:
        console.print_notice(f"notice: {notice}")
    return ready, session


def _success_envelope(name: str, answer: ToolAnswer) -> JsonObject:
    return {"status": "success", "tool": name, "results": answer}


def _error_envelope(name: str, error: CapdiscError) -> JsonObject:
    return {"status": "error", "tool": name, "error": error.message, "hint": error.hint}


def truncate_answer(
    answer: ToolAnswer, limit: int, count: Callable[[ToolAnswer], int]
) -> ToolAnswer:
    """The answer, which is cut where it has more than `limit` tokens: then `truncated` is true,
    and `left_out` says how many items of each list or characters of each text are missing.

    `count` gives the tokens of an answer as it is printed. Raises UsageError where nothing of use
    would remain.
    """
    if count(answer) <= limit:
        return answer
    left_out: dict[str, int] = {}
    for path, value in sorted(_long_values(answer, ()), key=lambda entry: -len(str(entry[1]))):
        fitting_length = _largest_fit(answer, path, value, left_out, limit, count)
        left_out[".".join(path)] = len(value) - max(fitting_length, 0)
        answer = _replace_value(answer, path, value[: max(fitting_length, 0)])
        if fitting_length >= 0:
            return _mark_truncated(answer, left_out)
    raise UsageError(
        f"the answer does not fit into {limit} tokens",
        "give a larger --max-tokens, or ask for less",
    )


def _largest_fit(
    answer: ToolAnswer,
    path: tuple[str, ...],
    value: list[object] | str,
    left_out: Mapping[str, int],
    limit: int,
    count: Callable[[ToolAnswer], int],
) -> int:
    """The length to which the value has to be cut; -1: the rest alone is too long."""

    def is_too_long(length: int) -> bool:
        missing = {**left_out, ".".join(path): len(value) - length}
        cut = _mark_truncated(_replace_value(answer, path, value[:length]), missing)
        return count(cut) > limit

    return bisect_right(range(len(value)), False, key=is_too_long) - 1


def _mark_truncated(answer: ToolAnswer, left_out: Mapping[str, int]) -> ToolAnswer:
    return {**answer, "truncated": True, "left_out": dict(left_out)}


def _long_values(
    answer: Mapping[str, object], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[object] | str]]:
    """The lists and the long texts of an answer, each with the path of keys that leads to it."""
    for key, value in answer.items():
        if isinstance(value, Mapping):
            yield from _long_values(value, (*path, key))
        elif (isinstance(value, list) and value) or (
            isinstance(value, str) and len(value) > _MAX_NAME_CHARACTERS
        ):
            yield (*path, key), value


def _replace_value(answer: ToolAnswer, path: tuple[str, ...], value: object) -> ToolAnswer:
    inner = value if len(path) == 1 else _replace_value(answer[path[0]], path[1:], value)
    return {**answer, path[0]: inner}
