"""Calls of discovery tools as they are typed, and answers as they are printed."""

from __future__ import annotations

from typing import Any

from capdisc import files, output, runtime, streams
from capdisc.exit_codes import ExitCode
from capdisc_indexer import tools
from capdisc_indexer.arguments import MAX_BYTES
from capdisc_indexer.engines import token_count
from capdisc_indexer.errors import CapdiscError, UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.running.quoting import quoted
from capdisc_indexer.sources.json_lines import Line, json_lines
from capdisc_indexer.sources.json_reader import read_json
from capdisc_indexer.tools.fitting import within
from capdisc_indexer.tools.values import Desk, ToolAnswer
from capdisc_indexer.types import Finding

MAX_CALLS = 1_000


@frozen(kw_only=True)
class Wanted:
    """How answers are made and printed: from which desk, in an envelope or bare, within how many tokens."""

    desk: Desk
    is_wrapped: bool
    max_tokens: int | None


def arguments(given: str | None, option: str | None, example: str = '{"query": "merge PDFs"}') -> Any:
    """The arguments as JSON, from the command line or from stdin. Raises UsageError for anything that is not JSON, with
    the example in its hint."""
    if given is not None and option is not None:
        raise UsageError("the arguments are given twice", "leave out --args")
    text = given if given is not None else option
    text = streams.stdin_text() if text == "-" else text
    if text is None or not text.strip():
        return {}
    if len(text) > MAX_BYTES:
        raise UsageError(f"the arguments have more than {MAX_BYTES // 1024} KiB", "give names, not contents")
    found = read_json(text)
    if isinstance(found, Finding):
        raise UsageError(f"the arguments cannot be read: {found.message}", f"write JSON: {quoted(example)}")
    return found


def one(here: runtime.Runtime, wanted: Wanted, name: str, given: Any) -> int:
    """Print the answer to one call. An error is raised; in an envelope it is printed first."""
    indent = 2 if here.stdout_is_terminal else None
    try:
        answer = _answer(wanted, name, given, indent)
    except CapdiscError as error:
        if wanted.is_wrapped:
            output.result(output.json_text(_failed(name, error), indent))
        raise
    output.result(output.json_text(_wrapped(name, answer) if wanted.is_wrapped else answer, indent))
    return ExitCode.OK


def every(here: runtime.Runtime, wanted: Wanted, name: str) -> int:
    """Print one line for each call in the file, whatever becomes of it."""
    calls = list(json_lines(files.read(here, name), name))
    if len(calls) > MAX_CALLS:
        raise UsageError(f"{name} has {len(calls):,} calls; at most {MAX_CALLS:,} are made at once", "split it")
    answers = [_line(wanted, each) for each in calls]
    output.result("".join(output.json_text(answer, None) + "\n" for answer in answers))
    return ExitCode.FINDINGS if any(answer["status"] == "error" for answer in answers) else ExitCode.OK


def _line(wanted: Wanted, each: Line | Finding) -> dict[str, Any]:
    name = ""
    try:
        name, given = _read(each)
        return _wrapped(name, _answer(wanted, name, given, None))
    except CapdiscError as error:
        return _failed(name, error) | {"line": each.line if isinstance(each, Finding) else each.number}


def _read(each: Line | Finding) -> tuple[str, Any]:
    if isinstance(each, Finding):
        raise UsageError(f"the line cannot be read: {each.message}", each.hint)
    value = each.value
    name = (value.get("tool") or value.get("name")) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(name, str):
        raise UsageError("the line names no tool", 'write {"tool": "list_skills", "arguments": {}}')
    return name, value.get("arguments", value.get("args", {}))


def _answer(wanted: Wanted, name: str, given: Any, indent: int | None) -> ToolAnswer:
    ready = tools.prepare(name, given)
    for notice in ready.notices:
        output.notice(f"notice: {notice}")
    answer = ready.tool.answer(wanted.desk, ready.arguments)
    if wanted.max_tokens is None:
        return answer
    count = token_count()
    wrap = (lambda each: _wrapped(name, each)) if wanted.is_wrapped else (lambda each: each)
    return within(answer, wanted.max_tokens, lambda each: count(output.json_text(wrap(each), indent) + "\n"))


def _wrapped(name: str, answer: ToolAnswer) -> dict[str, Any]:
    return {"status": "success", "tool": name, "results": answer}


def _failed(name: str, error: CapdiscError) -> dict[str, Any]:
    return {"status": "error", "tool": name, "error": error.message, "hint": error.hint}
