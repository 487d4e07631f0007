"""Pictures of a graph: as text for programs that draw, and as SVG by matplotlib."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.graph import CapabilityGraph, Relation
from capdisc_indexer.text.normalization import one_line

# Labels, which all pictures share.

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


# SVG, drawn by matplotlib: a picture of its own that loads nothing. What one began with stands in
# the middle, the rest on rings around it.

# Points between neighbours on a ring, and between rings: room for a label.
_ARC, _RING = 190.0, 170.0
# The resolution that SVG is written in, so that a unit of the axes, a pixel of a measured box and
# a point are the same.
_POINTS_PER_INCH = 72
_MARGIN = 130.0
_LABEL_CHARACTERS = 36
_FONT_SIZE = 8
_COLOURS = {
    "REQUIRES": "#b3261e",
    "COMPOSED_WITH": "#1a6b3c",
    "RELATED": "#1f5fa8",
    "REFERS_TO": "#6a3fa0",
    "TAKES_INPUT_FROM": "#b35c00",
    "TAGGED_WITH": "#7a6a00",
    "SAME_CATEGORY": "#888888",
}
_OTHER_COLOUR = "#444444"
# What XML 1.0 forbids and `one_line` leaves: a tab has become a blank, surrogates are gone.
_NOT_XML = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Point = tuple[float, float]


def place_nodes(depths: Mapping[str, int]) -> dict[str, Point]:
    """A point for each id, around (0, 0). A ring has room for all that stand on it."""
    rings: dict[int, list[str]] = {}
    for identifier, depth in depths.items():
        rings.setdefault(depth, []).append(identifier)
    points: dict[str, Point] = {}
    radius = 0.0
    for depth in sorted(rings):
        ring = rings[depth]
        is_centre = depth == min(rings) and len(ring) == 1
        radius = 0.0 if is_centre else max(radius + _RING, len(ring) * _ARC / (2 * math.pi))
        # Each ring begins a little further on, so that labels of two rings do not stand in one
        # line.
        for number, identifier in enumerate(ring):
            angle = 2 * math.pi * number / len(ring) + 0.35 * depth - math.pi / 2
            points[identifier] = (
                round(radius * math.cos(angle), 1),
                round(radius * math.sin(angle), 1),
            )
    return points


def draw_svg(graph: CapabilityGraph) -> str:
    """One SVG document: capabilities on rings by their distance, edges in a colour for each kind,
    as wide as they are heavy. 100 capabilities with 500 edges take 0.3 s. Raises InputError
    without matplotlib.
    """
    matplotlib = lazy_imports.matplotlib()
    points = place_nodes(graph.depths)
    half = max((abs(x) for point in points.values() for x in point), default=0.0) + _MARGIN
    inches = 2 * half / _POINTS_PER_INCH
    figure = matplotlib.figure.Figure(figsize=(inches, inches), dpi=_POINTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-half, half)
    axes.set_ylim(half, -half)  # downwards, as SVG counts
    labels = {
        identifier: _draw_node(axes, identifier, points[identifier]) for identifier in points
    }
    with warnings.catch_warnings():
        # matplotlib measures labels with a font of its own, which lacks the letters of many
        # languages; who shows the picture has others.
        warnings.simplefilter("ignore")
        figure.draw_without_rendering()  # which measures the boxes
        sizes = {identifier: _box_size(label) for identifier, label in labels.items()}
    for relation in graph.relations:
        start, end = points[relation.source], points[relation.target]
        _draw_edge(axes, relation, start, _border_point(start, end, sizes[relation.target]))
    for kind in sorted({relation.kind for relation in graph.relations}):
        axes.plot([], [], color=_colour(kind), label=_clean(one_line(kind, 40)))
    if graph.relations:
        axes.legend(loc="lower left", fontsize=_FONT_SIZE, frameon=False)
    out = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Without a date, the same graph gives the same file.
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue().decode("utf-8")


def _draw_node(axes: Any, identifier: str, point: Point) -> Any:
    """The label of a capability in its box."""
    return axes.text(
        *point,
        _clean(one_line(identifier, _LABEL_CHARACTERS)),
        ha="center",
        va="center",
        fontsize=_FONT_SIZE,
        parse_math=False,
        bbox={"boxstyle": "round", "facecolor": "#f6f6f6", "edgecolor": "#555555"},
    )


def _box_size(label: Any) -> tuple[float, float]:
    """Width and height of the box of a label, in points."""
    extent = label.get_bbox_patch().get_window_extent()
    return extent.width, extent.height


def _border_point(start: Point, end: Point, size: tuple[float, float]) -> Point:
    """Where a line to the middle of a box meets its border, so that its arrow is seen.
    matplotlib's own clipping gives the same in five times as long.
    """
    x, y = end[0] - start[0], end[1] - start[1]
    width, height = size
    share = min(width / 2 / abs(x) if x else 1.0, height / 2 / abs(y) if y else 1.0, 1.0)
    return end[0] - share * x, end[1] - share * y


def _draw_edge(axes: Any, relation: Relation, start: Point, end: Point) -> None:
    """A line, with an arrow head where the direction matters."""
    axes.annotate(
        "",
        xytext=start,
        xy=end,
        arrowprops={
            "arrowstyle": "-|>" if relation.directed else "-",
            "color": _colour(relation.kind),
            "linewidth": 0.5 + 2 * relation.weight,
            "mutation_scale": 12,
            "shrinkA": 0,
            "shrinkB": 0,
        },
        zorder=1,  # below the labels
    )


def _colour(kind: str) -> str:
    return _COLOURS.get(kind, _OTHER_COLOUR)


def _clean(text: str) -> str:
    """The text without what XML forbids, and never a name that hides from a legend, as those
    with an underscore in front do.
    """
    return _NOT_XML.sub("", text).lstrip("_")


DRAWINGS: Mapping[str, Callable[[CapabilityGraph], str]] = MappingProxyType(
    {"dot": draw_dot, "mermaid": draw_mermaid, "svg": draw_svg}
)
