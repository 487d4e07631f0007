"""Pictures of a network, as text for programs that draw, and as SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from html import escape

from capdisc_indexer.graph.traversal import CapabilityGraph, Relation
from capdisc_indexer.text.normalization import one_line

# What stands on a line of a picture.

MAX_ID_CHARACTERS = 80


def id_label(identifier: str) -> str:
    """The id as a label: one line, bounded, nothing that hides or steers."""
    return one_line(identifier, MAX_ID_CHARACTERS)


def edge_label(relation: Relation) -> str:
    """The kind and the weight, `REQUIRES` alone where the weight is 1."""
    kind = one_line(relation.kind, 40)
    return kind if relation.weight == 1.0 else f"{kind} {relation.weight:g}"


# The DOT language of Graphviz.


def draw_dot(graph: CapabilityGraph) -> str:
    """One directed graph; edges that read the same from either end have no arrow heads."""
    numbers = {identifier: f"n{number}" for number, identifier in enumerate(graph.depths)}
    nodes = [
        f"  {number} [label={_quote_dot(id_label(identifier))}];"
        for identifier, number in numbers.items()
    ]
    edges = [_dot_edge(relation, numbers) for relation in graph.relations]
    return "\n".join(["digraph capabilities {", "  node [shape=box];", *nodes, *edges, "}", ""])


def _dot_edge(relation: Relation, numbers: dict[str, str]) -> str:
    plain = "" if relation.directed else ", dir=none"
    ends = f"{numbers[relation.source]} -> {numbers[relation.target]}"
    return f"  {ends} [label={_quote_dot(edge_label(relation))}, penwidth={0.5 + 2 * relation.weight:g}{plain}];"


def _quote_dot(text: str) -> str:
    """A quoted string; a label reads a backslash as the begin of an escape, so it is doubled as
    the quotes are.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# Mermaid's flowchart, as Markdown viewers draw it.

# All else is written as a character code: viewers read labels as Markdown and as HTML.
_SPECIAL_CHARACTERS = re.compile(r"[^\w :./@+-]")


def draw_mermaid(graph: CapabilityGraph) -> str:
    """One flowchart from left to right; edges that read the same from either end have no arrow
    heads.
    """
    numbers = {identifier: f"n{number}" for number, identifier in enumerate(graph.depths)}
    nodes = [
        f"  {number}[{_quote_mermaid(id_label(identifier))}]"
        for identifier, number in numbers.items()
    ]
    edges = [_mermaid_edge(relation, numbers) for relation in graph.relations]
    return "\n".join(["flowchart LR", *nodes, *edges, ""])


def _mermaid_edge(relation: Relation, numbers: dict[str, str]) -> str:
    line = "-->" if relation.directed else "---"
    return f"  {numbers[relation.source]} {line}|{_quote_mermaid(edge_label(relation))}| {numbers[relation.target]}"


def _quote_mermaid(text: str) -> str:
    return '"' + _SPECIAL_CHARACTERS.sub(lambda match: f"#{ord(match[0])};", text) + '"'


# Where the capabilities of a picture stand: what one began with in the middle, the rest on rings
# around it.

# Room for a label between neighbours on a ring, and between rings.
_ARC, _RING = 190.0, 170.0


