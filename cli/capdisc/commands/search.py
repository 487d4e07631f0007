"""capdisc search: ranked hits for a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Annotated

from capdisc.args import params
from capdisc.args.command_line import check_finite, option
from capdisc.context import open_index, query_execution, session_memory
from capdisc.context.query_execution import (
    decision_document,
    format_decision,
    format_unmatched,
    print_unmatched,
)
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.records import UNCATEGORISED, listed_fields
from capdisc_indexer.model.types import Hit, Query, Ranking
from capdisc_indexer.retrieval.verdict import MIN_SHOWN_RELEVANCE, select_shown_hits
from capdisc_indexer.text.normalization import one_line

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime

_LISTED_CATEGORIES = 8


def search(
    words: params.Words = None,
    also: params.Also = None,
    limit: Annotated[
        int | None,
        option("-k", "--limit", min=1, max=1000, help="How many hits.", panel="Searching"),
    ] = None,
    filters: params.Filters = params.Filters(),
    mode: params.Mode = None,
    encoder: params.EncoderName = None,
    explain: Annotated[
        bool, option(help="Show every signal of every hit.", panel="Output")
    ] = False,
    ids: params.Ids = False,
    paths: params.Paths = False,
    null: params.Null = False,
    open: params.Open = False,
    expand: Annotated[
        int,
        option(
            min=0,
            max=20,
            help="Add up to N capabilities that the hits name as related.",
            panel="Searching",
        ),
    ] = 0,
    min_relevance: params.MinRelevance = None,
    whole: Annotated[
        bool,
        option(
            help="Do not split the query into clauses.",
            panel="Searching",
        ),
    ] = False,
    usage_boost: Annotated[
        float | None,
        option(
            min=0,
            max=1,
            callback=check_finite,
            help="Raise what the log says is used, by up to this share of its score.",
            panel="Searching",
        ),
    ] = None,
    graph_boost: Annotated[
        float | None,
        option(
            min=0,
            max=1,
            callback=check_finite,
            help="The share of its partners' scores that a hit gains [by the setting, else 0.15].",
            panel="Searching",
        ),
    ] = None,
    gate: params.Gate = "auto",
    session: params.SessionName = None,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    engine: params.Engine = None,
    json: params.Json = False,
) -> int:
    """Find the skills and tools that fit a request; - reads it from stdin. Exit status 1: nothing
    fits.

    Example: capdisc search "put two PDF files into one"
    """
    texts = params.query_texts(words, also)
    if not texts:
        raise UsageError(
            "the query is empty", 'say what you need: capdisc search "merge two PDF files"'
        )
    name_form = None
    if ids or paths or null or open:
        from capdisc.args import names  # which other searches need not import

        name_form = names.choose_form(ids=ids, paths=paths, null=null, json=json, opens=open)
    with open_index.open_index(index_dir, fresh, engine=engine) as ctx:
        if ctx.runtime.stderr_is_terminal:
            _name_servers_once(ctx.runtime)
        query = replace(
            filters.query(texts, limit or ctx.config["limit"]),
            graph_boost=graph_boost,
            choices=query_execution.ranking_choices(ctx, False if whole else None, usage_boost),
        )
        query = query_execution.check_query(ctx, query)
        ranking = query_execution.rank_query(ctx, query, mode, encoder, gate)
        ranking = _add_neighbours(ctx, ranking, expand) if expand else ranking
        ranking, shown_ids = _select_shown(ctx, ranking, min_relevance)
        headers = ctx.index.documents.headers_for(
            [hit.id for hit in ranking.hits], Query(texts=())
        )
        printed_ids = [hit.id for hit in ranking.hits if hit.id in shown_ids]
        if session is not None:
            session_memory.remember_printed(ctx.runtime, session, printed_ids)
        if ctx.config["log"]:
            session_memory.log_event(ctx.runtime, "search", printed_ids, texts, session)
        if json:
            console.print_document(
                _result_document(ctx, ranking, shown_ids, headers)
                | {"gate": decision_document(ranking.gate, explain)}
            )
        elif name_form:
            name_form.print_or_open(
                ctx.runtime, ((key, headers[key]["source"]["path"]) for key in printed_ids)
            )
        else:
            _print_hits(ctx, ranking, shown_ids, headers, explain)
            if explain and ranking.gate:
                console.print_notice(format_decision(ranking.gate))
        if not ranking.hits:
            _print_no_match(ctx, ranking)
    return ExitCode.OK if ranking.hits else ExitCode.FINDINGS


def _name_servers_once(runtime: Runtime) -> None:
    """Name the servers of the workspace that were never asked for their tools, unless that was
    done before: most searches need no plug-in for it.
    """
    if not (runtime.workspace / ".mcp.json").exists() or runtime.named_servers_mark.exists():
        return
    from capdisc_indexer.plugins.registry import find_service

    if servers := find_service("servers"):
        servers.name_unasked_servers_once(runtime)


def _select_shown(
    ctx: open_index.CommandContext, ranking: Ranking, min_relevance: float | None
) -> tuple[Ranking, Set[str]]:
    """The ranking, and the ids of its hits that are relevant enough to be shown. By default the
    others stay in the ranking, for --explain and --json; where the user raised the threshold, they
    are removed.
    """
    threshold = query_execution.relevance_threshold(ctx, min_relevance)
    shown_ids = {hit.id for hit in select_shown_hits(ranking.hits, threshold)}
    if min_relevance is not None or threshold > MIN_SHOWN_RELEVANCE:
        ranking = _remove_irrelevant(ranking, shown_ids, threshold)
    return ranking, shown_ids


def _remove_irrelevant(ranking: Ranking, shown_ids: Set[str], threshold: float) -> Ranking:
    """The ranking with only the hits of these ids; a notice counts the others."""
    hits = tuple(hit for hit in ranking.hits if hit.id in shown_ids)
    if omitted := len(ranking.hits) - len(hits):
        label = console.format_count(omitted, "hit")
        console.print_notice(f"notice: {label} of less relevance than {threshold:g} left out")
    return replace(ranking, hits=hits)


def _add_neighbours(ctx: open_index.CommandContext, ranking: Ranking, count: int) -> Ranking:
    from capdisc_indexer.graph.capability_graph import add_neighbours

    hits = add_neighbours(
        ctx.index, ranking, count, lambda header: open_index.is_available(ctx.runtime, header)
    )
    return replace(ranking, hits=hits)


def _print_hits(
    ctx: open_index.CommandContext,
    ranking: Ranking,
    shown_ids: Set[str],
    headers: dict[str, CapabilityHeader],
    explain: bool,
) -> None:
    shown = [hit for hit in ranking.hits if explain or hit.id in shown_ids]
    if ctx.runtime.draws_results:
        _draw_hits(ctx, shown, headers, explain)
    else:
        console.print_result("\n".join(_format_hits(ctx, shown, headers, explain)))
    if len(shown) < len(ranking.hits):
        count = len(ranking.hits) - len(shown)
        label = f"{count:,} more" if shown else f"only {console.format_count(count, 'hit')}"
        pronoun = "it" if count == 1 else "them"
        console.print_notice(f"notice: {label} of little relevance (--explain shows {pronoun})")
    if explain:
        console.print_notice(
            f"mode {ranking.mode}, confidence {ranking.confidence:.2f}, generation {ctx.index.generation.number}"
        )
    print_unmatched(ranking)


def _format_hits(
    ctx: open_index.CommandContext,
    shown: Sequence[Hit],
    headers: dict[str, CapabilityHeader],
    explain: bool,
) -> Iterator[str]:
    """The lines of the hits for a pipe."""
    width = min(max((len(hit.id) for hit in shown), default=0), 44)
    for rank, hit in enumerate(shown, 1):
        header, colour = headers[hit.id], ctx.runtime.colour
        columns_left = max(ctx.runtime.columns - max(width, len(hit.id)) - 6, 40)
        description = console.sanitise(one_line(header["description"], columns_left))
        label = console.bold(console.sanitise(hit.id.ljust(width)), colour)
        yield f"{rank:2}  {label}  {description}"
        signals = _hit_signals(ctx, hit) if explain else ()
        for remark in (*_hit_remarks(ctx, hit, header), *signals):
            yield console.dim(f"    {remark}", colour)


# Below this width a description gets two lines.
_WIDE_COLUMNS = 110
# Below this one, names as long as most are break in a column of their own.
_NARROW_COLUMNS = 64


def _draw_hits(
    ctx: open_index.CommandContext,
    shown: Sequence[Hit],
    headers: dict[str, CapabilityHeader],
    explain: bool,
) -> None:
    """Draw the hits as a table: rank, bar of the score, kind, shortest name, description; on a
    narrow screen without the kind, and with the description below the name.
    """
    from capdisc.output import terminal  # which a pipe does without

    screen = terminal.make_screen(ctx.runtime)
    names = {hit.id: one_line(ctx.index.shortest_name(headers[hit.id])) for hit in shown}
    is_narrow = screen.columns < _NARROW_COLUMNS
    widest_kind = max((len(headers[hit.id]["kind"]) for hit in shown), default=0)
    widest_name = max(map(len, names.values()), default=0)
    name_columns = min(widest_name, screen.columns * 3 // 10)
    columns_left = screen.columns - 2 - terminal.BAR_CELLS - 2 * 2
    if not is_narrow:
        columns_left -= widest_kind + name_columns + 2 * 2
    line_count = 1 if screen.columns >= _WIDE_COLUMNS else 2
    rows: list[list[terminal.Line]] = []
    for rank, hit in enumerate(shown, 1):
        header = headers[hit.id]
        kind = header["kind"]
        # Words are not broken, so the lines before the last one are not full.
        characters = columns_left * line_count - 8 * (line_count - 1)
        about: list[terminal.Piece] = [(one_line(header["description"], characters), "")]
        if remarks := " · ".join(_hit_remarks(ctx, hit, header, names)):
            about.append((f"\n{remarks}", "detail"))
        about += [
            (f"\n{signals}", "detail") for signals in (_hit_signals(ctx, hit) if explain else ())
        ]
        name = (_break_name(names[hit.id], columns_left if is_narrow else name_columns), "name")
        rows.append(
            [
                (str(rank), "detail"),
                (terminal.format_bar(hit.score), _bar_style(hit.relevance)),
                *([] if is_narrow else [(kind, terminal.style_of_kind(kind)), name]),
                [name, ("\n", ""), *about] if is_narrow else about,
            ]
        )
    columns = (
        terminal.ColumnStyle(is_number=True),
        terminal.ColumnStyle(),
        *([] if is_narrow else [terminal.ColumnStyle()]),
        *([] if is_narrow else [terminal.ColumnStyle(wrapped=True, max_width=name_columns)]),
        terminal.ColumnStyle(wrapped=True, flexible=True),
    )
    if rows:
        terminal.print_table(screen, columns, rows)


def _break_name(name: str, columns: int) -> str:
    """The name; one that is too wide is broken before the folder that tells it from others."""
    return name.replace("@", "\n@", 1) if len(name) > columns else name


def _bar_style(relevance: float) -> str:
    if relevance >= 0.5:
        return "ok"
    return "warning" if relevance >= 0.2 else "detail"


def _hit_remarks(
    ctx: open_index.CommandContext,
    hit: Hit,
    header: CapabilityHeader,
    short_names: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The remarks below a hit: why it came along, what it lacks, its section, its copies. With
    `short_names` (a terminal), other hits are named by these and copies are counted, not named.
    """
    if hit.via:
        yield f"{_name_relation(hit)} {console.sanitise((short_names or {}).get(hit.via, hit.via))}"
    if not header.get("available", True):
        yield "not available: its file says so"
    if missing := open_index.missing_requirements(ctx.runtime, header):
        yield f"missing: {console.sanitise(', '.join(one_line(name, 60) for name in missing))}"
    if hit.section:
        yield f"section: {console.sanitise(one_line(hit.section))}"
    if header.get("stale"):
        yield "stale: its file is broken now, this is the last good version"
    if warnings := header.get("warnings"):
        yield f"review before use: {', '.join(warnings)}"
    if hit.copies and short_names is None:
        yield f"near copies: {console.format_names(hit.copies)}"
    elif hit.copies:
        yield f"+ {console.format_count(len(hit.copies), 'near copy', 'near copies')}"


