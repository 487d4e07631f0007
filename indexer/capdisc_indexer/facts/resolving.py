"""A question of fact: the stored facts first, then the sentences of what the index holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from capdisc_indexer.discover import discover
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import UsageError
from capdisc_indexer.expansion import Availability
from capdisc_indexer.facts import files
from capdisc_indexer.facts.matching import Asked, asked_for, of_definition, of_fact, of_sentence
from capdisc_indexer.facts.sentences import LONGEST, sentences
from capdisc_indexer.facts.values import MAX_QUESTION, Answer, Fact, Source
from capdisc_indexer.facts.wording import suits, weighted
from capdisc_indexer.index import Index
from capdisc_indexer.ranking import information
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor, Query

# Below ANSWERS nothing is given for an answer, below SURE the asker is told to look again. Of 27 questions that a small
# handbook answers and 24 like them that it does not, 21 were answered rightly and 2 wrongly, one of those as unsure;
# nothing was rated between 0.65 and 0.74. (tests/indexer/facts/test_resolving.py)
ANSWERS, SURE = 0.65, 0.8
# What is listed beside an answer, or in place of one.
WORTH_NAMING, SOURCES = 0.3, 5
TEXTS = ("section", "document", "term")
_READ = 10


def resolve(
    index: Index, state_dir: Path, question: str, encoder: Encoder | None, mode: str, available: Availability | None
) -> Answer:
    """The answer, as an extract with where it stands, or none. Nothing is concluded, and nothing outside is asked.

    Raises UsageError for an empty question, InputError where the stored facts cannot be read.
    """
    if not question.strip():
        raise UsageError("the question is empty", 'for example: {"question": "what is a VIP customer?"}')
    asked = asked_for(question, index.documents.analyse)
    stored = _from_facts(index, files.known(state_dir), asked)
    read = _read(index, question, encoder, mode, available)
    found = sorted(_from_index(index, read, question), key=lambda each: -each.confidence)
    best = next((each for each in (*stored[:1], *found[:1]) if each.confidence >= ANSWERS), None)
    named = tuple(each for each in (*stored, *found) if each.confidence >= WORTH_NAMING)
    return _answer(question, best, named, ("facts", *(each.id for each in read)))


def _answer(question: str, best: Source | None, named: tuple[Source, ...], checked: tuple[str, ...]) -> Answer:
    confidence = best.confidence if best else max((each.confidence for each in named), default=0.0)
    rivals = [each for each in named if best and each.type == "fact" and each.confidence == best.confidence]
    torn = len({each.excerpt for each in rivals}) > 1
    note = f"an extract of {best.type} {best.name}; nothing was concluded from it" if best else "nothing read says it"
    return Answer(
        question=one_line(question, MAX_QUESTION),
        answer=best.excerpt if best else None,
        confidence=round(confidence, 2),
        sources=named[:SOURCES],
        checked=checked,
        needs_clarification=best is None or confidence < SURE or torn,
        note=note + ("; several facts fit as well" if torn else ""),
    )


def _from_facts(index: Index, facts: Sequence[Fact], asked: Asked) -> list[Source]:
    """The facts that share a word of their name with the question, best first, the latest of equals."""
    terms = index.documents.analyse
    rated = [(of_fact(fact, asked, terms, lambda term: _weight(index, term)), fact) for fact in reversed(facts)]
    return [
        Source(type="fact", name=fact.name, excerpt=str(fact.value), confidence=rating)
        for rating, fact in sorted(rated, key=lambda each: -each[0])
        if rating
    ]


def _read(
    index: Index, question: str, encoder: Encoder | None, mode: str, available: Availability | None
) -> list[Descriptor]:
    """The capabilities that may say it: texts first, where there are any, then whatever else fits."""
    there = tuple(kind for kind in TEXTS if kind in index.meta("overview")["kinds"])
    ids: dict[str, None] = {}
    for kinds in ((there,) if there else ()) + ((),):
        query = Query(texts=(question,), kinds=kinds, limit=_READ)
        ids |= dict.fromkeys(hit.id for hit in discover(index, query, encoder, mode, available).hits)
    heads = index.documents.passing(list(ids), Query(texts=()))
    return [index.whole(heads[each]) for each in ids]


def _from_index(index: Index, read: Sequence[Descriptor], question: str) -> Iterator[Source]:
    """The best sentence of each: by its share of the question, then by its sort, then the shortest."""
    asked = asked_for(question, index.documents.analyse)
    for descriptor in read:
        rated = [
            (rating, suits(question, text), -len(text), text)
            for rating, text in (*_described(index, descriptor, asked.terms), *_said(index, descriptor, asked))
            if rating
        ]
        if rated:
            rating, _, _, text = max(rated)
            yield Source(type=descriptor.kind, name=descriptor.id, excerpt=text, confidence=rating)


def _described(index: Index, descriptor: Descriptor, asked: frozenset[str]) -> Iterator[tuple[float, str]]:
    """The description, where the thing itself is asked for. Not of a text, which has words of its own."""
    name = weighted(index.documents.analyse, f"{descriptor.name} {descriptor.title}")
    if descriptor.kind not in ("section", "document"):
        yield of_definition(name, asked), one_line(descriptor.description, LONGEST)


def _said(index: Index, descriptor: Descriptor, asked: Asked) -> Iterator[tuple[float, str]]:
    terms = index.documents.analyse
    title = f"{descriptor.name} {descriptor.title} {descriptor.extra.get('title', '')} {descriptor.category}"
    own_words = descriptor.content if descriptor.kind in ("section", "document") else ""
    for sentence in sentences(own_words or f"{descriptor.description}\n\n{descriptor.content}"):
        above = frozenset(terms(f"{title} {sentence.under}"))
        yield of_sentence(sentence, above, asked, terms, lambda term: _weight(index, term)), sentence.text


def _weight(index: Index, term: str) -> float:
    """What a term says (its IDF); one that is nowhere says the most."""
    return information(index.documents.frequency(term), len(index.documents))
