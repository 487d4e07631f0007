"""From typed words and filters to a ranking, for every command that takes a query."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated

from capdisc.args.params import option
from capdisc.context import open_index, surroundings
from capdisc.output import console, standard_streams
from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import EncoderError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.risks import RISK_CHOICES, risk_level
from capdisc_indexer.model.types import Query, Ranking, RankingChoices
from capdisc_indexer.retrieval import query_rules
from capdisc_indexer.retrieval.pipeline import MODES
from capdisc_indexer.text.normalization import one_line

# Lines on stdin that are fused as queries of their own.
MAX_LINES = 16
MAX_SYNONYM_BYTES = 256 * 1024


@frozen(kw_only=True)
class Filters:
    """The filter options as they were typed, the same for every command that takes a query."""

    kind: Annotated[
        list[str] | None, option("--kind", help="Only this kind (repeatable).", panel="Filters")
    ] = None
    category: Annotated[
        list[str] | None,
        option("--category", help="Only this category (repeatable).", panel="Filters"),
    ] = None
    tag: Annotated[
        list[str] | None, option("--tag", help="Only with this tag (repeatable).", panel="Filters")
    ] = None
    exclude: Annotated[
        list[str] | None,
        option(
            "--exclude",
            metavar="ID",
            help="Leave this capability out (repeatable).",
            panel="Filters",
        ),
    ] = None
    max_risk: Annotated[
        str,
        option(
            "--max-risk",
            help="At most this risk; what declares none counts as high.",
            panel="Filters",
            choices=RISK_CHOICES,
        ),
    ] = ""
    available: Annotated[
        bool,
        option(
            "--available", help="Only those whose secrets and programs are here.", panel="Filters"
        ),
    ] = False

    preset: Annotated[
        list[str] | None,
        option(
            "--preset",
            metavar="NAME",
            help="With hits, also the members of this preset; list: only them (repeatable).",
            panel="Filters",
        ),
    ] = None

    def query(self, texts: tuple[str, ...], limit: int) -> Query:
        """The query for these texts with the filters."""
        return Query(
            texts=texts,
            kinds=tuple(self.kind or ()),
            categories=tuple(self.category or ()),
            tags=tuple(self.tag or ()),
            exclude=tuple(self.exclude or ()),
            max_risk=risk_level(self.max_risk) or self.max_risk,
            available=self.available,
            limit=limit,
            presets=tuple(self.preset or ()),
        )


def query_texts(words: Sequence[str] | None, also: Sequence[str] | None) -> tuple[str, ...]:
    """The texts to search for: the words as one text, each `--also`, and stdin where a word is
    `-`. Up to MAX_LINES lines of stdin are texts of their own; more are one text.
    """
    typed_words = list(words or ())
    joined_words = " ".join(word for word in typed_words if word != "-").strip()
    piped = standard_streams.read_stdin_text() if "-" in typed_words else ""
    lines = [line for line in piped.splitlines() if line.strip()]
    texts = (joined_words, *(also or ()), *(lines if len(lines) <= MAX_LINES else (piped,)))
    return tuple(text.strip() for text in texts if text.strip())


def prompt_texts(
    runtime: surroundings.Runtime, words: Sequence[str] | None, also: Sequence[str] | None
) -> tuple[str, ...]:
    """The texts to search for in `render`: as `query_texts`, but stdin is always one text, and is
    read without `-`, too, where nothing else is typed and it is not a terminal.
    """
    typed_words = [word for word in words or () if word != "-"]
    reads_stdin = "-" in (words or ()) or not (typed_words or also or runtime.stdin_is_terminal)
    texts = (
        " ".join(typed_words),
        *(also or ()),
        standard_streams.read_stdin_text() if reads_stdin else "",
    )
    return tuple(text.strip() for text in texts if text.strip())


def check_query(ctx: open_index.CommandContext, query: Query) -> Query:
    """The query with ids for the names of what it leaves out. Raises UsageError for a kind,
    category, tag or risk that no capability of the index has.
    """
    query_rules.require_known_filters(ctx.index.overview, query.kinds, query.categories)
    for tag in query.tags:
        if not ctx.index.documents.count_tagged(tag):
            raise query_rules.unknown_filter("tag", tag, ctx.index.documents.tags())
    excluded = []
    for name in query.exclude:
        if header := ctx.index.resolve(name):
            # The filter knows names, but not with a folder, as a hit is printed.
            excluded.append(header["id"] if "@" in name else name)
        else:
            console.print_notice(f"notice: there is no {name} to leave out")
    query = replace(query, presets=query.presets or tuple(ctx.config["preset"]))
    if unknown := [name for name in query.presets if name not in ctx.config.presets]:
        raise _unknown_preset(unknown[0], list(ctx.config.presets))
    if query.max_risk and not risk_level(query.max_risk):
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("risk", query.max_risk, RISK_CHOICES)
    return replace(query, exclude=tuple(excluded)) if query.exclude else query


def _unknown_preset(name: str, presets: list[str]) -> UsageError:
    from capdisc_indexer.text.similar_names import unknown_choice

    if presets:
        return unknown_choice("preset", name, presets)
    return UsageError(
        f"there is no preset {one_line(name, 80)!r}: the settings have no table presets",
        'write [presets] with a line such as research = ["web-search", "summarizer"]',
    )


def passes_filters(ctx: open_index.CommandContext, query: Query, header: CapabilityHeader) -> bool:
    """Whether a capability passes the filters that the text index does not hold."""
    return query_rules.passes_filters(
        header, query, lambda header: open_index.is_available(ctx.runtime, header)
    )


def rank_query(
    ctx: open_index.CommandContext, query: Query, mode: str | None, encoder_name: str | None = None
) -> Ranking:
    """The ranking of a query that `check_query` accepts. Notices name what is degraded."""
    effective_mode = retrieval_mode(ctx, mode)
    encoder, failure = None, ""
    if effective_mode != "lexical":
        encoder, failure = try_load_encoder(ctx, encoder_name)
    if query.graph_boost is None:
        query = replace(query, graph_boost=ctx.config["graph_boost"])
    if query.choices == RankingChoices():
        query = replace(query, choices=ranking_choices(ctx))
    from capdisc_indexer import OpenIndex  # a prompt that asks for nothing does without

    ranking = OpenIndex(ctx.index, encoder).search_query(
        query, effective_mode, lambda header: open_index.is_available(ctx.runtime, header)
    )
    if query.presets:
        ranking = _add_preset_members(ctx, ranking)
    for text in ranking.degraded:
        console.print_notice(f"notice: {text} ({failure})" if failure else f"notice: {text}")
    if not ctx.degraded:
        return ranking
    return replace(ranking, degraded=(*ctx.degraded, *ranking.degraded))


def _add_preset_members(ctx: open_index.CommandContext, ranking: Ranking) -> Ranking:
    from capdisc_indexer.graph.capability_graph import add_preset_members

    hits = add_preset_members(
        ctx.index,
        ranking,
        resolve_presets(ctx, ranking.query.presets),
        relevance_threshold(ctx, None),
        lambda header: open_index.is_available(ctx.runtime, header),
    )
    return replace(ranking, hits=hits)


def resolve_presets(
    ctx: open_index.CommandContext, presets: Sequence[str]
) -> dict[str, CapabilityHeader]:
    """The members of these presets by id. A notice names those that the index does not have."""
    names = dict.fromkeys(name for preset in presets for name in ctx.config.presets[preset])
    headers = {name: ctx.index.resolve(name) for name in names}
    if missing := [name for name, header in headers.items() if header is None]:
        listed = console.format_names(missing, 5)
        console.print_notice(f"notice: a preset names what is not here: {listed}")
    return {header["id"]: header for header in headers.values() if header is not None}


def ranking_choices(
    ctx: open_index.CommandContext, splits: bool | None = None, usage_boost: float | None = None
) -> RankingChoices:
    """What options and settings choose about a ranking: clauses, synonyms, presets, and gains by use.
    Raises InputError for a file of synonyms that cannot be read.
    """
    boost = ctx.config["usage_boost"] if usage_boost is None else usage_boost
    gains: dict[str, float] = {}
    if boost:
        from capdisc_indexer.sessions import request_log

        shares = request_log.use_shares(request_log.read_events(ctx.runtime.state_dir()))
        gains = {key: boost * share for key, share in shares.items()}
    synonyms: Mapping[str, tuple[str, ...]] = {}
    if file := ctx.config["synonyms"]:
        from capdisc.output import user_files
        from capdisc_indexer.retrieval.query_analysis import parse_synonyms

        data = user_files.read_file_or_stdin(ctx.runtime, file, MAX_SYNONYM_BYTES)
        synonyms = parse_synonyms(data.decode("utf-8-sig", "replace"), file)
    return RankingChoices(
        splits=ctx.config["split_queries"] if splits is None else splits,
        synonyms=synonyms,
        use_gains=gains,
        presets=ctx.config.presets,
    )


def relevance_threshold(ctx: open_index.CommandContext, min_relevance: float | None) -> float:
    """The relevance 0..1 from which on a hit is shown, by option or setting."""
    return float(ctx.config["min_relevance"]) if min_relevance is None else min_relevance


def retrieval_mode(ctx: open_index.CommandContext, mode: str | None) -> str:
    """The mode by option or setting. Raises UsageError for an unknown mode."""
    effective_mode = check_mode(mode or ctx.config["mode"])
    if effective_mode == "auto" and not mode and not ctx.config["use_graph_reranking"]:
        return "no-graph"
    return effective_mode


def check_mode(mode: str) -> str:
    """The mode. Raises UsageError for an unknown one."""
    if mode not in MODES:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("mode", mode, MODES)
    return mode


def try_load_encoder(
    ctx: open_index.CommandContext, name: str | None
) -> tuple[Encoder | None, str]:
    """The encoder by option, setting or index, and ""; or None, and why it cannot be loaded."""
    encoder_name = (
        ctx.runtime.encoder_name(name or ctx.config["encoder"]) or ctx.index.generation.encoder
    )
    if not encoder_name:
        return None, ""
    try:
        return encoders.load_encoder(encoder_name), ""
    except EncoderError as error:
        return None, f"{_describe_unknown(encoder_name)}{error.message}; {error.hint}"


def _describe_unknown(name: str) -> str:
    """The beginning of the message on an encoder that cannot be loaded: that there is no such folder,
    and the name that was probably meant; "" where the name is right.
    """
    if name == encoders.SHIPPED_ENCODER or os.path.exists(name):  # noqa: PTH110
        return ""
    from capdisc_indexer.text.similar_names import suggest_names

    suggestion = suggest_names(name, [encoders.SHIPPED_ENCODER])
    return f"there is no folder {one_line(name, 80)}; {suggestion}{' ' * bool(suggestion)}"
