"""From a query to its ranking in the open index of a command: checks, mode, encoder, choices; and
what is said of a ranking that holds nothing, or not all that was asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from capdisc.context import open_index
from capdisc.output import console
from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.risks import RISK_CHOICES, risk_level
from capdisc_indexer.model.types import Query, Ranking, RankingChoices, Verdict
from capdisc_indexer.retrieval import candidates
from capdisc_indexer.retrieval.pipeline import MODES, RERANK
from capdisc_indexer.retrieval.verdict import (
    AUTO,
    NOTHING_FITS,
    OFF,
    TALK,
    UNCLEAR,
    UNKNOWN_WORDS,
    check_gate_mode,
)
from capdisc_indexer.text.normalization import one_line

if TYPE_CHECKING:
    from capdisc_indexer.tools.tool_types import Executor, ToolContext

MAX_SYNONYM_BYTES = 256 * 1024
# Why the gate refuses a query.
_REASONS = {
    TALK: "this reads like talk, not like a request",
    UNCLEAR: "this hardly asks for anything",
    UNKNOWN_WORDS: "nothing here clearly fits",
    NOTHING_FITS: "nothing here clearly fits",
}


def check_query(ctx: open_index.CommandContext, query: Query) -> Query:
    """The query with ids for the patterns of what it asks for and the names of what it leaves out.
    Raises UsageError for an id, kind, category, tag or risk that no capability of the index has.
    """
    if query.kinds or query.categories:
        candidates.require_known_filters(ctx.index.overview, query.kinds, query.categories)
    for tag in query.tags:
        if not ctx.index.documents.count_tagged(tag):
            raise candidates.unknown_filter("tag", tag, ctx.index.documents.tags())
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
    if not query.ids and not query.exclude:
        return query
    return replace(query, ids=_find_ids(ctx, query.ids), exclude=tuple(excluded))


def _find_ids(ctx: open_index.CommandContext, patterns: Sequence[str]) -> tuple[str, ...]:
    """The ids that fit one of the patterns, whatever the case of their letters and their
    Unicode form. Raises UsageError
    for a pattern that none fits.
    """
    from fnmatch import filter as ids_like

    from capdisc_indexer.sources.formats.naming_rules import fold_id

    folded_ids = {fold_id(identifier): identifier for identifier in ctx.index.columns.ids}
    ids: dict[str, None] = {}
    for pattern in patterns:
        if not (fitting := ids_like(folded_ids, fold_id(pattern))):
            raise candidates.unknown_filter("id", pattern, list(folded_ids.values()))
        ids |= dict.fromkeys(folded_ids[key] for key in fitting)
    return tuple(ids)


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
    return candidates.passes_filters(
        header, query, lambda header: open_index.is_available(ctx.runtime, header)
    )


def rank_query(
    ctx: open_index.CommandContext,
    query: Query,
    mode: str | None,
    encoder_name: str | None = None,
    gate: str = AUTO,
) -> Ranking:
    """The ranking of a query that `check_query` accepts, with the verdict on it; where the gate is
    off without one, and nothing is refused. Notices name what is degraded. Raises UsageError for
    another gate than auto and off.
    """
    check_gate_mode(gate)
    effective_mode = retrieval_mode(ctx, mode)
    encoder, failure = None, ""
    if effective_mode != "lexical":
        encoder, failure = try_load_encoder(ctx, encoder_name)
    if query.graph_boost is None:
        query = replace(query, graph_boost=ctx.config["graph_boost"])
    if query.choices == RankingChoices():
        query = replace(query, choices=ranking_choices(ctx))
    query = replace(query, choices=replace(query.choices, refuses=gate != OFF))
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
    """What options, settings and the workspace choose about a ranking: clauses, synonyms, presets,
    gains. Raises InputError for a file of synonyms that cannot be read.
    """
    boost = ctx.config["usage_boost"] if usage_boost is None else usage_boost
    gains: dict[str, float] = {}
    if boost:
        from capdisc.context import session_memory

        shares = session_memory.load_use_shares(ctx.runtime.state_dir())
        gains = {key: boost * share for key, share in shares.items()}
    synonyms: Mapping[str, tuple[str, ...]] = {}
    if file := ctx.config["synonyms"]:
        from capdisc.context import user_files
        from capdisc_indexer.retrieval.query_analysis import parse_synonyms

        data = user_files.read_file_or_stdin(ctx.runtime, file, MAX_SYNONYM_BYTES)
        synonyms = parse_synonyms(data.decode("utf-8-sig", "replace"), file)
    return RankingChoices(
        splits=ctx.config["split_queries"] if splits is None else splits,
        synonyms=synonyms,
        use_gains=gains,
        presets=ctx.config.presets,
        workspace=ctx.runtime.workspace.as_posix(),
    )


def relevance_threshold(ctx: open_index.CommandContext, min_relevance: float | None) -> float:
    """The relevance 0..1 from which on a hit is shown, by option or setting."""
    return float(ctx.config["min_relevance"]) if min_relevance is None else min_relevance


def retrieval_mode(
    ctx: open_index.CommandContext, mode: str | None, *, answers_many: bool = False
) -> str:
    """The mode by option or setting; where many queries are answered, for which a model is loaded
    once, auto is rerank if the index has the vectors for it. Raises UsageError for another word.
    """
    effective_mode = check_mode(mode or ctx.config["mode"])
    if effective_mode == "auto" and not mode and not ctx.config["use_graph_reranking"]:
        return "no-graph"
    if effective_mode == "auto" and answers_many and ctx.index.reranker_matrix:
        return RERANK
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
    encoder, failure = encoders.try_load_encoder(encoder_name)
    return encoder, failure and f"{_describe_unknown(encoder_name)}{failure}"


def _describe_unknown(name: str) -> str:
    """The beginning of the message on an encoder that cannot be loaded: that there is no such
    folder, and the name that was probably meant; "" where the name is right.
    """
    if name == encoders.SHIPPED_ENCODER or os.path.exists(name):  # noqa: PTH110
        return ""
    from capdisc_indexer.text.similar_names import suggest_names

    suggestion = suggest_names(name, [encoders.SHIPPED_ENCODER])
    return f"there is no folder {one_line(name, 80)}; {suggestion}{' ' * bool(suggestion)}"


def build_tool_context(
    ctx: open_index.CommandContext,
    mode: str | None = None,
    execute: Executor | None = None,
    *,
    answers_many: bool = False,
) -> ToolContext:
    """The context of discovery tools that answer from this index; `answers_many` is as in
    `retrieval_mode`. The encoder is loaded when a tool first needs it; a notice says once why it
    cannot be.
    """
    from capdisc_indexer.tools.tool_table import TOOLS  # 60 ms that a search does not need
    from capdisc_indexer.tools.tool_types import ToolContext

    return ToolContext(
        index=ctx.index,
        tools=TOOLS,
        encoder=cache(lambda: _load_encoder(ctx)),
        available=lambda header: open_index.is_available(ctx.runtime, header),
        environ=ctx.runtime.environ,
        state_dir=ctx.runtime.state_dir(),
        mode=retrieval_mode(ctx, mode, answers_many=answers_many),
        execute=execute,
        workspace=ctx.runtime.workspace,
        min_relevance=ctx.config["min_relevance"],
        graph_boost=ctx.config["graph_boost"],
        choices=ranking_choices(ctx),
    )


def _load_encoder(ctx: open_index.CommandContext) -> Encoder | None:
    encoder, failure = try_load_encoder(ctx, None)
    if encoder is None and ctx.index.matrix is not None:
        detail = f" ({failure})" if failure else ""
        console.print_notice(f"notice: searching by words alone{detail}")
    return encoder


def has_lost_hits(ranking: Ranking) -> bool:
    """Whether the search found hits and the gate took them away."""
    return ranking.gate is not None and not ranking.gate.is_request and ranking.gate.score > 0


def is_talk(ranking: Ranking) -> bool:
    """Whether the gate takes the texts for talk, with or without hits."""
    return ranking.gate is not None and ranking.gate.reason == TALK


def describe_refusal(ranking: Ranking) -> str:
    """Why a query gets nothing: what the gate says of its hits, that it is talk, or that the
    search found nothing.
    """
    decision, unmatched = ranking.gate, format_unmatched(ranking)
    if decision and (has_lost_hits(ranking) or is_talk(ranking)):
        detail = f"score {decision.score:.2f}"
        if decision.reason == UNKNOWN_WORDS:
            detail = unmatched
        way_out = "; --gate off answers it" if has_lost_hits(ranking) else ""
        return f"{_REASONS[decision.reason]} ({detail}{way_out})"
    return f"nothing fits the query{f' ({unmatched})' if unmatched else ''}"


def format_unmatched(ranking: Ranking) -> str:
    """Which words of the query no capability mentions; "" where there are none."""
    if not ranking.unmatched:
        return ""
    return f"no capability mentions: {console.format_names(ranking.unmatched)}"


def print_unmatched(ranking: Ranking) -> None:
    """For a query with hits: print how mistyped words were read, and which nothing mentions."""
    if ranking.hits and ranking.corrections:
        readings = (f"{word} as {meant}" for word, meant in ranking.corrections.items())
        console.print_notice(f"notice: read {', '.join(readings)}")
    if ranking.hits and ranking.unmatched:
        has_words = any("bm25" in hit.signals for hit in ranking.hits)
        prefix = "" if has_words else "found by meaning alone: "
        console.print_notice(f"notice: {prefix}{format_unmatched(ranking)}")


def format_decision(decision: Verdict) -> str:
    """One line with the verdict, its score, and what the score comes from."""
    parts = "  ".join(f"{name} {value:g}" for name, value in decision.parts.items())
    verdict = "request" if decision.is_request else f"no request ({decision.reason})"
    return f"gate: {verdict}, score {decision.score:.2f}  {parts}"


def decision_document(decision: Verdict | None, explain: bool = False) -> JsonObject | None:
    """The decision for JSON; `explain` adds its parts. None where nothing was judged."""
    if decision is None:
        return None
    document: JsonObject = {
        "fits": decision.fits,
        "is_request": decision.is_request,
        "score": decision.score,
        "reason": decision.reason or None,
    }
    return {**document, "parts": dict(decision.parts)} if explain else document
