"""The capabilities that a context is about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from capdisc.args import query_options
from capdisc.context import open_index
from capdisc.render.gate import keep_requests
from capdisc.render.render_options import PromptOptions, QueryOptions
from capdisc.render.tier_selection import check_choice
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, Hit, Query, Ranking
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.token_accounting import COUNTED_FORMATS, learn_counts
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.text.token_counts import TokenCounter, Tokenizer, count_size

if TYPE_CHECKING:
    from capdisc_indexer.rendering.templates import PromptStyle

# Every capability that may be shown, for a context without a query: read as far as the budget
# reaches.

_AT_A_TIME = 128
# A fit that is searched for by bisection asks for the first ones again and again.
_REMEMBERED_BATCHES = 16


def offered_places(asked: open_index.CommandContext, query: Query) -> list[int]:
    """The places in the index's columns of what is not hidden and has the query's kinds and
    categories.
    """
    columns = asked.index.columns
    return [place for place in columns.matching(query) if place not in columns.hidden]


def offered_heads(
    asked: open_index.CommandContext, query: Query, ids: Sequence[str]
) -> Iterator[CapabilityHeader]:
    """The heads of those of the ids that pass the query's filters, in the order given."""
    heads = asked.index.documents.in_order(ids, query)
    return (
        head
        for head in heads
        if not query.available or open_index.is_available(asked.runtime, head)
    )


class Everything:
    """The capabilities that pass the filters, suit the format and are not hidden, in the order of
    their ids. Each is read when it is reached, and the counts that the index keeps of it are given
    to the counter; `missing` says of those that were read what they lack here.
    """

    def __init__(
        self,
        asked: open_index.CommandContext,
        query: Query,
        form: RenderFormat,
        counter: TokenCounter,
    ) -> None:
        self._asked, self._query, self._form, self._counter = asked, query, form, counter
        columns = asked.index.columns
        places = offered_places(asked, query)
        self._ids = [columns.ids[place] for place in places if form.suits(columns.kinds[place])]
        self._batches: dict[int, list[Descriptor]] = {}
        self.missing: dict[str, tuple[str, ...]] = {}

    def __iter__(self) -> Iterator[Descriptor]:
        for start in range(0, len(self._ids), _AT_A_TIME):
            batch = self._batches.get(start)
            if batch is None:
                batch = list(map(self._read, self._heads(start)))
                if len(self._batches) < _REMEMBERED_BATCHES:
                    self._batches[start] = batch
            yield from batch

    def __len__(self) -> int:
        if is_told_by_columns(self._query):
            return len(self._ids)
        return sum(1 for _ in offered_heads(self._asked, self._query, self._ids))

    def leave_out(self, ids: Collection[str]) -> None:
        """From now on without these, which are shown elsewhere."""
        self._ids = [identifier for identifier in self._ids if identifier not in ids]
        self._batches.clear()

    def get(self, identifier: str) -> Descriptor | None:
        """The one with this id, without its long parts."""
        head = self._asked.index.documents.headers_for([identifier], Query(texts=())).get(
            identifier
        )
        return from_record(head) if head else None

    def _heads(self, start: int) -> Iterator[CapabilityHeader]:
        return offered_heads(self._asked, self._query, self._ids[start : start + _AT_A_TIME])

    def _read(self, head: CapabilityHeader) -> Descriptor:
        if self._form.levels != (1,) and (
            names := open_index.missing_requirements(self._asked.runtime, head)
        ):
            self.missing[head["id"]] = names
        if (
            self._form.name not in COUNTED_FORMATS
        ):  # nothing of the body is printed, or was counted ahead
            return from_record(head)
        descriptor, counts = self._asked.index.with_counts(head)
        learn_counts(self._counter, self._form, descriptor, counts, with_detail=False)
        return descriptor


# A capability with the token counts that the build stored.
CountedDescriptor = tuple[Descriptor, dict[str, Any]]


@frozen(kw_only=True)
class RelevantCapabilities:
    """The answer to a query, and whether every capability stands in for it: those of `everything`,
    which are read as far as they fit, or those that are stored.
    """

    ranking: Ranking
    stored: tuple[CountedDescriptor, ...] = ()
    is_everything: bool = False
    everything: Everything | None = None

    @property
    def is_empty(self) -> bool:
        """Whether something was asked for, and nothing fits."""
        return bool(self.ranking.query.texts) and not self.ranking.hits