def place_nodes(depths: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """A point for each id, around (0, 0). A ring has room for all that stand on it."""
    rings: dict[int, list[str]] = {}
    for identifier, depth in depths.items():
        rings.setdefault(depth, []).append(identifier)
    points: dict[str, tuple[float, float]] = {}
    radius = 0.0
    for depth in sorted(rings):
        ring = rings[depth]
        alone = depth == min(rings) and len(ring) == 1
        radius = 0.0 if alone else max(radius + _RING, len(ring) * _ARC / (2 * math.pi))
        # Each ring begins a little further on, so that labels of two rings do not stand in one
        # line.
        for number, identifier in enumerate(ring):
            angle = 2 * math.pi * number / len(ring) + 0.35 * depth - math.pi / 2
            points[identifier] = (
                round(radius * math.cos(angle), 1),
                round(radius * math.sin(angle), 1),
            )
    return points


# A picture of its own: no script, no link, no font to load, nothing fetched.

_MARGIN, _LABEL = 40.0, 26
_HALF, _TALL = 85.0, 11.0
_COLOURS = {
    "REQUIRES": "#b3261e",
    "COMPOSED_WITH": "#1a6b3c",
    "RELATED": "#1f5fa8",
    "REFERS_TO": "#6a3fa0",
    "TAGGED_WITH": "#7a6a00",
    "SAME_CATEGORY": "#888888",
}
_OTHER_COLOUR = "#444444"
# What XML 1.0 forbids and the labels' own cleaning leaves: a tab has become a blank, surrogates
# are gone.
_NOT_XML = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ARROW_MARKER = (
    '<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 10 5 0 10z"/></marker>'
)

Point = tuple[float, float]


def draw_svg(graph: CapabilityGraph) -> str:
    """One SVG document: capabilities on rings by their distance, edges in a colour a kind, a full
    name on hovering.
    """
    points = place_nodes(graph.depths)
    xs, ys = [x for x, _ in points.values()] or [0.0], [y for _, y in points.values()] or [0.0]
    left, top = min(xs) - _HALF - _MARGIN, min(ys) - _MARGIN
    kinds = sorted({relation.kind for relation in graph.relations})
    width = max(max(xs) + _HALF + _MARGIN - left, 220.0)
    height = max(ys) + _MARGIN - top + 20 * len(kinds)
    box = f"{left:g} {top:g} {width:g} {height:g}"
    root_tag = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width:g}" height="{height:g}"'
    lines = [_svg_edge(relation, points) for relation in graph.relations]
    nodes = [_format_node(identifier, point) for identifier, point in points.items()]
    legend = [
        _format_legend_row(kind, left + 10, max(ys) + _MARGIN + 20 * row)
        for row, kind in enumerate(kinds)
    ]
    style = ' font-family="sans-serif" font-size="11">'
    return "\n".join(
        [root_tag + style, f"<defs>{_ARROW_MARKER}</defs>", *lines, *nodes, *legend, "</svg>", ""]
    )


def _svg_edge(relation: Relation, points: dict[str, Point]) -> str:
    (x1, y1), (x2, y2) = (
        points[relation.source],
        _find_border_point(points[relation.source], points[relation.target]),
    )
    arrow = ' marker-end="url(#arrow)"' if relation.directed else ""
    title = f"{id_label(relation.source)} {edge_label(relation)} {id_label(relation.target)}"
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{_colour(relation.kind)}" '
        f'stroke-width="{0.5 + 2 * relation.weight:g}"{arrow}><title>{_escape(title)}</title></line>'
    )


def _find_border_point(start: Point, end: Point) -> Point:
    """Where a line to the middle of a box meets its border, so that its arrow is seen."""
    x, y = end[0] - start[0], end[1] - start[1]
    share = min(_HALF / abs(x) if x else 1.0, _TALL / abs(y) if y else 1.0, 1.0)
    return round(end[0] - share * x, 1), round(end[1] - share * y, 1)


def _format_node(identifier: str, point: Point) -> str:
    x, y = point
    box = f'x="{x - _HALF:g}" y="{y - _TALL:g}" width="{2 * _HALF:g}" height="{2 * _TALL:g}" rx="5"'
    return (
        f'<g><title>{_escape(id_label(identifier))}</title><rect {box} fill="#f6f6f6" stroke="#555555"/>'
        f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{_escape(one_line(identifier, _LABEL))}</text></g>'
    )


def _format_legend_row(kind: str, x: float, y: float) -> str:
    line = f'<line x1="{x:g}" y1="{y:g}" x2="{x + 24:g}" y2="{y:g}" stroke="{_colour(kind)}" stroke-width="2"/>'
    return f'{line}<text x="{x + 30:g}" y="{y + 4:g}">{_escape(one_line(kind, 40))}</text>'


def _colour(kind: str) -> str:
    return _COLOURS.get(kind, _OTHER_COLOUR)


def _escape(text: str) -> str:
    return escape(_NOT_XML.sub("", text))


DRAWINGS: dict[str, Callable[[CapabilityGraph], str]] = {
    "dot": draw_dot,
    "mermaid": draw_mermaid,
    "svg": draw_svg,
}
