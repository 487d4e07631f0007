"""What is said about a prompt: a line for each capability that fits, and with `--detail` the part
of its text that fits best.

The texts of capabilities are other people's. Each stays on its line, without characters that steer
or hide and without markup that could end the frame in which a client puts it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from operator import mul
from pathlib import Path

from capdisc.context import open_index, query_execution
from capdisc.hook.answer import (
    HEADING,
    Limits,
    Suggestion,
    Suggestions,
    choose_length,
    count_texts,
)
from capdisc.hook.client_session import ClientSession, SessionTurn
from capdisc.hook.listed_skills import find_tool_names
from capdisc.hook.use_memory import load_use_memory
from capdisc.render.gate import describe_refusal
from capdisc_indexer import encoders
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Query, Ranking
from capdisc_indexer.platforms import system
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
from capdisc_indexer.text.location import locate_file
from capdisc_indexer.text.normalization import (
    end_sentence,
    one_line,
    simple_words,
    strip_controls,
)

SPEAK, SHADOW = MODES = ("speak", "shadow")
# Copies take places of the ranking, and only one of them is printed.
_CANDIDATES = 12
# Without the model, a hit with less than this share of the best one's score stays away.
_MIN_SCORE_SHARE = 0.7
# Without vectors, a turn that is likelier than this one of a coding session gets nothing. Words alone
# spoke in 81 of 100 recorded turns, and were useful in 7 of 100 of these; now they speak in 2.
_MAX_CODING_SHARE = 0.75
# Characters of the reasons: the longest with which all capabilities fit.
_REASON_LENGTHS = (50, 0)
# How much less the beginning of a text may fit than a later part, as a difference of cosines.
_FIRST_LEAD = 0.12
# A part that is shorter says too little by itself ("Use when asked").
_MIN_REASON_CHARACTERS = 24
# A comma ends a part only where the part would be too long with what follows.
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|\s+[—–]\s+|\s*\n+\s*")
_CLAUSE_END = re.compile(r"(?<=[,:])\s+")
# The marks of a list, a heading, a quotation or a table at the begin of a line, and what makes
# words bold or code: a reason is plain text.
_MARKUP = re.compile(
    r"^[ \t]*(?:(?:[-*+•>|]|\d{1,2}[.)]|#{1,6})[ \t]+)+|[ \t]*\|[ \t]*$|\*\*|`", re.MULTILINE
)
_LIST_ITEM = re.compile(r"(?<=[^\s.!?;:,])[ \t]*\n\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+")
# A part that stands alone does not begin with the word that joined it, nor end with such a mark.
_CONJUNCTION = re.compile(r"^(?:and|or|und|oder|et|ou|y|o|e|и|или)\s+", re.IGNORECASE)
_LOOSE_ENDS = " ,:;-–—|/"
# What reads as a tag of markup to a model, in the frames of clients as well.
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_CLIENT_FRAME = re.compile(r"<(?=/?(?:system|user|hook|assistant|human|developer)[-_]?\w*>)", re.I)
# Of a section this much is compared with the prompt: encoding takes 30 µs a word.
_COMPARED_CHARACTERS = 400
_MAX_SECTIONS = 40

# From the text of a prompt to how well each text fits it: higher is better.
Scorer = Callable[[str, Sequence[str]], list[float]]


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
    answer = _fit_budget(ctx, prompt, fitting, limits)
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
        answer = _fit_budget(ctx, command, headers, limits)
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
            f"likeliest {_clean(best.header['id'], 80)} {best.probability:.2f},"
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
        reasons.append(f"{_clean(header['id'], 80)} ({cause})")
    return f"fits, but is not offered to a model: {'; '.join(reasons)}" if reasons else ""


def _fit_budget(
    ctx: open_index.CommandContext,
    prompt: str,
    headers: Sequence[CapabilityHeader],
    limits: Limits,
) -> Suggestions:
    """The suggestions of as many capabilities as fit, with reasons as long as that allows."""
    score, tokenizer = _choose_scorer(), ctx.config["tokenizer"]
    tool_names = find_tool_names(ctx.runtime, limits.client, headers)
    ways = [_format_way(ctx, header, tool_names) for header in headers]
    lines = [
        [_format_line(ctx, header, prompt, score, length, way) for length in _REASON_LENGTHS]
        for header, way in zip(headers, ways, strict=True)
    ]
    heading, *counts = count_texts(tokenizer, [HEADING, *(line for row in lines for line in row)])
    width = len(_REASON_LENGTHS)
    sizes = [counts[start : start + width] for start in range(0, len(counts), width)]
    number, length = choose_length(heading, sizes, limits.budget_tokens)
    if not number:
        return Suggestions(reason=f"nothing fits into {limits.budget_tokens} tokens")
    items = [
        Suggestion(
            id=header["id"],
            name=_clean(header["name"], 80),
            line=lines[position][length],
            tokens=sizes[position][length],
            digest=_digest(header),
        )
        for position, header in enumerate(headers[:number])
    ]
    if limits.detail:
        tokens_left = limits.budget_tokens - heading - sum(item.tokens for item in items)
        items = [
            _add_detail(ctx, item, header, prompt, score, tokens_left, way)
            for item, header, way in zip(items, headers, ways, strict=False)
        ]
    return Suggestions(
        items=tuple(items),
        is_shown=ctx.config["hook.show"],
        is_shadow=_is_shadow(ctx.config["hook.mode"]),
    )


def _is_shadow(mode: str) -> bool:
    """Whether answers are counted and not printed. Raises UsageError for an unknown mode."""
    if mode not in MODES:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("hook.mode", mode, MODES)
    return mode == SHADOW


def _digest(header: CapabilityHeader) -> str:
    """A digest that changes with the capability, and not with the prompt."""
    content = f"{header['description']}\0{header['source']['content_hash']}"
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def _add_detail(
    ctx: open_index.CommandContext,
    item: Suggestion,
    header: CapabilityHeader,
    prompt: str,
    score: Scorer,
    tokens_left: int,
    way: str,
) -> Suggestion:
    """The suggestion with the section of its text that fits the prompt best, of those that fit
    whole into the tokens; as it is where none does, or it has no text.
    """
    from capdisc.render.frame_key import frame_key
    from capdisc_indexer.rendering.formats import FORMATS
    from capdisc_indexer.rendering.formats.text import with_mark_key
    from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

    descriptor = ctx.index.full_descriptor(header)
    body = _CLIENT_FRAME.sub("‹", strip_controls(descriptor.content or descriptor.instructions))
    form = with_mark_key(FORMATS["text"], lambda: frame_key(ctx.runtime.user_state_dir()))
    counter = make_counter(find_tokenizer(ctx.config["tokenizer"]))
    for name, text in _rank_sections(body, prompt, score):
        place = f'section "{name}"' if name else "text"
        detail = (
            f"The {place} of {_clean(header['name'], 80)} ({way}):\n"
            f"{form.frame_open(item.id, text)}{text}{form.frame_close(item.id, text)}"
        )
        if (tokens := counter.count(detail)) <= tokens_left:
            return replace(item, detail=detail, detail_tokens=tokens)
    return item


def _rank_sections(body: str, prompt: str, score: Scorer) -> Iterator[tuple[str, str]]:
    """The whole body, whose name is "", then its sections, each with its heading, those first that
    fit the prompt best.
    """
    from capdisc_indexer.text.sections import split_sections

    if not body.strip():
        return
    yield "", f"{body.strip()}\n"
    sections = [section for section in split_sections(body) if section.level][:_MAX_SECTIONS]
    texts = [body[section.start : section.end].strip() for section in sections]
    scores = score(prompt, [text[:_COMPARED_CHARACTERS] for text in texts])
    for position in sorted(range(len(texts)), key=lambda position: -scores[position]):
        yield _clean(sections[position].heading, 80), f"{texts[position]}\n"


def _format_line(
    ctx: open_index.CommandContext,
    header: CapabilityHeader,
    prompt: str,
    score: Scorer,
    length: int,
    way: str,
) -> str:
    """`- NAME (KIND): why it fits. Read PATH`; without the reason for the length 0."""
    kind = "" if header["kind"] == "skill" else f" ({_clean(header['kind'], 30)})"
    reason = select_reason(prompt, header["description"], score, length) if length else ""
    lacking = open_index.missing_requirements(ctx.runtime, header)
    notes = ["Ask before use."] if header.get("confirm") else []
    notes += [] if header.get("available", True) else ["[not available]"]
    notes += [f"[missing here: {_clean(', '.join(lacking), 60)}]"] if lacking else []
    parts = (end_sentence(reason), way, *notes)
    text = " ".join(part for part in parts if part)
    return f"- {_clean(header['name'], 80)}{kind}: {text}\n"


def _format_way(
    ctx: open_index.CommandContext, header: CapabilityHeader, tool_names: Mapping[str, str]
) -> str:
    """How the model gets the whole capability: by the client's tool that loads skills, else `Read`
    with the path of its file, or `Run` with the command that prints it, where the file holds
    several.
    """
    path = header["source"]["path"]
    if name := tool_names.get(header["id"]):
        return f"Use the skill {_clean(name, 160)}"
    if header["source"]["pointer"] or not Path(path).is_file():
        return f"Run: capdisc show {system.quote_word(_clean(header['id'], 200))}"
    # Relative only to the folder of the prompt itself, from which a relative path can be opened.
    return f"Read {one_line(locate_file(path, ctx.runtime.cwd))}"


def select_reason(prompt: str, description: str, score: Scorer, length: int) -> str:
    """The part of a description that fits the prompt best, in at most `length` characters: mostly
    its first sentence, which says what the capability does. Where it has no sentence, the line or
    the clauses that fit best, without the marks of a list or of emphasis.
    """
    lines = _clean(description, 0, keep_lines=True)
    plain = _MARKUP.sub("", _LIST_ITEM.sub("; ", lines.strip()))
    sentences = _split_text(plain, _SENTENCE_END)
    sentence = _select_best(prompt, sentences, score)
    if len(sentence) > length:
        runs = _join_clauses(sentence, length)
        run = _select_best(prompt, [one_line(sentence, length), *runs], score)
        is_first = sentence.startswith(run.rstrip("…"))
        sentence = run if is_first else f"… {_CONJUNCTION.sub('', run)}"
    return one_line(sentence, length).rstrip(_LOOSE_ENDS)


def _select_best(prompt: str, texts: Sequence[str], score: Scorer) -> str:
    """The text with the highest score, or the first one where that is hardly lower; "" of none."""
    if len(texts) < 2:
        return "".join(texts)
    scores = score(prompt, texts)
    best = max(scores)
    return texts[0 if scores[0] >= best - _FIRST_LEAD else scores.index(best)]


def _split_text(text: str, ends: re.Pattern[str]) -> list[str]:
    """The parts of the text; one that is too short to say something is joined to the one before
    it.
    """
    parts: list[str] = []
    for part in filter(None, map(str.strip, ends.split(text))):
        if parts and min(len(part), len(parts[-1])) < _MIN_REASON_CHARACTERS:
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return parts


def _join_clauses(sentence: str, length: int) -> list[str]:
    """Runs of the sentence's clauses, each as long as `length` allows; none begins within
    brackets.
    """
    runs: list[str] = []
    clauses, depth = _split_text(sentence, _CLAUSE_END), 0
    for start in range(len(clauses)):
        is_within, depth = depth > 0, depth + clauses[start].count("(") - clauses[start].count(")")
        if is_within:
            continue
        run = clauses[start]
        for clause in clauses[start + 1 :]:
            if len(run) + 1 + len(clause) > length:
                break
            run = f"{run} {clause}"
        runs.append(run)
    return runs


def _clean(text: str, length: int, keep_lines: bool = False) -> str:
    """Another's text on one line (or on its lines, for a split) without tags."""
    plain = _TAG.sub(" ", text)
    return plain if keep_lines else one_line(plain, length)


def _choose_scorer() -> Scorer:
    """How texts are compared with a prompt: by the shipped encoder, which knows other languages,
    or without it by common words.
    """
    try:
        encode = encoders.load_shipped_encoder().encode_query
    except EncoderError:
        return score_by_words

    @cache  # the same sentences are compared for each length of a line
    def encode_text(text: str) -> list[float]:
        return _unit_vector(encode(text))

    def score_by_vectors(prompt: str, texts: Sequence[str]) -> list[float]:
        return [sum(map(mul, encode_text(prompt), encode_text(text))) for text in texts]

    return score_by_vectors


def _unit_vector(encoded: bytes) -> list[float]:
    values = memoryview(encoded).cast("b").tolist()
    length = math.hypot(*values) or 1.0
    return [value / length for value in values]


def score_by_words(prompt: str, texts: Sequence[str]) -> list[float]:
    """For each text, the share of the prompt's words that it has."""
    words = set(simple_words(prompt))
    return [len(words & set(simple_words(text))) / max(len(words), 1) for text in texts]
