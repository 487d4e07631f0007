"""The option `--gate`: a turn that asks for nothing gets no capabilities, and stderr says why."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.command_line import option
from capdisc.output import console
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Ranking, Verdict
from capdisc_indexer.retrieval.verdict import NOTHING_FITS, TALK, UNCLEAR, UNKNOWN_WORDS

_REASONS = {
    TALK: "this reads like talk, not like a request",
    UNCLEAR: "this hardly asks for anything",
    UNKNOWN_WORDS: "nothing here clearly fits",
    NOTHING_FITS: "nothing here clearly fits",
}

Gate = Annotated[
    str,
    option(
        help='auto: print nothing for talk such as "thanks!"; off: answer every query.',
        panel="Searching",
        choices=("auto", "off"),
    ),
]


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
