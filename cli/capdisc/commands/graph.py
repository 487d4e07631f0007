"""capdisc graph: how capabilities belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, check_finite, option
from capdisc.context import open_index
from capdisc.output import console, terminal
from capdisc.output.command_process import ExitCode
from capdisc_indexer.graph import CapabilityGraph, Relation, capability_graph
from capdisc_indexer.graph.drawing import DRAWINGS
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.similar_names import unknown_choice

# Edges shown for each capability: with more, nobody can tell them apart in a picture.
EDGES_PER_NODE = 5
_ID_WIDTH = 60
_EDGE_KEYS = ("source", "target", "kind", "weight", "directed", "why")

GraphFormatter = Callable[[CapabilityGraph, Sequence[str]], str]


def _format_edges(shown: CapabilityGraph, roots: Sequence[str]) -> str:
    """A line for each edge, with the capability that was named first."""
    rows = [_edge_row(relation, roots) for relation in shown.relations]
    if not rows:
        return ""
    return "\n".join(
        console.sanitise(line)
        for line in console.format_table(("capability", "", "capability", "weight", "by"), rows)
    )


def _edge_row(relation: Relation, roots: Sequence[str]) -> tuple[str, ...]:
    source, target, arrow = relation.source, relation.target, "→" if relation.directed else "–"
    if target in roots and source not in roots:
        source, target, arrow = target, source, "←" if relation.directed else arrow
    kind = f"{arrow} {one_line(relation.kind, 40)}"
    return (
        one_line(source, _ID_WIDTH),
        kind,
        one_line(target, _ID_WIDTH),
        f"{relation.weight:g}",
        one_line(relation.why, 60),
    )


def _draw_trees(screen: terminal.Screen, shown: CapabilityGraph, roots: Sequence[str]) -> None:
    """Draw a tree for each capability that was named: what it leads to, heaviest first. A
    capability that has its branches elsewhere has none where it is met again.
    """
    edges: dict[str, list[tuple[str, Relation]]] = {}
    for relation in shown.relations:
        edges.setdefault(relation.source, []).append((relation.target, relation))
        edges.setdefault(relation.target, []).append((relation.source, relation))
    placed = set(roots)

    def grow(node: str) -> list[terminal.Branch]:
        neighbours: dict[str, list[Relation]] = {}
        for neighbour, relation in edges.get(node, ()):
            neighbours.setdefault(neighbour, []).append(relation)
        new = [neighbour for neighbour in neighbours if neighbour not in placed]
        placed.update(new)  # before any of them grows: the nearest place is the right one
        return [
            terminal.Branch(
                label=_branch_label(node, neighbour, relations),
                branches=grow(neighbour) if neighbour in new else (),
            )
            for neighbour, relations in neighbours.items()
            if neighbour in new or (node in roots and neighbour in roots)
        ]

    for root in roots:
        terminal.print_tree(
            screen, terminal.Branch(label=(one_line(root), "heading"), branches=grow(root))
        )


def _branch_label(
    node: str, neighbour: str, relations: Sequence[Relation]
) -> list[terminal.Piece]:
    """The neighbour, and its edges with their weights: `requires 1 · category mail 0.1`."""
    words = (
        f"{_edge_words(relation, relation.source == node)} {relation.weight:g}"
        for relation in relations
    )
    kind = neighbour.partition(":")[0]
    return [
        (one_line(neighbour, _ID_WIDTH), terminal.style_of_kind(kind)),
        (f"  {' · '.join(words)}", "detail"),
    ]


def _edge_words(relation: Relation, is_outgoing: bool) -> str:
    """What the edge says of its other end; for what both share, what that is."""
    if relation.kind in ("SAME_CATEGORY", "TAGGED_WITH"):
        return one_line(relation.why, 60)
    plain = one_line(relation.kind.lower().replace("_", " "), 40)
    if is_outgoing or not relation.directed:
        return plain
    return "required by" if relation.kind == "REQUIRES" else f"← {plain}"


_WIDE_COLUMNS = 110


def _draw_edges(screen: terminal.Screen, shown: CapabilityGraph) -> None:
    """Draw a row for each edge of the whole index; a narrow screen has no room for its reason."""
    columns = [
        terminal.ColumnStyle(title="capability"),
        terminal.ColumnStyle(),
        terminal.ColumnStyle(title="capability", flexible=True),
        terminal.ColumnStyle(title="weight", is_number=True),
        terminal.ColumnStyle(title="by"),
    ]
    styles = ("name", "detail", "name", "", "detail")
    count = 5 if screen.columns >= _WIDE_COLUMNS else 4
    rows = []
    for relation in shown.relations:
        row = list(zip(_edge_row(relation, ()), styles, strict=True))
        row[1] = (row[1][0].lower().replace("_", " "), "detail")
        rows.append(row[:count])
    terminal.print_table(screen, columns[:count], rows)


def _format_json(shown: CapabilityGraph, roots: Sequence[str]) -> str:
    return console.format_json_text(
        {
            "schema_version": console.SCHEMA_VERSION,
            "ids": list(roots),
            "nodes": [
                {"id": key, "kind": key.partition(":")[0], "depth": depth}
                for key, depth in shown.depths.items()
            ],
            "edges": [
                {key: getattr(relation, key) for key in _EDGE_KEYS} for relation in shown.relations
            ],
            "unresolved": shown.unresolved,
            "ignored": shown.ignored,
            "left_out": shown.left_out,
        }
    )


def _drawing_formatter(name: str) -> GraphFormatter:
    return lambda shown, roots: DRAWINGS[name](shown)


FORMATS: dict[str, GraphFormatter] = {
    "table": _format_edges,
    "json": _format_json,
    **{name: _drawing_formatter(name) for name in DRAWINGS},
}


def print_stats(graph: CapabilityGraph, form: str, screen: terminal.Screen | None = None) -> None:
    """Print how many capabilities, edges and pairs there are, in plain lines without a screen."""
    stats = capability_graph.graph_stats(graph)
    if form == "json":
        console.print_document(dict(stats))
        return
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in stats["kinds"].items())
    most_connected = ", ".join(
        f"{node['id']} ({node['neighbours']})" for node in stats["most_connected"]
    )
    lines = [
        f"capabilities  {stats['capabilities']:,}, {stats['alone']:,} of them without an edge",
        f"edges         {stats['edges']:,} between {stats['pairs']:,} pairs: {kinds}",
        f"connected     {most_connected}",
        f"unresolved    {stats['unresolved']:,}",
        f"not counted   {console.format_names(stats['ignored'], 5) or 'nothing'}",
    ]
    terminal.print_fields(screen, lines)


def print_notices(shown: CapabilityGraph) -> None:
    """Print which names lead to nothing, and what was left out."""
    if shown.unresolved:
        counts = Counter(
            f"{one_line(relation.target, 60)} (by {relation.why})" for relation in shown.unresolved
        )
        total = len(shown.unresolved) + shown.left_out.get("unresolved", 0)
        names = [
            f"{name} {count} times" if count > 1 else name for name, count in counts.most_common()
        ]
        console.print_notice(
            f"notice: {total:,} lead to nothing in the index: {console.format_names(names, 5)}"
        )
    if not shown.relations:
        console.print_notice("notice: no relations found")
    missing = [
        f"{count:,} {noun}"
        for noun, count in shown.left_out.items()
        if count and noun != "unresolved"
    ]
    if missing:
        console.print_notice(
            f"notice: left out: {', '.join(missing)} (--limit, --min-weight or --edge choose)"
        )


def graph(
    ids: Annotated[
        list[str] | None, argument(metavar="[ID]...", help="Ids or names; without: all.")
    ] = None,
    depth: Annotated[
        int, option(min=1, max=8, help="How many steps from the ids.", panel="Edges")
    ] = 1,
    edge: Annotated[
        list[str] | None,
        option(metavar="KIND", help="Only this kind (repeatable).", panel="Edges"),
    ] = None,
    min_weight: Annotated[
        float,
        option(
            min=0,
            max=1,
            callback=check_finite,
            help="Only edges of at least this weight.",
            panel="Edges",
        ),
    ] = 0.0,
    limit: Annotated[
        int,
        option(
            "-k", "--limit", min=1, max=5000, help="At most this many capabilities.", panel="Edges"
        ),
    ] = 100,
    format: Annotated[
        str,
        option(
            help="How to print it.",
            panel="Output",
            choices=tuple(FORMATS),
        ),
    ] = "table",
    stats: Annotated[
        bool,
        option(help="Print statistics of the edges instead of the edges.", panel="Output"),
    ] = False,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """Print the relations between capabilities: what they require, go with, and share tags or a
    category with.

    With ids: their relations, heaviest first, or all within --depth steps. Without: those of the
    whole index. Exit status 1: there are none.

    Example: capdisc graph send-invoice --depth 2 --format mermaid
    """
    form = "json" if json else format
    if form not in FORMATS:
        raise unknown_choice("format", format, FORMATS)
    if stats and form not in ("table", "json"):
        raise UsageError(
            f"--stats are numbers, not a picture ({form})", "leave --format out, or print --json"
        )
    with open_index.open_index(index_dir, fresh) as ctx:
        roots = [ctx.index.descriptor(name).id for name in dict.fromkeys(ids or ())]
        full_graph = capability_graph.build_graph(ctx.index, ctx.config.presets)
    if full_graph.unresolved:
        from capdisc_indexer.tools.tool_table import find_tool

        # A skill may name discovery tools, which answer although no index holds them.
        unresolved = (edge for edge in full_graph.unresolved if not find_tool(edge.target))
        full_graph = replace(full_graph, unresolved=tuple(unresolved))
    subgraph = capability_graph.filter_edges(
        full_graph, _parse_edge_kinds(full_graph, edge or []), min_weight
    )
    subgraph = capability_graph.select_neighbourhood(subgraph, roots, depth) if roots else subgraph
    if stats:
        print_stats(subgraph, form, terminal.find_screen(ctx.runtime))
        return ExitCode.OK
    shown = capability_graph.limit_graph(
        subgraph if roots else capability_graph.drop_isolated(subgraph),
        limit,
        EDGES_PER_NODE * limit,
    )
    screen = terminal.find_screen(ctx.runtime) if form == "table" else None
    if screen and roots and shown.relations:
        _draw_trees(screen, shown, roots)
    elif screen and shown.relations:
        _draw_edges(screen, shown)
    else:
        console.print_result(FORMATS[form](shown, roots))
    print_notices(shown)
    return ExitCode.OK if shown.relations else ExitCode.FINDINGS


def _parse_edge_kinds(full_graph: CapabilityGraph, edge_names: list[str]) -> set[str]:
    """The kinds of edges. Raises UsageError for an unknown kind."""
    kinds = {kind.upper().replace("-", "_") for kind in edge_names}
    kinds = {"REQUIRES" if kind == "DEPENDS_ON" else kind for kind in kinds}
    known_kinds = {relation.kind for relation in full_graph.relations} | set(
        capability_graph.EDGE_KINDS
    )
    if unknown := sorted(kinds - known_kinds):
        raise unknown_choice("kind of edge", unknown[0], sorted(known_kinds))
    return kinds
