"""Questions of fact, answered with what is written down: a stored value or a sentence of the index, never a guess."""

from capdisc_indexer.facts.extracting import RULES, extract
from capdisc_indexer.facts.files import add, ask, known, unresolved
from capdisc_indexer.facts.resolving import resolve
from capdisc_indexer.facts.values import Answer, Extracted, Fact, Question, Source

__all__ = [
    "RULES",
    "Answer",
    "Extracted",
    "Fact",
    "Question",
    "Source",
    "add",
    "ask",
    "extract",
    "known",
    "resolve",
    "unresolved",
]
