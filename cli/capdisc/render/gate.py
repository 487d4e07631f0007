"""The option `--gate`: a turn that asks for nothing gets no capabilities, and stderr says so."""

from __future__ import annotations

from typing import Annotated, Any

from capdisc.args.params import option
from capdisc.context import open_index
from capdisc.output import console
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Ranking
from capdisc_indexer.retrieval.request_gate import GateDecision, judge_request

AUTO, OFF = GATE_MODES = ("auto", "off")

Gate = Annotated[
    str, option("--gate", help='auto: talk such as "thanks!" is no request; off: all is one.')
]


def judge_ranking(
    ctx: open_index.CommandContext, ranking: Ranking, gate: str
) -> GateDecision | None:
    """Whether the ranking's texts ask for anything here; None where the gate is off, or nothing
    was found that it could keep out. Raises UsageError for another mode than auto and off.
    """
    if gate not in GATE_MODES:
        raise UsageError(f"unknown gate {gate!r}", f"one of: {', '.join(GATE_MODES)}")
    if gate == OFF or not ranking.hits:
        return None
    return judge_request(ctx.index, ranking)


def keep_requests(ctx: open_index.CommandContext, ranking: Ranking, gate: str) -> Ranking:
    """The ranking; without its hits, and said on stderr, where its texts are no request."""
    decision = judge_ranking(ctx, ranking, gate)
    if decision is None or decision.is_request:
        return ranking
    console.print_notice(
        f"notice: no request for anything here (score {decision.score:.2f}); --gate off answers it"
    )
    return replace(ranking, hits=(), confidence=0.0)


def print_decision(decision: GateDecision | None, explain: bool) -> None:
    """Say of a search that its text reads like talk; with `explain`, how the gate came to it."""
    if decision is None:
        return
    if not decision.is_request:
        console.print_notice(
            "notice: this reads like talk, not like a request for anything here; "
            f"render leaves it out (score {decision.score:.2f})"
        )
    if explain:
        parts = "  ".join(f"{name} {value:g}" for name, value in decision.parts.items())
        verdict = "request" if decision.is_request else "no request"
        console.print_notice(f"gate: {verdict}, score {decision.score:.2f}  {parts}")


def decision_document(decision: GateDecision | None) -> dict[str, Any] | None:
    """The decision as JSON prints it; null where nothing was judged."""
    if decision is None:
        return None
    return {"is_request": decision.is_request, "score": decision.score}
