"""A map of capabilities in two dimensions: what is near in meaning is near on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from capdisc_audit.overlaps import Overlap
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import one_line

Point: TypeAlias = tuple[float, float]

# Where the points come to lie.

# The attraction of a point reaches so many nearest neighbours. Fewer tear groups apart, more give
# the picture of a plain projection, in which everything lies on one heap.
_NEIGHBOURS = 12
# Steps and their size, as t-SNE takes them (van der Maaten and Hinton 2008); 80 steps of 2,000
# points take 2 s.
_STEPS, _LARGE_STEPS, _LARGE = 250, 80, 700
_EXAGGERATION, _EXAGGERATED_STEPS = 4.0, 40
_DIGITS = 1


def place_points(vectors: Any) -> list[Point]:
    """A point in 0..1 by 0..1 for each unit vector (n, dim) float32: the two main components,
    then steps that draw near neighbours together and push all others apart.
    """
    np = lazy_imports.numpy()
    count = len(vectors)
    if count < 3:
        return [(0.5 if count == 1 else 0.25 + 0.5 * number, 0.5) for number in range(count)]
    points = _project(np, vectors)
    if count > _NEIGHBOURS:
        points = _gather_neighbours(np, vectors, points)
    low, high = points.min(axis=0), points.max(axis=0)
    spread = np.where(high > low, high - low, 1)
    return [(float(x), float(y)) for x, y in (points - low) / spread]


def _project(np: Any, vectors: Any) -> Any:
    """The two main components. A component may point either way: its largest part is positive."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    return centred @ (axes * np.where(signs == 0, 1, signs))


