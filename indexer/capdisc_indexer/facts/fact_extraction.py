"""The facts that sentences of a text state literally, found by four patterns.

Every other sentence is reported as skipped, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.facts.fact_files import MAX_NAME, MAX_VALUE, ExtractedFact
from capdisc_indexer.text.normalization import one_line, strip_controls

RULES = ("X = Y", "change X to Y", "X: Y", "X is Y")
MAX_CHARACTERS = 65_536
_NAME_WORDS = 8

_PATTERNS = {
    "X = Y": re.compile(r"([^=<>!:]+?)\s*=(?!=)\s*(.+)"),
    "change X to Y": re.compile(
        r"(?:please\s+|now\s+)*(?:change|set|update|make)\s+(.+?)\s+to\s+(.+)", re.IGNORECASE
    ),
    "X: Y": re.compile(r"([^:]+?)\s*:\s+(.+)"),
    "X is Y": re.compile(r"(.+?)\s+(?:is|are|means|equals)\s+(.+)", re.IGNORECASE),
}
_LEADING_ARTICLE = re.compile(r"\A(?:the|a|an|my|our|your|this)\s+", re.IGNORECASE)
_LIST_MARKS = re.compile(r"^\s*(?:[-*+>]|\d{1,3}[.)])\s+|[*`]|(?<!\w)_+|_+(?!\w)")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z])")
_POINTING_WORDS = frozenset(
    "it this that these those there he she they we you i which who what here".split()
)
_CONDITIONAL_WORDS = frozenset(
    "if when unless because although while whether maybe perhaps".split()
)
_NEGATION = re.compile(r"(?:not|never|no longer|neither)\b", re.IGNORECASE)


def extract_facts(text: str) -> list[ExtractedFact]:
    """One entry for each sentence of each line, in order: a fact, or why it states none. Only the
    first 64 Ki characters are read.
    """
    return [_parse_statement(number, sentence) for number, sentence in _split_sentences(text)]


def _split_sentences(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(strip_controls(text[:MAX_CHARACTERS]).split("\n"), 1):
        # Runs of blanks become one: a pattern would try a long run from each of its characters.
        for sentence in _SENTENCE_END.split(" ".join(_LIST_MARKS.sub("", line).split())):
            if sentence:
                yield number, sentence


def _parse_statement(number: int, sentence: str) -> ExtractedFact:
    if sentence.endswith("?"):
        return _skip_statement(number, sentence, "a question")
    for rule, pattern in _PATTERNS.items():
        if (match := pattern.fullmatch(sentence)) is None:
            continue
        name = _LEADING_ARTICLE.sub("", match[1].strip(), count=1)
        value = match[2].strip().rstrip(".;")
        if problem := _fact_problem(name, value):
            return _skip_statement(number, sentence, problem)
        return ExtractedFact(
            line=number,
            text=one_line(sentence, 200),
            rule=rule,
            name=one_line(name),
            value=one_line(value),
        )
    return _skip_statement(number, sentence, "no rule fits it")


def _fact_problem(name: str, value: str) -> str:
    """Why name and value are no fact; "" where they are one."""
    words = name.lower().split()
    if not words or not value:
        return "its name or its value is empty"
    if words[0] in _POINTING_WORDS:
        return "its name points to an earlier sentence"
    if words[0] in _CONDITIONAL_WORDS:
        return "it holds under a condition"
    if _NEGATION.match(value):
        return "it says what something is not"
    if len(words) > _NAME_WORDS or len(name) > MAX_NAME:
        return f"its name has more than {_NAME_WORDS} words"
    return "the value is too long" if len(value) > MAX_VALUE else ""


def _skip_statement(number: int, sentence: str, why: str) -> ExtractedFact:
    return ExtractedFact(line=number, text=one_line(sentence, 200), why=why)
