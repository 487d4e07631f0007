"""The option `--gate`: a turn that asks for nothing here gets no capabilities, and stderr says why."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.params import option
from capdisc.context import open_index
from capdisc.output import console
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import GateDecision, Ranking
from capdisc_indexer.retrieval.request_gate import (
    NOTHING_FITS,
    OFF,
    TALK,
    UNKNOWN_WORDS,
    check_gate_mode,
    drop_hits_of_talk,
    judge_request,
)

_REASONS = {
    TALK: "this reads like talk, not like a request",
    UNKNOWN_WORDS: "nothing here clearly fits",
    NOTHING_FITS: "nothing here clearly fits",
}

Gate = Annotated[
    str,
    option(
        "--gate",
        help='auto: talk such as "thanks!" is no request; off: all is one.',
        panel="Searching",
        choices=("auto", "off"),
    ),
]


def judge_ranking(ctx: open_index.CommandContext, ranking: Ranking, gate: str) -> Ranking:
    """The ranking with its decision: whether its texts ask for anything here; without one where
    the gate is off. Raises UsageError for another mode than auto and off.
    """
    check_gate_mode(gate)
    if gate == OFF:
        return replace(ranking, gate=None)
    return ranking if ranking.gate else replace(ranking, gate=judge_request(ctx.index, ranking))


def gate_ranking(ctx: open_index.CommandContext, ranking: Ranking, gate: str) -> Ranking:
    """The ranking with its decision, and without its hits where its texts are no request."""
    return drop_hits_of_talk(judge_ranking(ctx, ranking, gate), gate)


def has_lost_hits(ranking: Ranking) -> bool:
    """Whether the search found hits and the gate took them away."""
    return ranking.gate is not None and not ranking.gate.is_request and ranking.gate.score > 0


def is_talk(ranking: Ranking) -> bool:
    """Whether the gate takes the texts for talk, with or without hits."""
    return ranking.gate is not None and ranking.gate.reason == TALK


def describe_refusal(ranking: Ranking) -> str:
    """Why a query gets nothing: what the gate says of its hits, that it is talk, or that the search
    found nothing.
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
    """Print which words no capability mentions, for a query with hits."""
    if ranking.hits and ranking.unmatched:
        has_words = any("bm25" in hit.signals for hit in ranking.hits)
        prefix = "" if has_words else "found by meaning alone: "
        console.print_notice(f"notice: {prefix}{format_unmatched(ranking)}")


def print_decision(ranking: Ranking, explain: bool) -> None:
    """Print why `render` would leave the hits of this search out; with `explain`, the verdict of the
    gate with its score.
    """
    decision = ranking.gate
    if decision is None:
        return
    if ranking.hits and not decision.is_request:
        console.print_notice(f"notice: {_REASONS[decision.reason]}; render leaves this out")
    if explain:
        console.print_notice(format_decision(decision))


def format_decision(decision: GateDecision) -> str:
    """One line with the verdict, its score, and what the score comes from."""
    parts = "  ".join(f"{name} {value:g}" for name, value in decision.parts.items())
    verdict = "request" if decision.is_request else f"no request ({decision.reason})"
    return f"gate: {verdict}, score {decision.score:.2f}  {parts}"


def decision_document(decision: GateDecision | None, explain: bool = False) -> JsonObject | None:
    """The decision as JSON prints it, with `explain` and its parts; null where nothing was judged."""
    if decision is None:
        return None
    document: JsonObject = {
        "is_request": decision.is_request,
        "score": decision.score,
        "reason": decision.reason or None,
    }
    return {**document, "parts": dict(decision.parts)} if explain else document
