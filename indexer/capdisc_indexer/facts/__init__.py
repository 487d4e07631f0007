"""Answers to questions of fact: a stored value or a sentence of the index, with its source, never
a guess.
"""

from capdisc_indexer.facts.fact_extraction import RULES, extract_facts
from capdisc_indexer.facts.fact_files import (
    AnswerSource,
    ExtractedFact,
    Fact,
    FactAnswer,
    Question,
    add_facts,
    list_facts,
    list_unresolved_questions,
    record_question,
)
from capdisc_indexer.facts.question_resolution import resolve_question

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