def _gather_neighbours(np: Any, vectors: Any, points: Any) -> Any:
    """The points after the steps of t-SNE, with attraction between nearest neighbours only."""
    count = len(vectors)
    weights = _neighbour_weights(np, vectors)
    points = (points / (points.std() or 1) * 1e-1).astype(np.float32)
    velocity = np.zeros_like(points)
    steps = _STEPS if count <= _LARGE else _LARGE_STEPS
    rate = max(count / 12, 20.0)
    for step in range(steps):
        factor = _EXAGGERATION if step < min(_EXAGGERATED_STEPS, steps // 2) else 1.0
        norms = (points**2).sum(axis=1)
        kernel = 1 / (1 + np.maximum(norms[:, None] + norms - 2 * points @ points.T, 0))
        np.fill_diagonal(kernel, 0)
        forces = (factor * weights - kernel / kernel.sum()) * kernel
        gradient = 4 * (forces.sum(axis=1)[:, None] * points - forces @ points)
        velocity = (0.5 if step < _EXAGGERATED_STEPS else 0.8) * velocity - rate * gradient
        points += velocity
        points -= points.mean(axis=0)
    return points


def _neighbour_weights(np: Any, vectors: Any) -> Any:
    """Symmetric weights (n, n) float32 of sum 1 between nearest neighbours, by their cosines."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :_NEIGHBOURS]
    weights = np.zeros_like(cosines)
    rows = np.arange(len(vectors))[:, None]
    close = np.exp(8 * (cosines[rows, nearest] - cosines[rows, nearest[:, :1]]))
    weights[rows, nearest] = close / close.sum(axis=1, keepdims=True)
    weights += weights.T
    return weights / weights.sum()


# The picture, drawn as SVG. Widths are those of the fonts that browsers choose for sans-serif.

_WIDTH, _HEIGHT, _MARGIN, _HEAD = 1_200.0, 900.0, 48.0, 64.0
_FONT_SIZE, _LETTER_WIDTH, _LINE_HEIGHT = 12.0, 6.6, 14.0
_LABEL_CHARACTERS, _TITLE_CHARACTERS = 40, 200
_CLEAR_DOTS = 200
_STYLE = """
text { font: 12px system-ui, sans-serif; } .paper { fill: #ffffff; }
text { fill: #1f2328; } .note { fill: #59636e; } text.head { font-size: 18px; font-weight: 600; }
.dot { fill: #6e7b8a; } .overlap { fill: #bc4c00; } .unseen { fill: #ffffff; stroke: #6e7b8a; stroke-width: 1.5; }
.unseen.overlap { fill: #ffffff; stroke: #bc4c00; }
.pair { stroke: #bc4c00; stroke-width: 1.5; opacity: .65; }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117; } text { fill: #e6edf3; } .note { fill: #9198a1; } .dot { fill: #8b98a5; }
.overlap { fill: #f0883e; } .unseen { fill: #0d1117; stroke: #8b98a5; } .unseen.overlap { fill: #0d1117; stroke: #f0883e; }
.pair { stroke: #f0883e; }
}
"""
# What XML 1.0 forbids and `one_line` leaves.
_NOT_XML = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@frozen(kw_only=True)
class MapPoint:
    """A capability on the map: `x` and `y` are 0..1, `name` is its label, `about` what a reader
    sees when pointing at it. `is_unseen` says that a client shows no description of it.
    """

    id: str
    name: str
    about: str
    x: float
    y: float
    is_unseen: bool = False


def draw_map(title: str, points: Sequence[MapPoint], overlaps: Sequence[Overlap]) -> str:
    """One SVG document: a dot for each capability, a line for each pair that overlaps, and the
    labels that have room, those of overlaps first. It follows the light or dark scheme of its
    reader.
    """
    places = {point.id: _scale(point) for point in points}
    overlapping = {key for pair in overlaps for key in (pair.first, pair.second)}
    unseen = any(point.is_unseen for point in points)
    body = [
        *(
            _draw_pair(pair, places)
            for pair in overlaps
            if {pair.first, pair.second} <= set(places)
        ),
        *(_draw_dot(point, places[point.id], point.id in overlapping) for point in points),
        *_draw_labels(points, places, overlapping),
    ]
    note = f"{len(points):,} capabilities; near means alike"
    note += "; lines: pairs that win the same request" if overlaps else ""
    note += "; hollow: the client shows no description" if unseen else ""
    label = _clean(title, _TITLE_CHARACTERS)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" '
            f'role="img" aria-label="{label}">',
            f"<style>{_STYLE}</style>",
            '<rect class="paper" width="100%" height="100%"/>',
            f'<text class="head" x="{_MARGIN / 2:g}" y="28">{label}</text>',
            f'<text class="note" x="{_MARGIN / 2:g}" y="48">{note}</text>',
            *body,
            "</svg>\n",
        ]
    )


def _scale(point: MapPoint) -> Point:
    return (
        round(_MARGIN + point.x * (_WIDTH - 2 * _MARGIN), _DIGITS),
        round(_HEAD + _MARGIN / 2 + point.y * (_HEIGHT - _HEAD - _MARGIN), _DIGITS),
    )


def _draw_pair(pair: Overlap, places: Mapping[str, Point]) -> str:
    (x1, y1), (x2, y2) = places[pair.first], places[pair.second]
    about = _clean(pair.request, _TITLE_CHARACTERS)
    return (
        f'<line class="pair" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}">'
        f"<title>{about}</title></line>"
    )


def _draw_dot(point: MapPoint, place: Point, overlaps: bool) -> str:
    classes = ("unseen" if point.is_unseen else "dot") + (" overlap" if overlaps else "")
    about = _clean(f"{point.id}: {point.about}", _TITLE_CHARACTERS)
    return (
        f'<circle class="{classes}" cx="{place[0]:g}" cy="{place[1]:g}" r="4">'
        f"<title>{about}</title></circle>"
    )


def _draw_labels(
    points: Sequence[MapPoint], places: Mapping[str, Point], overlapping: Iterable[str]
) -> list[str]:
    """The labels that cover no other, and no dot where there are few."""
    first = set(overlapping)
    # Among many dots no label would keep clear of all of them.
    boxes = [
        (x - 4, y - 4, x + 4, y + 4)
        for x, y in (places.values() if len(points) <= _CLEAR_DOTS else ())
    ]
    labels = []
    for point in sorted(points, key=lambda point: (point.id not in first, point.id)):
        text = one_line(point.name, _LABEL_CHARACTERS)
        x, y = places[point.id]
        width = len(text) * _LETTER_WIDTH
        for left, top in _label_places(x, y, width):
            box = (left, top, left + width, top + _LINE_HEIGHT)
            if left < 0 or box[2] > _WIDTH or any(_touch(box, other) for other in boxes):
                continue
            boxes.append(box)
            labels.append(
                f'<text x="{left:g}" y="{top + _FONT_SIZE - 1:g}">{_clean(text, _LABEL_CHARACTERS)}</text>'
            )
            break
    return labels


def _label_places(x: float, y: float, width: float) -> list[Point]:
    """The left upper corners of a label around a dot, the best first: beside it, above and below,
    then up to two lines higher or lower.
    """
    right, left, middle = x + 7, x - 7 - width, y - _LINE_HEIGHT / 2
    beside = [(right, middle), (left, middle)]
    stacked = [(x - width / 2, y - 7 - _LINE_HEIGHT), (x - width / 2, y + 7)]
    further = [
        (side, middle + lines * _LINE_HEIGHT) for lines in (1, -1, 2, -2) for side in (right, left)
    ]
    return [
        (round(left, _DIGITS), round(top, _DIGITS)) for left, top in (*beside, *stacked, *further)
    ]


def _touch(
    left: tuple[float, float, float, float], right: tuple[float, float, float, float]
) -> bool:
    return left[0] < right[2] and right[0] < left[2] and left[1] < right[3] and right[1] < left[3]


def _clean(text: str, limit: int) -> str:
    return escape(_NOT_XML.sub("", one_line(text, limit)))
