"""Facts, questions and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from capdisc_indexer.model.frozen import field, frozen

FactValue: TypeAlias = str | int | float | bool

MAX_FACTS, MAX_QUESTIONS = 2_000, 500
MAX_NAME, MAX_VALUE, MAX_QUESTION = 200, 4_000, 1_000


@frozen(kw_only=True)
class Fact:
    """A value that somebody said or that a text holds; `reasoning` is why it is believed."""

    name: str
    value: FactValue
    reasoning: str = ""
    at: str = ""


@frozen(kw_only=True)
class Question:
    """A question that found no answer, `count` times, first and last."""

    text: str
    count: int = 1
    first: str = ""
    last: str = ""


@frozen(kw_only=True)
class FactStore:
    """All that is stored, by the key that spellings of one name or question share."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)


@frozen(kw_only=True)
class AnswerSource:
    """Where something was read. `type` is "fact" or the kind of the capability, `excerpt` as it
    stands there, `confidence` 0..1 that it answers the question.
    """

    type: str
    name: str
    excerpt: str
    confidence: float


@frozen(kw_only=True)
class FactAnswer:
    """The answer to a question; None where nothing that was read (`checked`) says enough."""

    question: str
    answer: FactValue | None
    confidence: float
    sources: tuple[AnswerSource, ...]
    checked_ids: tuple[str, ...]
    needs_clarification: bool
    note: str


@frozen(kw_only=True)
class ExtractedFact:
    """A fact that a line of a text states, by one of the rules; `rule` is "" for a line that none
    fits, `why` says what stood against it.
    """

    line: int
    text: str
    rule: str = ""
    name: str = ""
    value: str = ""
    why: str = ""