def _name_relation(hit: Hit) -> str:
    """How a hit came along with another one."""
    if "preset" in hit.signals:
        return "by its preset, with"
    if "related" in hit.signals:
        return "related to"
    return "gives an input of" if "gives_input" in hit.signals else "required by"


def _hit_signals(ctx: open_index.CommandContext, hit: Hit) -> Iterator[str]:
    """The parts of the score, and why the hit gives another one its input."""
    if "gives_input" in hit.signals:
        for edge in ctx.index.producers(hit.via):
            if edge.producer == hit.id:
                yield console.sanitise(f"came along because {edge.why}")
    signals = {"score": round(hit.score, 4), "relevance": hit.relevance, **hit.signals}
    yield "  ".join(f"{name} {value:g}" for name, value in signals.items())


def _print_no_match(ctx: open_index.CommandContext, ranking: Ranking) -> None:
    """Print that nothing fits, which words are unknown here, and what is here instead."""
    console.print_notice("nothing fits")
    if ranking.unmatched:
        console.print_notice(format_unmatched(ranking))
    console.print_notice(f"hint: {_describe_catalogue(ctx, ranking)}")


def _describe_catalogue(ctx: open_index.CommandContext, ranking: Ranking) -> str:
    """What the index holds, for a request that nothing in it fits."""
    count, hidden = len(ctx.index.documents), len(ctx.index.columns.hidden)
    if not count:
        return (
            "the index is empty: write a capability (capdisc new skill NAME), or add a folder of "
            "them (capdisc index PATH); capdisc status says what the index covers"
        )
    if count == hidden:
        subject = "the one capability" if count == 1 else f"all {count:,} capabilities"
        return f"{subject} of the index {'is' if count == 1 else 'are'} hidden from agents: capdisc list"
    words = {word for text in ranking.query.texts for word in ctx.index.documents.words(text)}
    # Where the index knows no word of the request, the nearest categories are so by accident.
    if ranking.categories and not words <= set(ranking.unmatched):
        return f"categories here: {', '.join(ranking.categories)}"
    entries = sorted(ctx.index.overview["categories"], key=lambda entry: -entry["count"])
    names = [entry["category"] for entry in entries]
    if [UNCATEGORISED] in (names, list(ranking.categories)):  # a category that says nothing
        number = console.format_count(count - hidden, "capability", "capabilities")
        return f"the index holds {number}: capdisc list"
    command = ": capdisc list --categories" if len(names) > _LISTED_CATEGORIES else ""
    return f"categories here: {console.format_names(names, _LISTED_CATEGORIES)}{command}"