def find_relevant(
    ctx: open_index.CommandContext,
    request: QueryOptions,
    query: Query,
    everything: Callable[[], Everything],
) -> RelevantCapabilities:
    """What fits a query that was checked; where nothing does, what was asked for in that case."""
    if not query.texts:
        return RelevantCapabilities(ranking=empty_ranking(query))
    ranking = query_options.rank_query(ctx, query, request.mode, request.encoder)
    ranking = replace(ranking, hits=tuple(_filter_relevant(ranking.hits, request.min_relevance)))
    if not ranking.hits and request.on_empty == "all":
        return RelevantCapabilities(ranking=ranking, is_everything=True, everything=everything())
    ranking = keep_requests(ctx, ranking, request.gate, request.encoder)
    headers = ctx.index.documents.headers_for([hit.id for hit in ranking.hits], Query(texts=()))
    return RelevantCapabilities(
        ranking=ranking,
        stored=tuple(ctx.index.with_counts(headers[hit.id]) for hit in ranking.hits),
    )


def empty_ranking(query: Query) -> Ranking:
    """The ranking of a query that asks for nothing."""
    return Ranking(query=query, hits=(), mode="none", confidence=0.0)


def all_in_full(asked: open_index.CommandContext, query: Query) -> tuple[CountedDescriptor, ...]:
    """All capabilities that pass the filters and are not hidden, with their bodies, in order of
    their ids.
    """
    ids = [asked.index.columns.ids[place] for place in offered_places(asked, query)]
    return tuple(asked.index.with_counts(head) for head in offered_heads(asked, query, ids))


def is_filtered(query: Query) -> bool:
    """Whether anything but the query's words decides what may be shown."""
    sieves = (
        query.kinds,
        query.categories,
        query.tags,
        query.exclude,
        query.max_risk,
        query.available,
    )
    return any(sieves)


def _filter_relevant(hits: tuple[Hit, ...], min_relevance: float) -> Iterator[Hit]:
    """The hits that are relevant enough, and what those require."""
    shown_ids: set[str] = set()
    for hit in hits:  # what requires a hit comes before it
        if hit.relevance >= min_relevance or hit.via in shown_ids:
            shown_ids.add(hit.id)
            yield hit


# Whether a prompt tells some of the catalogue or all of it: by style, by model, or by what all of
# it would cost.


@frozen(kw_only=True)
class CatalogueMode:
    """What is told. `static_tokens` is what all of it would cost, `allowed` what it may cost
    before a part of it is told instead (None: that was not asked).
    """

    style: PromptStyle | None
    is_everything: bool
    static_tokens: int
    allowed_tokens: int | None = None

    @property
    def choice(self) -> str:
        """In one word."""
        return "static" if self.is_everything else "progressive"


def select_catalogue_mode(
    ctx: open_index.CommandContext, prompting: PromptOptions, query: Query, tokenizer: Tokenizer
) -> CatalogueMode:
    """What to tell. Raises UsageError for a style that there is not."""
    style = _select_style(prompting) if prompting.has_style else None
    static = count_size(tokenizer, _catalogue_size(ctx, query))
    is_full = style is not None and not style.use_tools
    if not prompting.auto or is_full:
        return CatalogueMode(style=style, is_everything=is_full, static_tokens=static)
    allowed = int(prompting.context_size * prompting.threshold_pct / 100)
    if style and static <= allowed:
        style = replace(style, name="full", reason="all of it is small beside the context")
    return CatalogueMode(
        style=style, is_everything=static <= allowed, static_tokens=static, allowed_tokens=allowed
    )


def _select_style(prompting: PromptOptions) -> PromptStyle:
    from capdisc_indexer.rendering.templates import STYLE_NAMES, select_style

    check_choice("style", prompting.style, STYLE_NAMES)
    return select_style(prompting.model, prompting.style or "auto")


def _catalogue_size(ctx: open_index.CommandContext, query: Query) -> list[int]:
    """Tokens and characters of all capabilities in full, of those alone that pass the filters."""
    if not is_filtered(query):
        static: list[int] = ctx.index.overview["static"]
        return static
    columns, places = ctx.index.columns, offered_places(ctx, query)
    if is_told_by_columns(query):
        return columns.size(places)
    heads = offered_heads(ctx, query, [columns.ids[place] for place in places])
    tokens = characters = 0
    for header in heads:
        tokens += header["size"][0]
        characters += header["size"][1]
    return [tokens, characters]
