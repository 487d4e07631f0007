"""A picture of its own: no script, no link, no font to load, nothing fetched."""

from __future__ import annotations

import re
from html import escape

from capdisc_indexer.relations.drawing.labels import of_edge, of_id
from capdisc_indexer.relations.drawing.places import places
from capdisc_indexer.relations.values import Network, Relation
from capdisc_indexer.text import one_line

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
_OTHER = "#444444"
# What XML 1.0 forbids and the labels' own cleaning leaves: a tab has become a blank, surrogates are gone.
_NOT_XML = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ARROW = (
    '<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 10 5 0 10z"/></marker>'
)

Point = tuple[float, float]


def svg(network: Network) -> str:
    """One SVG document: capabilities on rings by their distance, edges in a colour a kind, a full name on hovering."""
    points = places(network.depths)
    xs, ys = [x for x, _ in points.values()] or [0.0], [y for _, y in points.values()] or [0.0]
    left, top = min(xs) - _HALF - _MARGIN, min(ys) - _MARGIN
    kinds = sorted({each.kind for each in network.relations})
    width = max(max(xs) + _HALF + _MARGIN - left, 220.0)
    height = max(ys) + _MARGIN - top + 20 * len(kinds)
    box = f"{left:g} {top:g} {width:g} {height:g}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width:g}" height="{height:g}"'
    lines = [_edge(each, points) for each in network.relations]
    nodes = [_node(identifier, point) for identifier, point in points.items()]
    legend = [_legend(kind, left + 10, max(ys) + _MARGIN + 20 * row) for row, kind in enumerate(kinds)]
    style = ' font-family="sans-serif" font-size="11">'
    return "\n".join([head + style, f"<defs>{_ARROW}</defs>", *lines, *nodes, *legend, "</svg>", ""])


def _edge(relation: Relation, points: dict[str, Point]) -> str:
    (x1, y1), (x2, y2) = points[relation.source], _border(points[relation.source], points[relation.target])
    arrow = ' marker-end="url(#arrow)"' if relation.directed else ""
    title = f"{of_id(relation.source)} {of_edge(relation)} {of_id(relation.target)}"
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{_colour(relation.kind)}" '
        f'stroke-width="{0.5 + 2 * relation.weight:g}"{arrow}><title>{_text(title)}</title></line>'
    )


def _border(start: Point, end: Point) -> Point:
    """Where a line to the middle of a box meets its border, so that its arrow is seen."""
    x, y = end[0] - start[0], end[1] - start[1]
    share = min(_HALF / abs(x) if x else 1.0, _TALL / abs(y) if y else 1.0, 1.0)
    return round(end[0] - share * x, 1), round(end[1] - share * y, 1)


def _node(identifier: str, point: Point) -> str:
    x, y = point
    box = f'x="{x - _HALF:g}" y="{y - _TALL:g}" width="{2 * _HALF:g}" height="{2 * _TALL:g}" rx="5"'
    return (
        f'<g><title>{_text(of_id(identifier))}</title><rect {box} fill="#f6f6f6" stroke="#555555"/>'
        f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{_text(one_line(identifier, _LABEL))}</text></g>'
    )


def _legend(kind: str, x: float, y: float) -> str:
    line = f'<line x1="{x:g}" y1="{y:g}" x2="{x + 24:g}" y2="{y:g}" stroke="{_colour(kind)}" stroke-width="2"/>'
    return f'{line}<text x="{x + 30:g}" y="{y + 4:g}">{_text(one_line(kind, 40))}</text>'


def _colour(kind: str) -> str:
    return _COLOURS.get(kind, _OTHER)


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("", text))