def _result_document(
    ctx: open_index.CommandContext,
    ranking: Ranking,
    shown_ids: Set[str],
    headers: dict[str, CapabilityHeader],
) -> JsonObject:
    return {
        "query": ranking.query.texts,
        "mode": ranking.mode,
        "confidence": ranking.confidence,
        "unmatched": ranking.unmatched,
        "corrections": ranking.corrections,
        "degraded": ranking.degraded,
        "categories": ranking.categories,
        "generation": ctx.index.generation.number,
        "total_indexed": len(ctx.index.documents),
        "freshness": ctx.freshness.document(),
        "hits": [
            _hit_document(ctx, hit, headers[hit.id]) | {"fits": hit.id in shown_ids}
            for hit in ranking.hits
        ],
    }


def _hit_document(
    ctx: open_index.CommandContext, hit: Hit, header: CapabilityHeader
) -> JsonObject:
    return {
        "id": hit.id,
        **listed_fields(header),
        "score": round(hit.score, 4),
        "relevance": hit.relevance,
        "via": hit.via or None,
        "section": hit.section or None,
        "copies": hit.copies,
        "available": open_index.is_available(ctx.runtime, header),
        "missing": open_index.missing_requirements(ctx.runtime, header),
        "stale": bool(header.get("stale")),
        "path": header["source"]["path"],
        "root": header["source"]["root"],
        "warnings": header.get("warnings", []),
        "signals": hit.signals,
    }
