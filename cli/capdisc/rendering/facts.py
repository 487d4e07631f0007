"""What formats for programs say beside the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from capdisc.rendering.disclosing import Disclosure
from capdisc.rendering.finding import Found, Stored
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor, Hit, Ranking


def facts(found: Found, pinned: Sequence[Stored], told: Disclosure, diagnosed: bool) -> dict[str, Any]:
    """Costs, style, choice and results, each where there is something to say."""
    made: dict[str, Any] = {"static_tokens": told.static_tokens, "results": _results(found, pinned)}
    if told.style:
        made |= {"style": told.style.name, "use_tools": told.style.use_tools, "reason": told.style.reason}
        made |= {"model": one_line(told.style.model, 80)} if told.style.model else {}
    if told.allowed is not None:
        made |= {"disclosure": told.choice, "allowed_tokens": told.allowed}
    return made | ({"diagnostics": diagnostics(found.ranking)} if diagnosed else {})


def _results(found: Found, pinned: Sequence[Stored]) -> Callable[[str], dict[str, Any]]:
    """What tells of a capability, by its id, how it fits, and where it comes from."""
    hits = {hit.id: hit for hit in found.ranking.hits}
    stored = {d.id: d for d, _ in (*pinned, *found.stored)}

    def result_of(identifier: str) -> dict[str, Any]:
        descriptor = stored.get(identifier) or (found.everything and found.everything.get(identifier))
        return {**_fit(hits.get(identifier)), "source": _place(descriptor)} if descriptor else {}

    return result_of


def _fit(hit: Hit | None) -> dict[str, Any]:
    if hit is None:
        return {}
    return {"relevance": round(hit.relevance, 4), **({"via": hit.via} if hit.via else {})}


def _place(descriptor: Descriptor) -> str:
    """The file below its root, which is the same wherever the root lies."""
    path, root = PurePath(descriptor.source.path), descriptor.source.root
    below = path.relative_to(root) if root and path.is_relative_to(root) else PurePath(path.name)
    return one_line(str(below), 120) if below.parts else path.name


def diagnostics(ranking: Ranking) -> dict[str, float]:
    """Where the time of the query went, in milliseconds, and how much was looked at."""
    times = ranking.timings
    stages = {"rankingTimeMs": "ranking", "embeddingTimeMs": "vectors", "graphTraversalTimeMs": "graph"}
    return {
        "queryTimeMs": round(sum(time for name, time in times.items() if name != "vectors"), 2),
        **{label: round(times.get(name, 0.0), 2) for label, name in stages.items()},
        "candidatesScanned": ranking.candidates,
        "capabilitiesRetrieved": len(ranking.hits),
    }
