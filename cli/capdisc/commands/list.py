"""capdisc list: what the index holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from capdisc.args import names, params
from capdisc.args.command_line import option
from capdisc.context import open_index, query_execution
from capdisc.output import console, terminal
from capdisc.output.command_process import ExitCode
from capdisc.output.terminal import ColumnStyle
from capdisc_indexer.indexing.id_resolution import find_collisions
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.risks import RISK_CHOICES, counted_risk, risk_level
from capdisc_indexer.model.types import LISTED_FIELDS, Query
from capdisc_indexer.store.columns import Columns, is_told_by_columns
from capdisc_indexer.store.state_database import StateDatabase
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.similar_names import unknown_choice
from capdisc_indexer.text.token_counts import DEFAULT_TOKENIZER

_BAR = ColumnStyle(only="screen")


def list_(
    filters: params.Filters = params.Filters(),
    risk: Annotated[
        list[str] | None,
        option(
            help="Only of this risk; what declares none counts as high (repeatable).",
            panel="Filters",
            choices=RISK_CHOICES,
        ),
    ] = None,
    confirm: Annotated[
        bool, params.filter_option(help="Only those that ask before they act.")
    ] = False,
    invocable: Annotated[
        bool, params.filter_option(help="Only those that agents may see.")
    ] = False,
    categories: Annotated[
        bool,
        option(
            help="Print the categories and how many capabilities each has.",
            panel="Output",
        ),
    ] = False,
    ids: Annotated[bool, option(help="Print ids only, one on each line.", panel="Output")] = False,
    paths: params.Paths = False,
    null: params.Null = False,
    cost: Annotated[
        bool,
        option(
            help="Print the tokens of each in full, most first, and of all together.",
            panel="Output",
        ),
    ] = False,
    shadowed: Annotated[
        bool,
        option(
            help="Print those whose id another file has, and which file.",
            panel="Output",
        ),
    ] = False,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """List the capabilities by category, or their cost in a prompt.

    Example: capdisc list --cost
    """
    name_form = names.choose_form(ids=ids, paths=paths, null=null, json=json)
    with open_index.open_index(index_dir, fresh) as ctx:
        if shadowed:
            return _print_shadowed(ctx, terminal.find_screen(ctx.runtime), json)
        query = filters.query((), 0)
        query = query_execution.check_query(ctx, query)
        columns = ctx.index.columns
        places = _find_places(ctx, query, risk or (), confirm, invocable)
        if filters.preset:
            members = query_execution.resolve_presets(ctx, query.presets)
            places = [place for place in places if ctx.index.columns.ids[place] in members]
        if categories:
            return _print_categories(columns, places, terminal.find_screen(ctx.runtime), json)
        if cost:
            return _print_cost(ctx, columns, places, json)
        if json:
            console.print_long_document(
                {"capabilities": []}, "capabilities", map(_header_row, _load_headers(ctx, places))
            )
        elif name_form and name_form.paths:
            name_form.print_names(
                header["source"]["path"] for header in _load_headers(ctx, places)
            )
        elif name_form:
            name_form.print_names(columns.ids[place] for place in places)
        elif screen := terminal.find_screen(ctx.runtime):
            console.print_pieces(_draw_listing(ctx, screen, places))
        else:
            console.print_long_lines(_format_listing(ctx, places))
        if not places:
            console.print_notice("notice: there is nothing to list")
    return ExitCode.OK if places else ExitCode.FINDINGS


def _find_places(
    ctx: open_index.CommandContext,
    query: Query,
    risks: Sequence[str],
    confirm: bool,
    invocable: bool,
) -> Sequence[int]:
    """The positions in the index's columns of the capabilities that pass the filters. Raises
    UsageError for an unknown risk.
    """
    if unknown := [risk for risk in risks if not risk_level(risk)]:
        raise unknown_choice("risk", unknown[0], RISK_CHOICES)
    levels = {risk_level(risk) for risk in risks}
    columns = ctx.index.columns
    places = columns.matching(query)
    if risks or confirm or not is_told_by_columns(query):  # the columns do not have these
        ids = {
            header["id"]
            for header in ctx.index.heads(query)
            if (not levels or counted_risk(header["kind"], header.get("risk", "")) in levels)
            and (header.get("confirm") or not confirm)
            and query_execution.passes_filters(ctx, query, header)
        }
        places = [place for place in places if columns.ids[place] in ids]
    return [place for place in places if place not in columns.hidden] if invocable else places


def _load_headers(
    ctx: open_index.CommandContext, places: Sequence[int]
) -> Iterator[CapabilityHeader]:
    ids = ctx.index.columns.ids
    return ctx.index.documents.in_order([ids[place] for place in places], Query(texts=()))


def _print_categories(
    columns: Columns, places: Sequence[int], screen: terminal.Screen | None, json: bool
) -> int:
    counts = Counter(columns.categories[place] for place in places)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if json:
        console.print_document(
            {"categories": [{"category": name, "count": number} for name, number in rows]}
        )
    elif rows:
        table_columns = (
            ColumnStyle(title="count", is_number=True),
            _BAR,
            ColumnStyle(title="category", wrapped=True),
        )
        most = rows[0][1]
        terminal.print_rows(
            screen,
            table_columns,
            [
                (number, (terminal.format_bar(number / most), "detail"), one_line(name))
                for name, number in rows
            ],
        )
    return ExitCode.OK if rows else ExitCode.FINDINGS


def _header_row(header: CapabilityHeader) -> JsonObject:
    keys = ("id", *LISTED_FIELDS, "hidden")
    return {key: value for key, value in header.items() if key in keys} | {
        "path": header["source"]["path"]
    }


def _group_places(
    ctx: open_index.CommandContext, places: Sequence[int]
) -> Iterator[tuple[str, Sequence[int]]]:
    """The categories with the places of their capabilities, the largest first."""
    groups: dict[str, list[int]] = {}
    for place in places:
        groups.setdefault(ctx.index.columns.categories[place], []).append(place)
    for category in sorted(groups, key=lambda name: (-len(groups[name]), name)):
        yield category, groups[category]


def _format_listing(ctx: open_index.CommandContext, places: Sequence[int]) -> Iterator[str]:
    """A line for each capability, grouped by category, the largest group first."""
    for number, (category, group) in enumerate(_group_places(ctx, places)):
        yield from ("",) if number else ()
        yield f"{one_line(category) if number else category} ({len(group)})"
        width = min(max(len(ctx.index.columns.ids[place]) for place in group), 44)
        for header in _load_headers(ctx, group):
            columns_left = ctx.runtime.columns - max(width, len(header["id"])) - 4
            description = one_line(header["description"], min(max(columns_left, 40), 90))
            yield f"  {header['id'].ljust(width)}  {description}"


def _draw_listing(
    ctx: open_index.CommandContext, screen: terminal.Screen, places: Sequence[int]
) -> Iterator[str]:
    """The same for a terminal: kind, shortest name and description on one line of its width. Not
    by rich, which would take seconds for thousands of rows.
    """
    columns, colour = ctx.index.columns, screen.colour
    name_counts = Counter(name.casefold() for name in columns.names)
    kinds = {columns.kinds[place] for place in places}
    kind_width = max(map(len, kinds)) if len(kinds) > 1 else 0  # one kind needs no column
    for number, (category, group) in enumerate(_group_places(ctx, places)):
        yield "\n" if number else ""
        heading = f"{one_line(category)} ({len(group):,})"
        yield f"{console.bold(console.sanitise(heading), colour)}\n"
        headers = list(_load_headers(ctx, group))
        short_names = [
            header["name"]
            if name_counts[header["name"].casefold()] == 1
            else ctx.index.shortest_name(header)
            for header in headers
        ]
        width = min(max(map(len, short_names)), screen.columns * 2 // 5)
        for header, name in zip(headers, short_names, strict=True):
            columns_left = screen.columns - kind_width - max(width, len(name)) - 6
            about = one_line(header["description"], columns_left) if columns_left > 10 else ""
            kind = header["kind"].ljust(kind_width) + "  " if kind_width else ""
            kind = terminal.colour_text(kind, header["kind"], screen)
            label = console.bold(console.sanitise(name.ljust(width)), colour)
            yield f"  {kind}{label}  {console.sanitise(about)}".rstrip() + "\n"


def _print_cost(
    ctx: open_index.CommandContext, columns: Columns, places: Sequence[int], json: bool
) -> int:
    """Print the tokens of each capability in full, as the build counted them, and of all together
    against the most that a rendered context costs.
    """
    order = sorted(places, key=lambda place: (-columns.tokens[place], columns.ids[place]))
    total, budget = sum(columns.tokens[place] for place in places), ctx.config["budget"]
    listing = sum(columns.listing_tokens[place] for place in places)
    if json:
        document: JsonObject = {
            "tokenizer": DEFAULT_TOKENIZER,
            "total": total,
            "listing": listing,
            "budget": budget,
            "saved_percent": _saved_percent(budget, total),
            "saved_percent_of_listing": _saved_percent(budget, listing),
            "each": [],
        }
        rows = ({"id": columns.ids[place], "tokens": columns.tokens[place]} for place in order)
        console.print_long_document(document, "each", rows)
    else:
        listing_label = f"names and descriptions alone: {listing:,}"
        comparison = f"{_saved_percent(budget, total)} % fewer than all in full"
        if saved := _saved_percent(budget, listing):
            comparison += f", {saved} % fewer than names and descriptions"
        sums = (
            f"all {len(order):,} in full: {total:,} tokens ({DEFAULT_TOKENIZER}); {listing_label}",
            f"a rendered context: at most {budget:,} tokens, {comparison}",
        )
        screen = terminal.find_screen(ctx.runtime)
        most = max(map(columns.tokens.__getitem__, order), default=1)
        terminal.print_rows(
            screen,
            (
                ColumnStyle(title="tokens", is_number=True),
                ColumnStyle(title="listed", is_number=True, only="screen"),
                _BAR,
                ColumnStyle(title="capability", wrapped=True),
            ),
            [
                (
                    f"{columns.tokens[place]:,}",
                    columns.listing_tokens[place],
                    (terminal.format_bar(columns.tokens[place] / max(most, 1)), "detail"),
                    (columns.ids[place], terminal.style_of_kind(columns.kinds[place])),
                )
                for place in order
            ],
        )
        for line in sums:
            terminal.print_paragraph(screen, line)
    return ExitCode.OK


def _saved_percent(budget: int, tokens: int) -> float:
    return round(100 * (1 - budget / tokens), 1) if tokens > budget else 0.0


def _print_shadowed(
    ctx: open_index.CommandContext, screen: terminal.Screen | None, json: bool
) -> int:
    findings = find_collisions(StateDatabase(ctx.index.folder))
    if json:
        console.print_document({"findings": findings})
    elif screen and 0 < len(findings) <= terminal.MAX_ROWS:
        terminal.print_table(
            screen,
            (ColumnStyle(title="file", wrapped=True), ColumnStyle(title="why", wrapped=True)),
            ((finding.path, f"{finding.message}; {finding.hint}") for finding in findings),
        )
    else:
        console.print_lines(
            f"{finding.path}: {finding.message} ({finding.hint})" for finding in findings
        )
    return ExitCode.OK
