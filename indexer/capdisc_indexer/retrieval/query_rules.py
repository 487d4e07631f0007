"""The rules that search, render and the discovery tools share: which filters a query may have, and
which of its hits are worth showing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import CapabilityHeader, Overview
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.text.normalization import one_line

# Below this relevance a hit only fills the place of an answer: measured on requests for something
# that the catalogue does not have.
MIN_SHOWN_RELEVANCE = 0.05
# Whether a capability has everything here that it needs.
IsAvailable = Callable[[CapabilityHeader], bool]
# A context lists so many hits whatever their scores, and further ones with this share of the best
# score: chosen with the number of lines (`rendering.render_job.TOP_SUMMARIES`) on ten judged sets.
ALWAYS_LISTED, LISTED_SHARE = 5, 0.4
_NAME_CHARACTERS = 40


def select_shown_hits(
    hits: Iterable[Hit], min_relevance: float = MIN_SHOWN_RELEVANCE
) -> Iterator[Hit]:
    """The hits that are relevant enough, and what those require.

    A required hit comes after the one that requires it, whose score is higher.
    """
    shown_ids: set[str] = set()
    for hit in hits:
        if hit.via in shown_ids or (hit.relevance >= min_relevance and not hit.via):
            shown_ids.add(hit.id)
            yield hit


def select_context_hits(
    hits: Iterable[Hit],
    min_relevance: float = MIN_SHOWN_RELEVANCE,
    *,
    with_distant_hits: bool = False,
) -> tuple[Hit, ...]:
    """The hits that a context lists: relevant enough and, without `with_distant_hits`, near the best
    one. Whoever names the number of hits gets distant ones as well.
    """
    shown = list(select_shown_hits(hits, min_relevance))
    return tuple(shown if with_distant_hits else _select_near_hits(shown))


def _select_near_hits(hits: Sequence[Hit]) -> list[Hit]:
    """The first hits, and of the others those that come near the best one."""
    best = max((hit.score for hit in hits), default=0.0)
    return [
        hit
        for rank, hit in enumerate(hits)
        if rank < ALWAYS_LISTED or hit.score >= LISTED_SHARE * best
    ]


def passes_filters(
    header: CapabilityHeader, query: Query, is_available: IsAvailable | None
) -> bool:
    """Whether a capability passes the filters that the text index does not hold. A query finds at
    most 200 candidates, and each of them is checked once.
    """
    return not query.available or is_available is None or is_available(header)


def require_known_filters(
    overview: Overview, kinds: Sequence[str], categories: Sequence[str]
) -> None:
    """Raises UsageError for a kind or category that no capability of the index has, whatever the
    case of its letters; the hint lists those that there are.
    """
    known_categories = [record["category"].lower() for record in overview["categories"]]
    for label, values, known_values in (
        ("kind", kinds, list(overview["kinds"])),
        ("category", categories, known_categories),
    ):
        folded_values = {known_value.lower() for known_value in known_values}
        for value in values:
            is_general = label == "category" and value.lower() == UNCATEGORISED
            if value.lower() not in folded_values and not is_general:
                raise unknown_filter(label, value, known_values)


def unknown_filter(label: str, value: str, known_values: Collection[str]) -> UsageError:
    """The error for a kind, category or tag that no capability has; its hint names the nearest, and
    those that there are.
    """
    from capdisc_indexer.text.similar_names import hint_names

    plural = "categories" if label == "category" else f"{label}s"
    hint = f"the index holds no {plural}"
    if known_values:
        hint = hint_names(value, sorted(known_values), f"{plural} here")
    return UsageError(f"unknown {label} {one_line(value, _NAME_CHARACTERS)!r}", hint)
