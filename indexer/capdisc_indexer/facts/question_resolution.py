"""A question of fact: the stored facts first, then the sentences of what the index holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.facts import fact_files
from capdisc_indexer.facts.fact_files import MAX_QUESTION, AnswerSource, Fact, FactAnswer
from capdisc_indexer.facts.question_terms import (
    MAX_SENTENCE_CHARACTERS,
    Sentence,
    TermAnalyser,
    asked_attribute,
    fits_question_type,
    split_sentences,
    subject_terms,
)
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.retrieval.graph_expansion import IsAvailable
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import inverse_document_frequency
from capdisc_indexer.text.normalization import one_line

# How far a stored fact or a sentence answers a question: which share of what the question is about
# stands there.

# What stands in a heading or a name above a sentence is meant with it, and a little less surely.
HEADING_WEIGHT = 0.9
# A question about one word shares it with many sentences; what stands there may be about something
# else.
MAX_ONE_WORD_SCORE = 0.75
# Of what says something about Anna, and nothing of the phone of hers that is asked for: no answer.
MAX_OTHER_ATTRIBUTE_SCORE = 0.5
TermWeight = Callable[[str], float]


@frozen(kw_only=True)
class QuestionTerms:
    """The terms of a question, and those of what it asks for of something else: an answer has one
    of them.
    """

    terms: frozenset[str]
    attribute_terms: frozenset[str]


def parse_question(question: str, terms: TermAnalyser) -> QuestionTerms:
    """What the question is about."""
    return QuestionTerms(
        terms=subject_terms(terms, question),
        attribute_terms=subject_terms(terms, asked_attribute(question)),
    )


def score_fact(
    fact: Fact, question: QuestionTerms, terms: TermAnalyser, weight: TermWeight
) -> float:
    """0..1: the harmonic mean of how much of the question the fact holds and how much of its name
    was asked for.
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
    """0..1: the share of the question that the sentence holds, or what it stands under. Nothing
    for a sentence that says no more than the question does, or has no word of it.
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
    """0..1: the same for what describes a thing by another name than its own; only where it is
    asked for by that.
    """
    return (
        _cap_one_word(HEADING_WEIGHT, question_terms)
        if question_terms and question_terms <= name
        else 0.0
    )


def _cap_other_attribute(
    rating: float, covered_terms: frozenset[str], question: QuestionTerms
) -> float:
    return (
        min(rating, MAX_OTHER_ATTRIBUTE_SCORE)
        if question.attribute_terms and not question.attribute_terms & covered_terms
        else rating
    )


def _cap_one_word(rating: float, question_terms: frozenset[str]) -> float:
    return round(min(rating, MAX_ONE_WORD_SCORE) if len(question_terms) == 1 else rating, 4)


def _weighted_share(
    terms: frozenset[str], covered_terms: frozenset[str], weight: TermWeight
) -> float:
    total = _total_weight(terms, weight)
    return _total_weight(terms & covered_terms, weight) / total if total else 0.0


def _total_weight(terms: Iterable[str], weight: TermWeight) -> float:
    return sum(weight(term) for term in sorted(terms))


# Below ANSWERS nothing is given for an answer, below SURE the asker is told to look again. Of 27
# questions that a small handbook answers and 24 like them that it does not, 21 were answered
# rightly and 2 wrongly, one of those as unsure; nothing was rated between 0.65 and 0.74.
# (tests/indexer/facts/test_resolving.py)
MIN_ANSWER_CONFIDENCE, MIN_SURE_CONFIDENCE = 0.65, 0.8
# What is listed beside an answer, or in place of one.
MIN_SOURCE_CONFIDENCE, MAX_SOURCES = 0.3, 5
TEXT_KINDS = ("section", "document", "term")
_MAX_READ = 10


def resolve_question(
    index: Index,
    state_dir: Path,
    question: str,
    encoder: Encoder | None,
    mode: str,
    available: IsAvailable | None,
) -> FactAnswer:
    """The answer, as an extract with where it stands, or none. Nothing is concluded, and nothing
    outside is asked.

    Raises UsageError for an empty question, InputError where the stored facts cannot be read.
    """
    if not question.strip():
        raise UsageError(
            "the question is empty", 'for example: {"question": "what is a VIP customer?"}'
        )
    question_terms = parse_question(question, index.documents.analyse)
    stored = _sources_from_facts(index, fact_files.list_facts(state_dir), question_terms)
    read = _read_capabilities(index, question, encoder, mode, available)
    extracts = sorted(
        _sources_from_index(index, read, question), key=lambda source: -source.confidence
    )
    best = next(
        (
            source
            for source in (*stored[:1], *extracts[:1])
            if source.confidence >= MIN_ANSWER_CONFIDENCE
        ),
        None,
    )
    named = tuple(
        source for source in (*stored, *extracts) if source.confidence >= MIN_SOURCE_CONFIDENCE
    )
    return _build_answer(question, best, named, ("facts", *(descriptor.id for descriptor in read)))


def _build_answer(
    question: str,
    best: AnswerSource | None,
    named: tuple[AnswerSource, ...],
    checked: tuple[str, ...],
) -> FactAnswer:
    confidence = (
        best.confidence if best else max((source.confidence for source in named), default=0.0)
    )
    rivals = [
        source
        for source in named
        if best and source.type == "fact" and source.confidence == best.confidence
    ]
    torn = len({source.excerpt for source in rivals}) > 1
    note = (
        f"an extract of {best.type} {best.name}; nothing was concluded from it"
        if best
        else "nothing read says it"
    )
    return FactAnswer(
        question=one_line(question, MAX_QUESTION),
        answer=best.excerpt if best else None,
        confidence=round(confidence, 2),
        sources=named[:MAX_SOURCES],
        checked_ids=checked,
        needs_clarification=best is None or confidence < MIN_SURE_CONFIDENCE or torn,
        note=note + ("; several facts fit as well" if torn else ""),
    )


def _sources_from_facts(
    index: Index, facts: Sequence[Fact], question_terms: QuestionTerms
) -> list[AnswerSource]:
    """The facts that share a word of their name with the question, best first, the latest of
    equals.
    """
    terms = index.documents.analyse
    rated = [
        (score_fact(fact, question_terms, terms, lambda term: _term_weight(index, term)), fact)
        for fact in reversed(facts)
    ]
    return [
        AnswerSource(type="fact", name=fact.name, excerpt=str(fact.value), confidence=rating)
        for rating, fact in sorted(rated, key=lambda pair: -pair[0])
        if rating
    ]


def _read_capabilities(
    index: Index, question: str, encoder: Encoder | None, mode: str, available: IsAvailable | None
) -> list[Descriptor]:
    """The capabilities that may say it: texts first, where there are any, then whatever else
    fits.
    """
    there = tuple(kind for kind in TEXT_KINDS if kind in index.overview["kinds"])
    ids: dict[str, None] = {}
    for kinds in ((there,) if there else ()) + ((),):
        query = Query(texts=(question,), kinds=kinds, limit=_MAX_READ)
        ids |= dict.fromkeys(
            hit.id for hit in search_index(index, query, encoder, mode, available).hits
        )
    headers = index.documents.headers_for(list(ids), Query(texts=()))
    return [index.full_descriptor(headers[identifier]) for identifier in ids]


def _sources_from_index(
    index: Index, read: Sequence[Descriptor], question: str
) -> Iterator[AnswerSource]:
    """The best sentence of each: by its share of the question, then by its sort, then the
    shortest.
    """
    question_terms = parse_question(question, index.documents.analyse)
    for descriptor in read:
        rated = [
            (rating, fits_question_type(question, text), -len(text), text)
            for rating, text in (
                *_score_description(index, descriptor, question_terms.terms),
                *_score_sentences(index, descriptor, question_terms),
            )
            if rating
        ]
        if rated:
            rating, _, _, text = max(rated)
            yield AnswerSource(
                type=descriptor.kind, name=descriptor.id, excerpt=text, confidence=rating
            )


def _score_description(
    index: Index, descriptor: Descriptor, question_terms: frozenset[str]
) -> Iterator[tuple[float, str]]:
    """The description, where the thing itself is asked for. Not of a text, which has words of its
    own.
    """
    name = subject_terms(index.documents.analyse, f"{descriptor.name} {descriptor.title}")
    if descriptor.kind not in ("section", "document"):
        yield (
            score_definition(name, question_terms),
            one_line(descriptor.description, MAX_SENTENCE_CHARACTERS),
        )


def _score_sentences(
    index: Index, descriptor: Descriptor, question_terms: QuestionTerms
) -> Iterator[tuple[float, str]]:
    terms = index.documents.analyse
    title = f"{descriptor.name} {descriptor.title} {descriptor.extra.get('title', '')} {descriptor.category}"
    own_words = descriptor.content if descriptor.kind in ("section", "document") else ""
    for sentence in split_sentences(
        own_words or f"{descriptor.description}\n\n{descriptor.content}"
    ):
        above = frozenset(terms(f"{title} {sentence.heading}"))
        yield (
            score_sentence(
                sentence, above, question_terms, terms, lambda term: _term_weight(index, term)
            ),
            sentence.text,
        )


def _term_weight(index: Index, term: str) -> float:
    """What a term says (its IDF); one that is nowhere says the most."""
    return inverse_document_frequency(
        index.documents.document_frequency(term), len(index.documents)
    )
