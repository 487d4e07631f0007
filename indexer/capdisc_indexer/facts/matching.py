"""How far a stored fact or a sentence answers a question: which share of what the question is about stands there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from capdisc_indexer.facts.sentences import Sentence
from capdisc_indexer.facts.values import Fact
from capdisc_indexer.facts.wording import Terms, owned, weighted
from capdisc_indexer.frozen import frozen

# What stands in a heading or a name above a sentence is meant with it, and a little less surely.
ABOVE = 0.9
# A question about one word shares it with many sentences; what stands there may be about something else.
ONE_WORD = 0.75
# Of what says something about Anna, and nothing of the phone of hers that is asked for: no answer.
ANOTHER_THING = 0.5
Weight = Callable[[str], float]


@frozen(kw_only=True)
class Asked:
    """The terms of a question, and those of what it asks for of something else: an answer has one of them."""

    terms: frozenset[str]
    owned: frozenset[str]


def asked_for(question: str, terms: Terms) -> Asked:
    """What the question is about."""
    return Asked(terms=weighted(terms, question), owned=weighted(terms, owned(question)))


def of_fact(fact: Fact, question: Asked, terms: Terms, weight: Weight) -> float:
    """0..1: the harmonic mean of how much of the question the fact holds and how much of its name was asked for."""
    asked = question.terms
    name = weighted(terms, fact.name)
    rest = frozenset(terms(f"{fact.value} {fact.reasoning}"))
    if not name & asked:
        return 0.0
    covered = _share(asked, name | rest, weight)
    named = _share(name, asked, weight)
    return _of_it(round(2 * covered * named / (covered + named), 4), name | rest, question)


def of_sentence(sentence: Sentence, above: frozenset[str], question: Asked, terms: Terms, weight: Weight) -> float:
    """0..1: the share of the question that the sentence holds, or what it stands under. Nothing for a sentence that
    says no more than the question does, or has no word of it."""
    asked, own = question.terms, frozenset(terms(sentence.text))
    if not own - asked or not own & asked or sentence.text.endswith("?"):
        return 0.0
    held = _sum(asked & own, weight) + ABOVE * _sum((asked - own) & above, weight)
    return _of_it(_bounded(held / _sum(asked, weight), asked), own | above, question)


def of_definition(name: frozenset[str], asked: frozenset[str]) -> float:
    """0..1: the same for what describes a thing by another name than its own; only where it is asked for by that."""
    return _bounded(ABOVE, asked) if asked and asked <= name else 0.0


def _of_it(rating: float, held: frozenset[str], question: Asked) -> float:
    return min(rating, ANOTHER_THING) if question.owned and not question.owned & held else rating


def _bounded(rating: float, asked: frozenset[str]) -> float:
    return round(min(rating, ONE_WORD) if len(asked) == 1 else rating, 4)


def _share(wanted: frozenset[str], held: frozenset[str], weight: Weight) -> float:
    total = _sum(wanted, weight)
    return _sum(wanted & held, weight) / total if total else 0.0


def _sum(terms: Iterable[str], weight: Weight) -> float:
    return sum(weight(term) for term in sorted(terms))
