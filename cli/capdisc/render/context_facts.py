"""What formats for programs say beside the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from capdisc.render.catalogue_mode import CatalogueMode
from capdisc.render.relevant_capabilities import CountedDescriptor, RelevantCapabilities
from capdisc_indexer.model.types import Descriptor, Hit, Ranking
from capdisc_indexer.text.normalization import one_line


def build_context_facts(
    relevant: RelevantCapabilities,
    pinned: Sequence[CountedDescriptor],
    catalogue: CatalogueMode,
    diagnosed: bool,
) -> dict[str, Any]:
    """Costs, style, choice and results, each where there is something to say."""
    values: dict[str, Any] = {
        "static_tokens": catalogue.static_tokens,
        "results": _result_facts(relevant, pinned),
    }
    if catalogue.style:
        values |= {
            "style": catalogue.style.name,
            "use_tools": catalogue.style.use_tools,
            "reason": catalogue.style.reason,
        }
        values |= {"model": one_line(catalogue.style.model, 80)} if catalogue.style.model else {}
    if catalogue.allowed_tokens is not None:
        values |= {"disclosure": catalogue.choice, "allowed_tokens": catalogue.allowed_tokens}
    return values | ({"diagnostics": query_diagnostics(relevant.ranking)} if diagnosed else {})


def _result_facts(
    relevant: RelevantCapabilities, pinned: Sequence[CountedDescriptor]
) -> Callable[[str], dict[str, Any]]:
    """What tells of a capability, by its id, how it fits, and where it comes from."""
    hits = {hit.id: hit for hit in relevant.ranking.hits}
    stored = {d.id: d for d, _ in (*pinned, *relevant.stored)}

    def result_of(identifier: str) -> dict[str, Any]:
        descriptor = stored.get(identifier) or (
            relevant.everything and relevant.everything.get(identifier)
        )
        return (
            {**_hit_facts(hits.get(identifier)), "source": _relative_path(descriptor)}
            if descriptor
            else {}
        )

    return result_of


def _hit_facts(hit: Hit | None) -> dict[str, Any]:
    if hit is None:
        return {}
    return {"relevance": round(hit.relevance, 4), **({"via": hit.via} if hit.via else {})}


def _relative_path(descriptor: Descriptor) -> str:
    """The file below its root, which is the same wherever the root lies."""
    path, root = PurePath(descriptor.source.path), descriptor.source.root
    below = path.relative_to(root) if root and path.is_relative_to(root) else PurePath(path.name)
    return one_line(str(below), 120) if below.parts else path.name


def query_diagnostics(ranking: Ranking) -> dict[str, float]:
    """Where the time of the query went, in milliseconds, and how much was looked at."""
    times = ranking.timings
    stages = {
        "rankingTimeMs": "ranking",
        "embeddingTimeMs": "vectors",
        "graphTraversalTimeMs": "graph",
    }
    return {
        "queryTimeMs": round(sum(time for name, time in times.items() if name != "vectors"), 2),
        **{label: round(times.get(name, 0.0), 2) for label, name in stages.items()},
        "candidatesScanned": ranking.candidates,
        "capabilitiesRetrieved": len(ranking.hits),
    }
