"""Which capabilities a context is made of: the hits of a query, or the whole catalogue, and those
that are loaded ahead; and whether a prompt shows the catalogue in full.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from capdisc.context import open_index, query_execution
from capdisc.context.query_execution import is_talk
from capdisc.output import console
from capdisc.render.render_options import RenderOptions, check_choice
from capdisc_indexer import lazy_imports
from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, LayoutPiece, Query, Ranking
from capdisc_indexer.rendering.capability_text import summary_line
from capdisc_indexer.rendering.prompt_templates import STYLE_NAMES, PromptStyle, select_style
from capdisc_indexer.rendering.render_format import DEFAULT_LAYOUT, RenderFormat
from capdisc_indexer.rendering.token_accounting import CountedDescriptor, learn_counts
from capdisc_indexer.retrieval.verdict import drop_hits_of_talk, select_context_hits
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.text.token_counts import TokenCounter, Tokenizer, count_size

_BATCH_SIZE = 128
# A fit by bisection reads the first batches again in each step.
_MAX_BATCHES_IN_MEMORY = 16
_PRELOAD_FILE = "preload.json"
_PRELOAD_HEADING = "Loaded ahead:\n"
# What is loaded ahead has at most this share of the whole budget.
_PRELOAD_SHARE = 3


def offered_places(ctx: open_index.CommandContext, query: Query) -> list[int]:
    """The positions in the index's columns of capabilities that are not hidden and have the
    query's kinds and categories.
    """
    columns = ctx.index.columns
    return [place for place in columns.matching(query) if place not in columns.hidden]


def offered_headers(
    ctx: open_index.CommandContext, query: Query, ids: Sequence[str]
) -> Iterator[CapabilityHeader]:
    """The headers of the ids that pass the query's filters, in the order of the ids."""
    headers = ctx.index.documents.in_order(ids, query)
    return (header for header in headers if query_execution.passes_filters(ctx, query, header))


class CatalogueReader:
    """The capabilities that pass the filters, suit the format and are not hidden, in the order of
    their ids, for a context without a query. They are read batch by batch as far as the budget
    reaches, and the counter learns their stored counts. `missing` names what those that were read
    lack here.
    """

    def __init__(
        self,
        ctx: open_index.CommandContext,
        query: Query,
        form: RenderFormat,
        counter: TokenCounter,
    ) -> None:
        self._ctx, self._query, self._form, self._counter = ctx, query, form, counter
        columns = ctx.index.columns
        places = offered_places(ctx, query)
        self._ids = [columns.ids[place] for place in places if form.suits(columns.kinds[place])]
        self._batches: dict[int, list[Descriptor]] = {}
        self.missing: dict[str, tuple[str, ...]] = {}

    def __iter__(self) -> Iterator[Descriptor]:
        for start in range(0, len(self._ids), _BATCH_SIZE):
            batch = self._batches.get(start)
            if batch is None:
                batch = list(map(self._read, self._load_headers(start)))
                if len(self._batches) < _MAX_BATCHES_IN_MEMORY:
                    self._batches[start] = batch
            yield from batch

    def __len__(self) -> int:
        if is_told_by_columns(self._query):
            return len(self._ids)
        return sum(1 for _ in offered_headers(self._ctx, self._query, self._ids))

    def leave_out(self, ids: Collection[str]) -> None:
        """Leave out these ids from now on, since the context shows them elsewhere."""
        self._ids = [identifier for identifier in self._ids if identifier not in ids]
        self._batches.clear()

    def get(self, identifier: str) -> Descriptor | None:
        """The capability with this id, without its long parts."""
        header = self._ctx.index.documents.headers_for([identifier], Query(texts=())).get(
            identifier
        )
        return from_record(header) if header else None

    def _load_headers(self, start: int) -> Iterator[CapabilityHeader]:
        return offered_headers(self._ctx, self._query, self._ids[start : start + _BATCH_SIZE])

    def _read(self, header: CapabilityHeader) -> Descriptor:
        if not self._form.is_catalogue and (
            names := open_index.missing_requirements(self._ctx.runtime, header)
        ):
            self.missing[header["id"]] = names
        if not self._form.is_counted_ahead:  # nothing of the body is printed
            return from_record(header)
        descriptor, counts = self._ctx.index.with_counts(header, is_whole=False)
        learn_counts(self._counter, self._form, descriptor, counts, with_detail=False)
        return descriptor


