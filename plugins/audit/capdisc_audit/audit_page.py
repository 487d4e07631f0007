"""The page of `capdisc audit --html`: one file that needs no network, with the audit inside it.

What is written into it is data alone: `audit_page.html` next to this file makes all elements.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc.output import console
from capdisc_audit.audit_report import advise_budget, client_document
from capdisc_audit.client_state import HookWeek
from capdisc_audit.listing_budgets import ListingState
from capdisc_audit.overlaps import description_vectors
from capdisc_audit.savings import Saving, describe_saving
from capdisc_audit.skill_audit import AuditReport, ClientReport
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import one_line

_NAME_CHARACTERS, _ABOUT_CHARACTERS = 80, 320
_STATES = tuple(ListingState)

# Where the dots of the map come to lie.

# The attraction of a point reaches this many nearest neighbours. Fewer tear groups apart, more
# give the picture of a plain projection, in which everything lies on one heap.
_NEIGHBOURS = 12
# Steps and their size, as t-SNE takes them (van der Maaten and Hinton 2008); 80 steps of 2,000
# points take 2 s.
_STEPS, _LARGE_STEPS, _LARGE = 250, 80, 700
_EXAGGERATION, _EXAGGERATED_STEPS = 4.0, 40


def format_page(
    title: str,
    index: Index,
    headers: Sequence[CapabilityHeader],
    report: AuditReport,
    week: HookWeek | None,
    plans: Mapping[str, Saving | str],
) -> str:
    """The page for these capabilities; `plans` are what each client need not list, or why that is
    not known.
    """
    page = Path(__file__).with_name("audit_page.html").read_text(encoding="utf-8")
    document = {
        "title": one_line(title, _NAME_CHARACTERS),
        "made": time.strftime("%Y-%m-%d"),
        "noun": report.noun,
        "listing_tokens": report.listing_tokens,
        "loaded_tokens": report.loaded_tokens,
        "skills": _list_skills(index, headers),
        "clients": [_client_data(client, plans) for client in report.clients],
        "overlaps": report.overlaps,
        "copies": report.copies,
        "week": week,
    }
    # With `<` as a code no text can end the element that holds the data, or begin another.
    data = console.format_json_text(document, indent=None).replace("<", "\\u003c")
    return page.replace("{{audit}}", data)


def _list_skills(index: Index, headers: Sequence[CapabilityHeader]) -> list[list[object]]:
    """Id, name, description, tokens when loaded, and the place on the map where there is one."""
    has_places = index.matrix is not None
    vectors = (
        description_vectors(index, [header["id"] for header in headers]) if has_places else ()
    )
    places = place_points(vectors)
    return [
        [
            header["id"],
            one_line(header["name"], _NAME_CHARACTERS),
            one_line(header["description"], _ABOUT_CHARACTERS),
            header.get("size", (0,))[0],
            *(round(part, 4) for part in (places[number] if has_places else ())),
        ]
        for number, header in enumerate(headers)
    ]


def _client_data(client: ClientReport, plans: Mapping[str, Saving | str]) -> JsonObject:
    """The client and its list; each entry is an id, the number of its state, what is shown of how
    many characters, and what it takes of what it needs.
    """
    plan = plans.get(client.listing.client)
    return {
        **client_document(client),
        "advice": list(advise_budget(client)),
        "entries": [
            [
                entry.id,
                _STATES.index(entry.state),
                entry.shown_characters,
                entry.description_characters,
                entry.takes,
                entry.needs,
            ]
            for entry in client.listing.entries
        ],
        "saving": {
            "ids": plan.ids,
            "state": plan.state,
            "tokens": [[window, *counts] for window, counts in plan.tokens.items()],
            "lines": list(describe_saving(client.listing.client, plan)),
            "is_use_known": plan.is_use_known,
        }
        if isinstance(plan, Saving)
        else plan,
    }


# The map: what is near in meaning is near on it.


def place_points(vectors: Any) -> list[tuple[float, float]]:
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
