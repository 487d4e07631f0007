"""Which capabilities are worth a line in an answer to a prompt: those that it names, and those
that are likely wanted for it in this session.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from capdisc.context import open_index, query_execution
from capdisc.context.query_execution import describe_refusal
from capdisc.hook.answer import Limits, Suggestions
from capdisc.hook.client_session import ClientSession, SessionTurn
from capdisc.hook.suggestion_lines import clean_text, fit_budget
from capdisc.hook.use_memory import load_use_memory
from capdisc_indexer import encoders
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Query, Ranking
from capdisc_indexer.retrieval.fusion import raise_own
from capdisc_indexer.retrieval.pipeline import RERANK
from capdisc_indexer.retrieval.verdict import OFF, check_gate_mode, select_shown_hits
from capdisc_indexer.suggestion.decision import (
    Decision,
    coding_share,
    decide_offers,
    find_typed_names,
    is_talk,
    shorten_prompt,
)
from capdisc_indexer.suggestion.model import SuggestionModel, load_suggestion_model
from capdisc_indexer.suggestion.pair_features import UseHistory
from capdisc_indexer.suggestion.turn_profile import (
    EarlierTurns,
    TurnProfile,
    first_line,
    profile_turn,
)

# Copies take places of the ranking, and only one of them is printed.
_CANDIDATES = 12
# Without the model, a hit with less than this share of the best one's score stays away.
_MIN_SCORE_SHARE = 0.7
# Without vectors, a turn that is likelier than this one of a coding session gets nothing. Words
# alone spoke in 81 of 100 recorded turns, and were useful in 7 of 100 of these; now they do in 2.
_MAX_CODING_SHARE = 0.75


def suggest_capabilities(
    ctx: open_index.CommandContext, prompt: str, limits: Limits, known: ClientSession
) -> Suggestions:
    """The capabilities that the prompt names, and those that are likely wanted for it in this
    session, within the limits. Raises UsageError for an unknown gate.
    """
    check_gate_mode(limits.gate)
    typed = [header for header in find_typed_names(ctx.index, prompt) if _is_offered(ctx, header)]
    judged = _judge_turn(ctx, prompt, limits, known)
    chances = {header["id"]: 1.0 for header in typed}
    headers = {header["id"]: header for header in typed}
    names = {header["name"].casefold() for header in typed} | set(known.used_names)
    withheld = []
    for header, probability in judged.likely:
        if header["name"].casefold() in names:
            continue
        names.add(header["name"].casefold())
        if not _is_offered(ctx, header):
            withheld.append(header)
            continue
        headers[header["id"]], chances[header["id"]] = header, probability
    # Whoever names one wants no other one.
    fitting = typed or list(headers.values())[: limits.capabilities]
    reason = _describe_withheld(withheld)
    if not fitting:
        return Suggestions(
            reason=reason or judged.reason, verdict=judged.verdict, turn=judged.turn
        )
    answer = fit_budget(ctx, prompt, fitting, limits)
    return replace(
        answer,
        items=tuple(
            replace(item, probability=chances[item.id], is_typed=bool(typed))
            for item in answer.items
        ),
        reason=answer.reason or reason,
        verdict=judged.verdict,
        turn=judged.turn,
    )


def suggest_named(ctx: open_index.CommandContext, command: str, limits: Limits) -> Suggestions:
    """The capability that a command of the client names ("/github-pr-review"), and nothing for any
    other command: `/help`, `!ls`, one that starts work in the background, a note of the client.
    """
    first_word = command.split(maxsplit=1)[0]
    typed = find_typed_names(ctx.index, first_word) if first_word.startswith("/") else []
    if headers := [header for header in typed if _is_offered(ctx, header)]:
        answer = fit_budget(ctx, command, headers, limits)
        return replace(answer, items=tuple(replace(item, is_typed=True) for item in answer.items))
    return Suggestions(reason="the prompt is a command of the client")


@frozen(kw_only=True)
class _JudgedTurn:
    """What is likely wanted, with its probability 0..1, best first; why nothing is, what it was
    decided by, and what the session remembers.
    """

    likely: Sequence[tuple[CapabilityHeader, float]]
    reason: str = ""
    verdict: str = ""
    turn: SessionTurn | None = None


def _judge_turn(
    ctx: open_index.CommandContext, prompt: str, limits: Limits, known: ClientSession
) -> _JudgedTurn:
    text, head = shorten_prompt(prompt), first_line(prompt)
    encoder = _shipped_encoder()
    if encoder is None or limits.gate == OFF:
        return _judge_by_ranking(ctx, text, limits.gate)
    model = load_suggestion_model()
    context = EarlierTurns(known.turns, known.coding_sum / max(known.turns, 1))
    turn = profile_turn(model, encoder, prompt, context)
    session_turn = SessionTurn(turn.head, model.encoder, round(turn.coding, 4))
    if is_talk(turn):
        return _JudgedTurn(likely=(), reason="this reads like talk", turn=session_turn)
    if not _has_fitting_vectors(ctx, model):
        share = coding_share(turn.coding_here, turn.earlier_turns)
        if share > _MAX_CODING_SHARE:
            reason = "by words alone, a coding session gets only what its prompt names"
            return _JudgedTurn(likely=(), reason=reason, turn=session_turn)
        return replace(_judge_by_ranking(ctx, text, limits.gate), turn=session_turn)
    ranking = _rank_text(ctx, text)
    rankings = ranking, ranking if head == text else _rank_text(ctx, head)
    memory = load_use_memory(ctx.runtime.user_state_dir())
    history = {
        name: UseHistory(record.used, record.vectors)
        for name, record in memory.records.items()
        if record.used
    }
    decision = decide_offers(ctx.index, model, turn, rankings, prompt, history)
    return _JudgedTurn(
        likely=_put_own_first(decision, ctx.runtime.workspace.as_posix()),
        reason="" if decision.offers else "nothing here is likely enough to be wanted",
        verdict=describe_decision(model, turn, decision),
        turn=session_turn,
    )


def _put_own_first(decision: Decision, workspace: str) -> Sequence[tuple[CapabilityHeader, float]]:
    """What is offered, with its probability: of near ones those of the workspace come first."""
    headers = {offer.header["id"]: offer.header for offer in decision.offers}
    chances = {offer.header["id"]: offer.probability for offer in decision.offers}
    raised = raise_own(chances, headers, workspace)
    order = sorted(chances, key=lambda identifier: -raised[identifier])
    return [(headers[identifier], chances[identifier]) for identifier in order]


def _rank_text(ctx: open_index.CommandContext, text: str) -> Ranking:
    """What a search finds, without a verdict on it and without the gain of what lies in the
    workspace, as the model of suggestions knows it.
    """
    choices = replace(query_execution.ranking_choices(ctx), workspace="")
    query = Query(texts=(text,), limit=_CANDIDATES, choices=choices)
    return query_execution.rank_query(ctx, query, _mode(ctx), encoders.SHIPPED_ENCODER, OFF)


def _mode(ctx: open_index.CommandContext) -> str:
    """The mode by setting; without a reranker, which takes too long to load for a hook."""
    mode = query_execution.retrieval_mode(ctx, None)
    return "hybrid" if mode == RERANK else mode


def _shipped_encoder() -> StaticEncoder | None:
    """The shipped encoder, where the model of suggestions was fitted to it; else None."""
    with suppress(EncoderError):
        encoder = encoders.load_shipped_encoder()
        if load_suggestion_model().encoder == encoder.fingerprint:
            return encoder
    return None


def _has_fitting_vectors(ctx: open_index.CommandContext, model: SuggestionModel) -> bool:
    """Whether the vectors of the index are those that the model was fitted to, and may be used."""
    is_fitting = model.encoder == ctx.index.generation.fingerprint
    return is_fitting and _mode(ctx) != "lexical"


def _judge_by_ranking(ctx: open_index.CommandContext, text: str, gate: str) -> _JudgedTurn:
    """The hits that `search` shows near the best one, where the turn is a request: all that can be
    said without the vectors that the model of suggestions was fitted to, and with `--gate off`. An
    encoder that takes seconds to load is not asked: no client waits so long.
    """
    query = Query(texts=(text,), limit=_CANDIDATES)
    name, mode, verdict = ctx.index.generation.encoder, _mode(ctx), ""
    if not encoders.is_static(name):
        mode, verdict = "lexical", f"by words alone: a hook cannot wait for {name}"
    ranking = query_execution.rank_query(ctx, query, mode, name, gate)
    if ranking.gate and not ranking.gate.is_request:
        return _JudgedTurn(likely=(), reason=describe_refusal(ranking), verdict=verdict)
    min_score = _MIN_SCORE_SHARE * max((hit.score for hit in ranking.hits), default=0.0)
    hits = [
        hit for hit in select_shown_hits(ranking.hits) if not hit.via and hit.score >= min_score
    ]
    headers = ctx.index.documents.headers_for([hit.id for hit in hits], Query(texts=()))
    return _JudgedTurn(
        likely=[(headers[hit.id], ranking.confidence) for hit in hits],
        reason="" if hits else describe_refusal(ranking),
        verdict=verdict,
    )


def describe_decision(model: SuggestionModel, turn: TurnProfile, decision: Decision) -> str:
    """The parts of a decision in words."""
    kind = max(range(len(model.kinds)), key=lambda number: turn.kinds[number])
    share = coding_share(turn.coding_here, turn.earlier_turns)
    work = "no kind of work" if kind == len(model.kinds) - 1 else model.kinds[kind]
    parts = [f"coding session {share:.2f}, {work} {turn.kinds[kind]:.2f}"]
    if best := decision.best:
        parts.append(
            f"likeliest {clean_text(best.header['id'], 80)} {best.probability:.2f},"
            f" from {decision.threshold:.2f} on it is offered"
        )
    return "; ".join(parts)


def _is_offered(ctx: open_index.CommandContext, header: CapabilityHeader) -> bool:
    """Whether a model may get the capability without a person who looks at it first: its author
    has not switched it off, no rule asks for a review before use, and it is one of this
    workspace's.
    """
    is_usable = bool(header.get("available", True)) and not header.get("warnings")
    return is_usable and ctx.covers(header["source"]["path"])


def _describe_withheld(headers: Sequence[CapabilityHeader]) -> str:
    """Which capabilities that are likely wanted are not offered, and why; "" for none."""
    reasons = []
    for header in headers:
        rules = ", ".join(header.get("warnings") or ())
        cause = f"review before use: {rules}" if rules else "not available"
        reasons.append(f"{clean_text(header['id'], 80)} ({cause})")
    return f"fits, but is not offered to a model: {'; '.join(reasons)}" if reasons else ""