@frozen(kw_only=True)
class RelevantCapabilities:
    """The ranking of a query with the capabilities that it names (`stored`). With
    `is_whole_catalogue`, all capabilities take their place: those of `catalogue_reader` or, where
    that is None, `stored`.
    """

    ranking: Ranking
    stored: tuple[CountedDescriptor, ...] = ()
    is_whole_catalogue: bool = False
    catalogue_reader: CatalogueReader | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is a query, and nothing fits it."""
        return bool(self.ranking.query.texts) and not self.ranking.hits


def find_relevant(
    ctx: open_index.CommandContext,
    options: RenderOptions,
    query: Query,
    read_catalogue: Callable[[], CatalogueReader],
    *,
    is_listed_whole: bool,
    with_distant_hits: bool,
    details: int,
) -> RelevantCapabilities:
    """The capabilities that fit a query which `check_query` accepts, the first `details` whole;
    where none does, what `--on-empty` names. Without a query, `is_listed_whole` stands for the
    whole catalogue. With `with_distant_hits`, also those far behind the best one.
    """
    prints_all = options.on_empty == "all"
    if not query.texts:
        ranking, prints_all = empty_ranking(query), prints_all or is_listed_whole
    else:
        ranking = drop_hits_of_talk(
            query_execution.rank_query(ctx, query, options.mode, options.encoder, options.gate)
        )
        threshold = query_execution.relevance_threshold(ctx, options.min_relevance)
        hits = select_context_hits(ranking.hits, threshold, with_distant_hits=with_distant_hits)
        ranking = replace(ranking, hits=hits)
    if prints_all and not ranking.hits and not is_talk(ranking):
        return RelevantCapabilities(
            ranking=ranking, is_whole_catalogue=True, catalogue_reader=read_catalogue()
        )
    ids = [hit.id for hit in ranking.hits]
    stored = ctx.index.list_with_counts(ids, details) if ids else ()
    return RelevantCapabilities(ranking=ranking, stored=stored)


def empty_ranking(query: Query) -> Ranking:
    """A ranking without hits."""
    return Ranking(query=query, hits=(), mode="none", confidence=0.0)


def all_in_full(ctx: open_index.CommandContext, query: Query) -> tuple[CountedDescriptor, ...]:
    """All capabilities that pass the filters and are not hidden, with their long parts, in the
    order of their ids.
    """
    ids = [ctx.index.columns.ids[place] for place in offered_places(ctx, query)]
    return tuple(ctx.index.with_counts(header) for header in offered_headers(ctx, query, ids))


@frozen(kw_only=True)
class CatalogueMode:
    """Whether a prompt holds the whole catalogue or a part of it, and for which style of prompt.

    `static_tokens` is what the whole catalogue costs, `allowed_tokens` the most at which it is
    printed whole (None: without `--auto`).
    """

    style: PromptStyle | None
    is_full: bool
    static_tokens: int
    allowed_tokens: int | None = None

    @property
    def choice(self) -> str:
        """The mode in one word: static or progressive."""
        return "static" if self.is_full else "progressive"


def select_catalogue_mode(
    ctx: open_index.CommandContext, options: RenderOptions, query: Query, tokenizer: Tokenizer
) -> CatalogueMode:
    """The mode by style, by model, or with `--auto` by the cost of the whole catalogue. Raises
    UsageError for an unknown style.
    """
    style = _select_style(options) if options.has_style else None
    static_tokens = count_size(tokenizer, _catalogue_size(ctx, query))
    is_full = style is not None and not style.use_tools
    if not options.auto or is_full:
        return CatalogueMode(style=style, is_full=is_full, static_tokens=static_tokens)
    allowed_tokens = int(options.context_size * options.threshold_pct / 100)
    if style and static_tokens <= allowed_tokens:
        style = replace(style, name="full", reason="all of it is small compared with the context")
    return CatalogueMode(
        style=style,
        is_full=static_tokens <= allowed_tokens,
        static_tokens=static_tokens,
        allowed_tokens=allowed_tokens,
    )


def _select_style(options: RenderOptions) -> PromptStyle:
    check_choice("style", options.style, STYLE_NAMES)
    return select_style(options.model, options.style or "auto")


def _catalogue_size(ctx: open_index.CommandContext, query: Query) -> list[int]:
    """Tokens and characters in full of all capabilities that pass the filters."""
    if not query.filters:
        static: list[int] = ctx.index.overview["static"]
        return static
    columns, places = ctx.index.columns, offered_places(ctx, query)
    if is_told_by_columns(query):
        return columns.size(places)
    headers = offered_headers(ctx, query, [columns.ids[place] for place in places])
    tokens = characters = 0
    for header in headers:
        tokens += header["size"][0]
        characters += header["size"][1]
    return [tokens, characters]


# What is loaded ahead into the part of a context that stays the same from turn to turn: one line
# for each capability that fits a pattern of the setting `preload`. The choice is searched for once
# and stored in the state folder. It is made again when the patterns, their limits or the index
# change, so that it never names what is gone.


@frozen(kw_only=True)
class Preload:
    """The ids of what is loaded ahead, the text, and whether the choice was stored before."""

    ids: tuple[str, ...] = ()
    text: str = ""
    is_cached: bool = False


def load_preload(
    ctx: open_index.CommandContext, query: Query, counter: TokenCounter, total_tokens: int
) -> Preload:
    """What the setting `preload` loads ahead and the query's filters let through; nothing without
    patterns. A notice says what the budget leaves out.
    """
    patterns: Sequence[str] = ctx.config["preload"]
    if not patterns:
        return Preload()
    path = ctx.runtime.state_dir() / _PRELOAD_FILE
    key = _make_key(ctx, patterns)
    stored_ids = _read_choice(path, key)
    ids = _choose_ids(ctx, patterns) if stored_ids is None else stored_ids
    if stored_ids is None:
        _write_choice(path, key, ids)
    headers = list(offered_headers(ctx, query, ids))
    lines = [f"- {summary_line(ctx.index.full_descriptor(header))}\n" for header in headers]
    shown = list(lines)
    while (
        shown and counter.count(_PRELOAD_HEADING + "".join(shown)) > total_tokens // _PRELOAD_SHARE
    ):
        shown.pop()
    if len(shown) < len(lines):
        left_out = console.format_count(len(lines) - len(shown), "capability", "capabilities")
        console.print_notice(f"notice: loaded ahead: left out to fit: {left_out}")
    return Preload(
        ids=tuple(header["id"] for header in headers[: len(shown)]),
        text=f"{_PRELOAD_HEADING}{''.join(shown)}" if shown else "",
        is_cached=stored_ids is not None,
    )


def add_to_layout(layout: Sequence[LayoutPiece], preload: Preload) -> tuple[LayoutPiece, ...]:
    """The layout with what is loaded ahead behind the overview, or at its beginning where it has
    none, so that it stands in the prefix of a split.
    """
    pieces = list(layout or DEFAULT_LAYOUT)
    parts = [piece.part for piece in pieces]
    place = parts.index("overview") + 1 if "overview" in parts else 0
    pieces.insert(place, LayoutPiece(text=preload.text))
    return tuple(pieces)


def _choose_ids(ctx: open_index.CommandContext, patterns: Sequence[str]) -> tuple[str, ...]:
    """The capabilities that fit a pattern at least as well as the setting says; the best of all
    patterns, in the order of their ids.
    """
    limit, threshold = ctx.config["preload_limit"], ctx.config["preload_threshold"]
    relevance_of_id: dict[str, float] = {}
    for pattern in (pattern for pattern in patterns if pattern.strip()):
        ranking = query_execution.rank_query(ctx, Query(texts=(pattern,), limit=limit), None)
        for hit in ranking.hits:
            if hit.relevance >= threshold:
                relevance_of_id[hit.id] = max(hit.relevance, relevance_of_id.get(hit.id, 0.0))
    best_first = sorted(relevance_of_id, key=lambda key: (-relevance_of_id[key], key))
    return tuple(sorted(best_first[:limit]))


def _make_key(ctx: open_index.CommandContext, patterns: Sequence[str]) -> str:
    """A digest of everything that the choice depends on."""
    names = ("preload_threshold", "preload_limit", "mode", "encoder")
    values = [
        list(patterns),
        *(ctx.config[name] for name in names),
        str(ctx.index.index_dir),
        ctx.index.generation.number,
        ctx.index.generation.built_at,
    ]
    return lazy_imports.hex_sha256(json.dumps(values).encode())


def _read_choice(path: Path, key: str) -> tuple[str, ...] | None:
    """The stored choice, None where there is none for this key."""
    from capdisc_indexer.store import state_file

    try:
        record = parse_json(state_file.read_state_file(path) or b"{}")
    except (CapdiscError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("key") != key:
        return None
    ids = record.get("ids")
    return tuple(str(identifier) for identifier in ids) if isinstance(ids, list) else None


def _write_choice(path: Path, key: str, ids: Sequence[str]) -> None:
    """Store the choice; where that fails, it is searched for again the next time."""
    from capdisc_indexer.store import state_file

    try:
        with state_file.lock_folder(path.parent):
            state_file.replace_state_file(
                path, json.dumps({"key": key, "ids": list(ids)}).encode()
            )
    except CapdiscError as error:
        console.print_notice(f"notice: what is loaded ahead was not stored: {error.message}")
