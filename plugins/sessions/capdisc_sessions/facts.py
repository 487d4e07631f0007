"""The answer to a question of fact: from the stored facts, else from the sentences of the
capabilities that a search for the question gives, with its source; never a guess.

Facts and sentences are scored by the share of the question's terms that they hold, weighted by how
rare each term is in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.retrieval.candidates import IsAvailable
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import inverse_document_frequency
from capdisc_indexer.text.normalization import one_line
from capdisc_sessions.fact_files import (
    MAX_QUESTION,
    RULES,
    AnswerSource,
    ExtractedFact,
    Fact,
    FactAnswer,
    Question,
    add_facts,
    extract_facts,
    list_facts,
    list_unresolved_questions,
    record_question,
)
from capdisc_sessions.question_terms import (
    MAX_SENTENCE_CHARACTERS,
    Sentence,
    TermAnalyser,
    fits_question_type,
    requested_attribute,
    split_sentences,
    subject_terms,
)

__all__ = [
    "RULES",
    "AnswerSource",
    "ExtractedFact",
    "Fact",
    "FactAnswer",
    "Question",
    "add_facts",
    "extract_facts",
    "list_facts",
    "list_unresolved_questions",
    "record_question",
    "resolve_question",
]
# Below MIN_ANSWER_CONFIDENCE there is no answer; below MIN_SURE_CONFIDENCE the caller is advised to
# check it. Of 27 questions that a small handbook answers and 24 like them that it does not, 21 were
# answered rightly and 2 wrongly, one of those as unsure; nothing was rated between 0.65 and 0.74.
# (tests/facts/test_resolving.py)
MIN_ANSWER_CONFIDENCE, MIN_SURE_CONFIDENCE = 0.65, 0.8
# The sources that are listed beside an answer, or in place of one.
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
# How much a term says, by the term: its IDF.
TermWeight: TypeAlias = Callable[[str], float]


def resolve_question(
    index: Index,
    state_dir: Path,
    question: str,
    encoder: Encoder | None,
    mode: str,
    available: IsAvailable | None,
) -> FactAnswer:
    """The answer as an extract with its source, or none. Nothing is inferred, and nothing outside
    of the index and the stored facts is read.

    Raises UsageError for an empty question, InputError where the stored facts cannot be read.
    """
    if not question.strip():
        raise UsageError(
            "the question is empty", 'for example: {"question": "what is a VIP customer?"}'
        )
    question_terms = parse_question(question, index.documents.analyse)
    stored = _sources_from_facts(index, list_facts(state_dir), question_terms)
    descriptors = _read_capabilities(index, question, encoder, mode, available)
    extracts = sorted(
        _sources_from_index(index, descriptors, question), key=lambda source: -source.confidence
    )
    candidates = (*stored[:1], *extracts[:1])
    answers = (source for source in candidates if source.confidence >= MIN_ANSWER_CONFIDENCE)
    sources = tuple(
        source for source in (*stored, *extracts) if source.confidence >= MIN_SOURCE_CONFIDENCE
    )
    checked_ids = ("facts", *(descriptor.id for descriptor in descriptors))
    return _build_answer(question, next(answers, None), sources, checked_ids)


def _build_answer(
    question: str,
    best: AnswerSource | None,
    sources: tuple[AnswerSource, ...],
    checked_ids: tuple[str, ...],
) -> FactAnswer:
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
    return FactAnswer(
        question=one_line(question, MAX_QUESTION),
        answer=best.excerpt if best else None,
        confidence=round(confidence, 2),
        sources=sources[:MAX_SOURCES],
        checked_ids=checked_ids,
        needs_clarification=best is None or confidence < MIN_SURE_CONFIDENCE or is_ambiguous,
        note=note + ("; several facts fit as well" if is_ambiguous else ""),
    )


def _sources_from_facts(
    index: Index, facts: Sequence[Fact], question_terms: QuestionTerms
) -> list[AnswerSource]:
    """The facts that share a term of their name with the question, best first; of equally good
    ones, the latest first.
    """
    terms = index.documents.analyse
    scored = [
        (score_fact(fact, question_terms, terms, lambda term: _term_weight(index, term)), fact)
        for fact in reversed(facts)
    ]
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


def _sources_from_index(
    index: Index, descriptors: Sequence[Descriptor], question: str
) -> Iterator[AnswerSource]:
    """The best sentence of each capability: by score, then by whether it fits the type of the
    question, then the shortest.
    """
    question_terms = parse_question(question, index.documents.analyse)
    for descriptor in descriptors:
        scored_texts = (
            *_score_description(index, descriptor, question_terms.terms),
            *_score_sentences(index, descriptor, question_terms),
        )
        ranked = [
            (score, fits_question_type(question, text), -len(text), text)
            for score, text in scored_texts
            if score
        ]
        if ranked:
            score, _, _, text = max(ranked)
            yield AnswerSource(
                type=descriptor.kind, name=descriptor.id, excerpt=text, confidence=score
            )


def _score_description(
    index: Index, descriptor: Descriptor, question_terms: frozenset[str]
) -> Iterator[tuple[float, str]]:
    """The description with its score; nothing for a text, which is scored by its sentences."""
    name = subject_terms(index.documents.analyse, f"{descriptor.name} {descriptor.title}")
    if descriptor.kind not in ("section", "document"):
        yield (
            score_definition(name, question_terms),
            one_line(descriptor.description, MAX_SENTENCE_CHARACTERS),
        )


def _score_sentences(
    index: Index, descriptor: Descriptor, question_terms: QuestionTerms
) -> Iterator[tuple[float, str]]:
    """The sentences of a capability with their scores."""
    terms = index.documents.analyse
    names = (descriptor.name, descriptor.title, descriptor.extra.get("title", ""))
    title = f"{' '.join(map(str, names))} {descriptor.category}"
    is_text = descriptor.kind in ("section", "document") and descriptor.content
    text = descriptor.content if is_text else f"{descriptor.description}\n\n{descriptor.content}"
    for sentence in split_sentences(text):
        above = frozenset(terms(f"{title} {sentence.heading}"))
        score = score_sentence(
            sentence, above, question_terms, terms, lambda term: _term_weight(index, term)
        )
        yield score, sentence.text


def _term_weight(index: Index, term: str) -> float:
    """The IDF of a term in the index; highest for one that no capability has."""
    return inverse_document_frequency(
        index.documents.document_frequency(term), len(index.documents)
    )


# Scores: which share of a question a fact or a sentence holds.


@frozen(kw_only=True)
class QuestionTerms:
    """The terms of a question, and those of the attribute of an owner that it asks for: an answer
    has one of them.
    """

    terms: frozenset[str]
    attribute_terms: frozenset[str]


def parse_question(question: str, terms: TermAnalyser) -> QuestionTerms:
    """The terms of the question, stemmed by `terms`."""
    return QuestionTerms(
        terms=subject_terms(terms, question),
        attribute_terms=subject_terms(terms, requested_attribute(question)),
    )


def score_fact(
    fact: Fact, question: QuestionTerms, terms: TermAnalyser, weight: TermWeight
) -> float:
    """0..1: the harmonic mean of the share of the question that the fact holds, and the share of
    its name that the question holds.
    """
    question_terms = question.terms
    name = subject_terms(terms, fact.name)
    value_terms = frozenset(terms(f"{fact.value} {fact.reasoning}"))
    if not name & question_terms:
        return 0.0
    covered = _weighted_share(question_terms, name | value_terms, weight)
    named = _weighted_share(name, question_terms, weight)
    return _cap_other_attribute(
        round(2 * covered * named / (covered + named), 4), name | value_terms, question
    )


def score_sentence(
    sentence: Sentence,
    above: frozenset[str],
    question: QuestionTerms,
    terms: TermAnalyser,
    weight: TermWeight,
) -> float:
    """0..1: the share of the question that the sentence or its headings (`above`) hold; 0 for a
    sentence that adds nothing to the question, or shares no term with it.
    """
    question_terms, sentence_terms = question.terms, frozenset(terms(sentence.text))
    if (
        not sentence_terms - question_terms
        or not sentence_terms & question_terms
        or sentence.text.endswith("?")
    ):
        return 0.0
    covered_weight = _total_weight(
        question_terms & sentence_terms, weight
    ) + HEADING_WEIGHT * _total_weight((question_terms - sentence_terms) & above, weight)
    return _cap_other_attribute(
        _cap_one_word(covered_weight / _total_weight(question_terms, weight), question_terms),
        sentence_terms | above,
        question,
    )


def score_definition(name: frozenset[str], question_terms: frozenset[str]) -> float:
    """0..1: how well the description of a thing of this name answers; 0 unless all terms of the
    question are in the name.
    """
    if not question_terms or not question_terms <= name:
        return 0.0
    return _cap_one_word(HEADING_WEIGHT, question_terms)


def _cap_other_attribute(
    score: float, covered_terms: frozenset[str], question: QuestionTerms
) -> float:
    if question.attribute_terms and not question.attribute_terms & covered_terms:
        return min(score, MAX_OTHER_ATTRIBUTE_SCORE)
    return score


def _cap_one_word(score: float, question_terms: frozenset[str]) -> float:
    return round(min(score, MAX_ONE_WORD_SCORE) if len(question_terms) == 1 else score, 4)


def _weighted_share(
    terms: frozenset[str], covered_terms: frozenset[str], weight: TermWeight
) -> float:
    total = _total_weight(terms, weight)
    return _total_weight(terms & covered_terms, weight) / total if total else 0.0


def _total_weight(terms: Iterable[str], weight: TermWeight) -> float:
    return sum(weight(term) for term in sorted(terms))
