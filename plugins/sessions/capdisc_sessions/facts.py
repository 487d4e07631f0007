"""The answer to a question of fact: from the stored facts, else from the sentences of the
capabilities that a search for the question gives, with its source; never a guess.

Facts and sentences are scored by the share of the question's terms that they hold, weighted by how
rare each term is in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace, shallow_dict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.retrieval.candidates import IsAvailable
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import inverse_document_frequency
from capdisc_indexer.text.normalization import one_line
from capdisc_sessions.fact_files import MAX_QUESTION, Fact, list_facts
from capdisc_sessions.fact_texts import (
    MAX_SENTENCE_CHARACTERS,
    Sentence,
    fits_question_type,
    requested_attribute,
    split_sentences,
    subject_terms,
)

# Below MIN_ANSWER_CONFIDENCE there is no answer; below MIN_SURE_CONFIDENCE the caller is advised
# to check it. Of 27 questions that a small handbook answers and 24 like them that it does not, 21
# were answered rightly and 2 wrongly, one of those as unsure; nothing was rated between 0.65 and
# 0.74. (tests/facts/test_resolving.py)
MIN_ANSWER_CONFIDENCE, MIN_SURE_CONFIDENCE = 0.65, 0.8
# The sources that are listed with an answer, or in place of one.
MIN_SOURCE_CONFIDENCE, MAX_SOURCES = 0.3, 5
# Kinds of capability that are texts: their content is searched before that of all others.
TEXT_KINDS = ("section", "document", "term")
_MAX_READ = 10
# A term in the heading or the name above a sentence belongs to it, but a little less surely.
HEADING_WEIGHT = 0.9
# Many sentences share the word of a one-word question, and may be about something else.
MAX_ONE_WORD_SCORE = 0.75
# A sentence about Anna that does not mention her phone does not answer what her phone number is.
MAX_OTHER_ATTRIBUTE_SCORE = 0.5


@frozen(kw_only=True)
class AnswerSource:
    """A fact or a capability that may answer a question. `type` is "fact" or the kind of the
    capability, `excerpt` the value or sentence, `confidence` 0..1 that it is the answer.
    """

    type: str
    name: str
    excerpt: str
    confidence: float


@frozen(kw_only=True)
class QuestionTerms:
    """A question with its stemmed terms, and those of the attribute of an owner that it asks for:
    an answer has one of them. `analyse` gives the terms of a text, `weight` how much a term says.
    """

    text: str
    terms: frozenset[str]
    attribute_terms: frozenset[str]
    analyse: Callable[[str], list[str]]
    weight: Callable[[str], float]


def resolve_question(
    index: Index,
    state_dir: Path,
    question: str,
    encoder: Encoder | None,
    mode: str,
    available: IsAvailable | None,
) -> JsonObject:
    """The answer as an extract with its source, or none, as JSON. Nothing is inferred, and nothing
    outside of the index and the stored facts is read.

    Raises UsageError for an empty question, InputError where the stored facts cannot be read.
    """
    if not question.strip():
        raise UsageError(
            "the question is empty", 'for example: {"question": "what is a VIP customer?"}'
        )
    parsed = _parse_question(question, index)
    stored = _sources_from_facts(list_facts(state_dir), parsed)
    descriptors = _read_capabilities(index, question, encoder, mode, available)
    extracts = sorted(
        _sources_from_capabilities(descriptors, parsed), key=lambda source: -source.confidence
    )
    candidates = (*stored[:1], *extracts[:1])
    answers = (source for source in candidates if source.confidence >= MIN_ANSWER_CONFIDENCE)
    sources = [
        source for source in (*stored, *extracts) if source.confidence >= MIN_SOURCE_CONFIDENCE
    ]
    checked_ids = ["facts", *(descriptor.id for descriptor in descriptors)]
    return _build_answer(question, next(answers, None), sources, checked_ids)


def _parse_question(question: str, index: Index) -> QuestionTerms:
    analyse = index.documents.analyse
    return QuestionTerms(
        text=question,
        terms=subject_terms(analyse, question),
        attribute_terms=subject_terms(analyse, requested_attribute(question)),
        analyse=analyse,
        weight=partial(_term_weight, index),
    )


def _term_weight(index: Index, term: str) -> float:
    """The IDF of a term in the index; highest for one that no capability has."""
    return inverse_document_frequency(
        index.documents.document_frequency(term), len(index.documents)
    )


def _build_answer(
    question: str, best: AnswerSource | None, sources: list[AnswerSource], checked_ids: list[str]
) -> JsonObject:
    confidence = (
        best.confidence if best else max((source.confidence for source in sources), default=0.0)
    )
    equally_good = {
        source.excerpt
        for source in sources
        if best and source.type == "fact" and source.confidence == best.confidence
    }
    is_ambiguous = len(equally_good) > 1
    note = (
        f"an extract of {best.type} {best.name}; nothing was concluded from it"
        if best
        else "no fact and no text that was read answers it"
    )
    rows = [
        shallow_dict(replace(source, confidence=round(source.confidence, 2)))
        for source in sources[:MAX_SOURCES]
    ]
    return {
        "question": one_line(question, MAX_QUESTION),
        "answer": best.excerpt if best else None,
        "confidence": round(confidence, 2),
        "sources": rows,
        "sources_checked": checked_ids,
        "needs_clarification": best is None or confidence < MIN_SURE_CONFIDENCE or is_ambiguous,
        "note": note + ("; several facts fit as well" if is_ambiguous else ""),
    }


def _sources_from_facts(facts: Sequence[Fact], question: QuestionTerms) -> list[AnswerSource]:
    """The facts that share a term of their name with the question, best first; of equally good
    ones, the latest first.
    """
    scored = [(_score_fact(fact, question), fact) for fact in reversed(facts)]
    return [
        AnswerSource(type="fact", name=fact.name, excerpt=str(fact.value), confidence=score)
        for score, fact in sorted(scored, key=lambda pair: -pair[0])
        if score
    ]


def _read_capabilities(
    index: Index, question: str, encoder: Encoder | None, mode: str, available: IsAvailable | None
) -> list[Descriptor]:
    """The capabilities that may hold the answer: first those that are texts, then all others that
    fit.
    """
    text_kinds = tuple(kind for kind in TEXT_KINDS if kind in index.overview["kinds"])
    any_kind: tuple[str, ...] = ()
    ids: dict[str, None] = {}
    for kinds in dict.fromkeys((text_kinds, any_kind)):
        query = Query(texts=(question,), kinds=kinds, limit=_MAX_READ)
        ids |= dict.fromkeys(
            hit.id for hit in search_index(index, query, encoder, mode, available).hits
        )
    headers = index.documents.headers_for(list(ids), Query(texts=()))
    return [index.full_descriptor(headers[identifier]) for identifier in ids]


def _sources_from_capabilities(
    descriptors: Sequence[Descriptor], question: QuestionTerms
) -> Iterator[AnswerSource]:
    """The best sentence of each capability: by score, then by whether it fits the type of the
    question, then the shortest.
    """
    for descriptor in descriptors:
        ranked = [
            (score, fits_question_type(question.text, text), -len(text), text)
            for score, text in _score_texts(descriptor, question)
            if score
        ]
        if ranked:
            score, _, _, text = max(ranked)
            yield AnswerSource(
                type=descriptor.kind, name=descriptor.id, excerpt=text, confidence=score
            )


def _score_texts(descriptor: Descriptor, question: QuestionTerms) -> Iterator[tuple[float, str]]:
    """The sentences of a capability with their scores; and the description, unless it is that of a
    text.
    """
    is_text = descriptor.kind in ("section", "document")
    if not is_text:
        name = subject_terms(question.analyse, f"{descriptor.name} {descriptor.title}")
        # Nothing is a definition unless all terms of the question are in the name.
        if question.terms and question.terms <= name:
            description = one_line(descriptor.description, MAX_SENTENCE_CHARACTERS)
            yield _cap_one_word(HEADING_WEIGHT, question.terms), description
    names = (descriptor.name, descriptor.title, descriptor.extra.get("title", ""))
    title = f"{' '.join(map(str, names))} {descriptor.category}"
    text = descriptor.content
    if not (is_text and text):
        text = f"{descriptor.description}\n\n{text}"
    for sentence in split_sentences(text):
        above = frozenset(question.analyse(f"{title} {sentence.heading}"))
        yield _score_sentence(sentence, above, question), sentence.text


# Scores: which share of a question a fact or a sentence holds.


def _score_fact(fact: Fact, question: QuestionTerms) -> float:
    """0..1: the harmonic mean of the share of the question that the fact holds, and the share of
    its name that the question holds.
    """
    name = subject_terms(question.analyse, fact.name)
    if not name & question.terms:
        return 0.0
    held_terms = name | frozenset(question.analyse(f"{fact.value} {fact.reasoning}"))
    covered = _weighted_share(question.terms, held_terms, question.weight)
    named = _weighted_share(name, question.terms, question.weight)
    score = round(2 * covered * named / (covered + named), 4)
    return _cap_other_attribute(score, held_terms, question)


def _score_sentence(sentence: Sentence, above: frozenset[str], question: QuestionTerms) -> float:
    """0..1: the share of the question that the sentence or its headings (`above`) hold; 0 for a
    sentence that adds nothing to the question, or shares no term with it.
    """
    terms, weight = frozenset(question.analyse(sentence.text)), question.weight
    if not terms - question.terms or not terms & question.terms or sentence.text.endswith("?"):
        return 0.0
    covered_weight = _total_weight(question.terms & terms, weight)
    covered_weight += HEADING_WEIGHT * _total_weight((question.terms - terms) & above, weight)
    score = covered_weight / _total_weight(question.terms, weight)
    return _cap_other_attribute(_cap_one_word(score, question.terms), terms | above, question)


def _cap_other_attribute(
    score: float, covered_terms: frozenset[str], question: QuestionTerms
) -> float:
    if question.attribute_terms and not question.attribute_terms & covered_terms:
        return min(score, MAX_OTHER_ATTRIBUTE_SCORE)
    return score


def _cap_one_word(score: float, question_terms: frozenset[str]) -> float:
    return round(min(score, MAX_ONE_WORD_SCORE) if len(question_terms) == 1 else score, 4)


def _weighted_share(
    terms: frozenset[str], covered_terms: frozenset[str], weight: Callable[[str], float]
) -> float:
    total = _total_weight(terms, weight)
    return _total_weight(terms & covered_terms, weight) / total if total else 0.0


def _total_weight(terms: Iterable[str], weight: Callable[[str], float]) -> float:
    return sum(weight(term) for term in sorted(terms))
