"""The three tools that an agent needs: search for capabilities, read one, run one.

Their answers are short texts, and the result of a run is JSON. They cost an agent 400 tokens of
definitions; the tools of the other modules serve it only where somebody asks for them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import (
    Arguments,
    CapabilityHeader,
    CategoryRecord,
)
from capdisc_indexer.rendering.capability_text import fitting_text, request_words
from capdisc_indexer.rendering.details import fit_categories
from capdisc_indexer.rendering.render_format import MORE_CATEGORIES
from capdisc_indexer.retrieval.verdict import TALK
from capdisc_indexer.text.location import find_common_rules, locate_file, location_rule
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.o200k import load_counter
from capdisc_indexer.text.similar_names import nearest_names
from capdisc_indexer.tools.capability_lookup import SearchResult, search_capabilities
from capdisc_indexer.tools.capability_reading import ReadRequest, read_capability
from capdisc_indexer.tools.discovery_tools import NOTHING_INDEXED, exact_matches
from capdisc_indexer.tools.execute_tool import TOOLS as EXECUTE_TOOLS
from capdisc_indexer.tools.function_definitions import RUN_TOOL
from capdisc_indexer.tools.tool_types import Tool, ToolAnswer, ToolContext, load_tools

# An answer is a text if it has that, and at most the ids of what it lists.
TEXT_KEY, SOURCES_KEY = "text", "sources"
READ_TOOL = "read_capability"
_SHOWN_CHARACTERS = 160
_OVERVIEW_TOKENS = 400
# The gate judges what people say, and refuses three in ten of an agent's keywords ("git branch").
# In 1,793 capabilities 211 of 296 pairs of words from descriptions pass the gate, 83 more meet a
# hit so well, and so do 12 of 306 turns of talk.
_KEYWORD_MATCH = 0.95
# Lists of tools: nobody reads their files, which the gateway keeps in the state folder.
_LISTS = frozenset({"mcp", "mcp-servers", "functions"})


def _search(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    query = arguments["query"].strip()
    if not len(ctx.index.documents):
        return {TEXT_KEY: NOTHING_INDEXED}
    if not query:
        return {TEXT_KEY: f"Say what the task is. Here is:\n{_overview_text(ctx)}"}
    kinds = _require_kinds(ctx, arguments.get("kinds") or ())
    result = search_capabilities(ctx, query, arguments["limit"], kinds)
    if _reads_like_talk(ctx, query, result):
        return {TEXT_KEY: "Nothing: this reads like talk. Say in a sentence what has to be done."}
    text = "\n".join(_result_lines(ctx, query, result))
    return {TEXT_KEY: text, SOURCES_KEY: [hit.id for hit in result.ranking.hits]}


def _reads_like_talk(ctx: ToolContext, query: str, result: SearchResult) -> bool:
    verdict = result.ranking.gate
    if not (result.ranking.hits and verdict and verdict.reason == TALK):
        return False
    return verdict.parts["meets_query"] < _KEYWORD_MATCH and not exact_matches(ctx, query)


def _overview_text(ctx: ToolContext) -> str:
    categories, count = ctx.index.overview["categories"], load_counter()
    return overview_text(categories, lambda lines: count(lines) <= _OVERVIEW_TOKENS)


def overview_text(categories: Sequence[CategoryRecord], fits: Callable[[str], bool]) -> str:
    """The lines of the categories that fit, and how many more there are."""

    def join_lines(lines: Sequence[str], omitted: int) -> str:
        remainder = [MORE_CATEGORIES.format(count=omitted)] if omitted else []
        return "\n".join([*lines, *remainder])

    lines = fit_categories(categories, lambda lines, omitted: fits(join_lines(lines, omitted)))
    return join_lines(lines, len(categories) - len(lines))


def _require_kinds(ctx: ToolContext, kinds: Sequence[str]) -> tuple[str, ...]:
    """The kinds. Raises UsageError, which lists those that there are, for an unknown one."""
    names = tuple(name.strip().lower() for name in kinds if name.strip())
    known_kinds = sorted(ctx.index.overview["kinds"])
    for name in names:
        if name not in known_kinds:
            near = nearest_names(name, known_kinds)
            suggestion = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"nothing here is of the kind {one_line(name, 40)!r}",
                f"{suggestion}kinds here: {', '.join(known_kinds)}",
            )
    return names


def _result_lines(ctx: ToolContext, query: str, result: SearchResult) -> Iterator[str]:
    """A line for each hit, and what the query asks for that nothing here has."""
    unmatched = ", ".join(one_line(word, 40) for word in result.ranking.unmatched[:12])
    pairs = result.pairs
    if not pairs:
        yield "Nothing here fits."
    words = request_words([query])
    places = _describe_places(ctx, [header for _, header in pairs])
    for (_, header), place in zip(pairs, places, strict=True):
        yield _hit_line(ctx, header, words, place)
    if unmatched:
        yield f"Nothing here mentions: {unmatched}"
    if not pairs:
        yield "Try other words, or work without."


def _describe_places(ctx: ToolContext, headers: Sequence[CapabilityHeader]) -> list[str]:
    """Where each capability lies: a rule that several follow stands with the first of them
    alone.
    """
    files = [
        (
            header["id"],
            header["kind"],
            one_line(locate_file(header["source"]["path"], ctx.workspace), 300),
        )
        for header in headers
    ]
    rules = find_common_rules(
        file
        for header, file in zip(headers, files, strict=True)
        if header["source"]["format"] not in _LISTS
    )
    places: list[str] = []
    for header, (identifier, kind, path) in zip(headers, files, strict=True):
        rule = location_rule(identifier, kind, path)
        place = rule if rules.get(kind) == rule else path
        is_told = (place == rule and place in places) or header["source"]["format"] in _LISTS
        places.append("" if is_told else place)
    return places


def _hit_line(ctx: ToolContext, header: CapabilityHeader, words: Set[str], place: str) -> str:
    """Id, what of the description fits the request, where it lies, what to know before its use."""
    remarks = [
        "" if ctx.available(header) else "not usable here",
        "stale: its file is broken now" if header.get("stale") else "",
        "review before use" if header.get("warnings") else "",
        "ask before use" if header.get("confirm") else "",
    ]
    notes = "; ".join(remark for remark in (place, *remarks) if remark)
    about = fitting_text(header["description"], words, _SHOWN_CHARACTERS)
    about = about or one_line(header["name"], 80)
    return f"{one_line(header['id'], 200)}: {about}{f' ({notes})' if notes else ''}"


def _read(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    if not len(ctx.index.documents):
        raise UsageError(NOTHING_INDEXED)
    request = ReadRequest(
        name=arguments["id"],
        section=arguments.get("section") or "",
        file=arguments.get("file") or "",
        cursor=arguments.get("cursor") or "",
    )
    return {TEXT_KEY: read_capability(ctx, request, load_counter())}


def _run(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    (execute,) = EXECUTE_TOOLS
    call_arguments = {"tool_name": arguments["id"], "arguments": arguments["arguments"]}
    # Only capabilities: whoever has these three tools is offered no others to reach through them.
    return execute.answer(replace(ctx, offers=lambda _: False), call_arguments)


_ANSWERS = {"search_capabilities": _search, READ_TOOL: _read, RUN_TOOL: _run}
AGENT_TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for tool in load_tools("agent", _ANSWERS)}
)
