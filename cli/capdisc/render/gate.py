"""The option `--gate`: a turn that asks for nothing gets no capabilities, and stderr says so."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.params import option
from capdisc.context import open_index
from capdisc.output import console
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import GateDecision, Ranking
from capdisc_indexer.retrieval.request_gate import (
    OFF,
    check_gate_mode,
    judge_request,
    keep_hits_of_requests,
)

# Below this score of the text alone it is talk, whatever was found.
CLEAR_TALK = 0.05

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


def keep_requests(ctx: open_index.CommandContext, ranking: Ranking, gate: str) -> Ranking:
    """The ranking with its decision, and without its hits where its texts are no request."""
    return keep_hits_of_requests(judge_ranking(ctx, ranking, gate), gate)


def is_kept_out(ranking: Ranking) -> bool:
    """Whether the gate took the hits away; where the search found none, there was nothing to take."""
    return ranking.gate is not None and not ranking.gate.is_request and ranking.gate.score > 0


def is_talk(ranking: Ranking) -> bool:
    """Whether the gate took the hits away, or the text that found none is clearly talk."""
    text = ranking.gate.parts.get("text", 1.0) if ranking.gate else 1.0
    return is_kept_out(ranking) or (not ranking.hits and text < CLEAR_TALK)


def print_decision(ranking: Ranking, explain: bool) -> None:
    """Say of a search that its text reads like talk; with `explain`, how the gate came to it."""
    decision = ranking.gate
    if decision is None:
        return
    if ranking.hits and not decision.is_request:
        console.print_notice(
            "notice: this reads like talk, not like a request for anything here; "
            f"render leaves it out (score {decision.score:.2f})"
        )
    if explain:
        console.print_notice(format_decision(decision))


def format_decision(decision: GateDecision) -> str:
    """One line with the verdict, its score, and what the score comes from."""
    parts = "  ".join(f"{name} {value:g}" for name, value in decision.parts.items())
    verdict = "request" if decision.is_request else "no request"
    return f"gate: {verdict}, score {decision.score:.2f}  {parts}"


def decision_document(decision: GateDecision | None, explain: bool = False) -> JsonObject | None:
    """The decision as JSON prints it, with `explain` and its parts; null where nothing was judged."""
    if decision is None:
        return None
    document: JsonObject = {"is_request": decision.is_request, "score": decision.score}
    return {**document, "parts": dict(decision.parts)} if explain else document
