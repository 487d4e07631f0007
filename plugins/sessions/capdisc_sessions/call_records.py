"""What a call of a discovery tool leaves behind: a line of the trace or of the log, and in a
session what the call found, or used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from capdisc.context.open_index import CommandContext
from capdisc.output import console
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Query
from capdisc_indexer.sources.readers import json_reader
from capdisc_indexer.tools.call_binding import BoundCall
from capdisc_indexer.tools.capability_lookup import short_description
from capdisc_indexer.tools.tool_types import ToolAnswer
from capdisc_sessions import memory, session_files, transitions
from capdisc_sessions.session_verbs import record_result

# Of the arguments, those that say in words what is looked for.
_QUERY_KEYS = ("query", "question", "keywords", "keyword", "term")
_NAME_KEYS = ("id", "table", "name")
_SOURCE_KEYS = frozenset({"id", "path", "source", "sources"})


def record_call(
    ctx: CommandContext, call: BoundCall, answer: ToolAnswer, session: str | None
) -> None:
    """Record the call: in the session what a search found, or the use of what was run and the
    entities that its result names; in the log, if that is on, tool, query and sources.
    """
    tool, arguments = call.tool.name, call.arguments
    if tool == "execute_tool" and "executed" not in answer:  # it has called another discovery tool
        tool, arguments = arguments["tool_name"], arguments["arguments"]
    sources = list_sources(ctx, tool, arguments, answer)
    texts = [arguments[key] for key in _QUERY_KEYS if arguments.get(key)]
    query = " ".join(
        " ".join(map(str, text)) if isinstance(text, list) else str(text) for text in texts
    )
    is_ok = answer.get("status", "ok") == "ok"
    if "executed" in answer:
        sources = [str(answer.get("tool"))] if answer["executed"] else []
        if session is not None and sources:
            try:
                _record_use(ctx, session, answer, is_ok)
            except CapdiscError as error:  # it has run, so that its result is printed in any case
                console.print_notice(f"notice: the session was not written: {error}")
    elif session is not None and query:
        headers = ctx.index.documents.headers_for(sources, Query(texts=()))
        memory.remember_printed(ctx.runtime, session, [key for key in sources if key in headers])
    if ctx.config["log"]:
        memory.log_event(ctx.runtime, tool, sources, [query], session, is_ok)


def _record_use(ctx: CommandContext, name: str, answer: ToolAnswer, is_ok: bool) -> None:
    """Record a use, and the entities that the result names where the capability says how."""
    descriptor, state_dir = ctx.index.descriptor(str(answer.get("tool"))), ctx.runtime.state_dir()
    memory.announce_new_session(ctx.runtime, name)
    session_files.update_session(
        state_dir,
        name,
        lambda last: transitions.record_use(last, descriptor.id, "ok" if is_ok else "failed"),
        create=True,
    )
    if descriptor.extract is not None and is_ok:
        result = answer.get("structured_content") or answer.get("stdout") or answer.get("content")
        with suppress(ValueError):  # else it is a value, or a text that names nothing
            result = json_reader.loads(str(result))
        record_result(state_dir, name, descriptor, result)


def list_sources(
    ctx: CommandContext, tool: str, arguments: object, answer: ToolAnswer
) -> list[str]:
    """The ids and files that an answer names, in order, each once; of `tool_search`, whose answer
    has only names, the ids; of a tool that reads what its arguments name, the id of that.
    """
    rows = answer.get("tools")
    named = [
        header["id"]
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and "id" not in row
        for header in ctx.index.documents.by_alias(str(row.get("name")))
        if short_description(header) == row.get("description")
    ]
    sources = list(dict.fromkeys([*named, *_find_sources(answer)]))
    if not sources and isinstance(arguments, Mapping) and tool.startswith(("get_", "read_")):
        name = next((arguments[key] for key in _NAME_KEYS if arguments.get(key)), "")
        header = ctx.index.resolve(str(name))
        sources = [header["id"]] if header else []
    return sources


def _find_sources(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if key in _SOURCE_KEYS and value:
            yield value
    elif isinstance(value, Mapping):
        for inner_key, inner in value.items():
            if inner_key == "path" and "method" in value:  # of a URL
                continue
            is_source = key == "sources" and inner_key == "name"
            yield from _find_sources(inner, key if is_source else inner_key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _find_sources(inner, key)


def add_to_trace(
    ctx: CommandContext, file: Path, tool: str, arguments: object, answer: ToolAnswer
) -> None:
    """Add a line to the trace: the call as it was typed, and what its answer comes from."""
    record: JsonObject = {
        "tool": tool,
        "arguments": arguments,
        "sources": list_sources(ctx, tool, arguments, answer),
    }
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(console.format_json_text(record, None) + "\n")
    except OSError as error:
        raise InputError(
            f"cannot write {file}: {error.strerror}", "name a file that can be written"
        ) from error
