"""Facts and open questions on disk: `facts.jsonl` in the state folder, one of them a line; the
values of questions and answers; and the facts that sentences of a text state literally, found by
four patterns. Every other sentence is reported as skipped, with the reason.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.readers import json_reader
from capdisc_indexer.store import state_file
from capdisc_indexer.text.normalization import one_line, strip_controls, visible_text
from capdisc_sessions.question_terms import spelling_key

FactValue: TypeAlias = str | int | float | bool

MAX_FACTS, MAX_QUESTIONS = 2_000, 500
MAX_NAME, MAX_VALUE, MAX_QUESTION = 200, 4_000, 1_000


@frozen(kw_only=True)
class Fact:
    """A value by name, as a person said it or a text states it; `reasoning` says why it holds, `at`
    when it was stored.
    """

    name: str
    value: FactValue
    reasoning: str = ""
    at: str = ""


@frozen(kw_only=True)
class Question:
    """A question that found no answer `count` times; `first` and `last` are times."""

    text: str
    count: int = 1
    first: str = ""
    last: str = ""


@frozen(kw_only=True)
class FactStore:
    """All stored facts and open questions, by `spelling_key` of the name or the text."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)


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
class FactAnswer:
    """The answer to a question; None where nothing that was read (`checked_ids`) is sure enough.
    `confidence` is 0..1.
    """

    question: str
    answer: FactValue | None
    confidence: float
    sources: tuple[AnswerSource, ...]
    checked_ids: tuple[str, ...]
    needs_clarification: bool
    note: str


@frozen(kw_only=True)
class ExtractedFact:
    """What a sentence in line `line` of a text states, by one of the rules; `rule` is "" where it
    states no fact, and `why` says the reason.
    """

    line: int
    text: str
    rule: str = ""
    name: str = ""
    value: str = ""
    why: str = ""


def list_facts(state_dir: Path) -> tuple[Fact, ...]:
    """The stored facts, latest last. Raises InputError where the file is damaged."""
    return tuple(load_store(state_dir).facts.values())


def list_unresolved_questions(state_dir: Path) -> tuple[Question, ...]:
    """The questions that found no answer yet, latest last."""
    return tuple(load_store(state_dir).questions.values())


def add_facts(state_dir: Path, facts: Sequence[Fact]) -> dict[str, Fact]:
    """Stores the facts and gives the ones that they replace, by the new name.

    Raises UsageError for a fact without name or value, and when there would be more than 2,000.
    """
    clean_facts = [_clean_fact(fact) for fact in facts]
    replaced_facts: dict[str, Fact] = {}

    def store_facts(store: FactStore) -> FactStore:
        stored = dict(store.facts)
        for fact in clean_facts:
            key = spelling_key(fact.name)
            if (old_fact := stored.pop(key, None)) is not None:
                replaced_facts[fact.name] = old_fact
            stored[key] = fact
        if len(stored) > MAX_FACTS:
            raise UsageError(
                f"there would be more than {MAX_FACTS:,} facts",
                f"remove some from {_store_path(state_dir)}",
            )
        return replace(store, facts=stored)

    _update_store(state_dir, store_facts)
    return replaced_facts


def record_question(state_dir: Path, text: str, answered: bool) -> None:
    """Stores an open question, or removes one that is answered now."""
    key = spelling_key(text)
    if answered and key not in load_store(state_dir).questions:
        return

    def store_question(store: FactStore) -> FactStore:
        questions = dict(store.questions)
        question = questions.pop(key, None) or Question(text=one_line(text, MAX_QUESTION), count=0)
        if not answered:
            now = _timestamp()
            questions[key] = replace(
                question, count=question.count + 1, first=question.first or now, last=now
            )
        return replace(store, questions=dict(list(questions.items())[-MAX_QUESTIONS:]))

    _update_store(state_dir, store_question)


def load_store(state_dir: Path) -> FactStore:
    """All stored facts and questions. Raises InputError naming a line that cannot be read."""
    facts: dict[str, Fact] = {}
    questions: dict[str, Question] = {}
    data = state_file.read_state_file(_store_path(state_dir)) or b""
    for number, line in enumerate(data.splitlines(), 1):
        try:
            entry = _parse_entry(line)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            message = f"{_store_path(state_dir)}: line {number} is neither a fact nor a question"
            raise InputError(message, "correct the line, or remove it") from error
        if isinstance(entry, Fact):
            facts[spelling_key(entry.name)] = entry
        else:
            questions[spelling_key(entry.text)] = entry
    return FactStore(facts=facts, questions=questions)


def _update_store(state_dir: Path, change: Callable[[FactStore], FactStore]) -> None:
    with state_file.lock_folder(state_dir):
        store = change(load_store(state_dir))
        rows = [
            *map(_fact_row, store.facts.values()),
            *map(_question_row, store.questions.values()),
        ]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        state_file.replace_state_file(_store_path(state_dir), lines.encode("utf-8", "replace"))


def _fact_row(fact: Fact) -> JsonObject:
    return {"fact": fact.name, "value": fact.value, "reasoning": fact.reasoning, "at": fact.at}


def _question_row(question: Question) -> JsonObject:
    return {
        "question": question.text,
        "count": question.count,
        "first": question.first,
        "last": question.last,
    }


def _parse_entry(line: bytes) -> Fact | Question:
    row = json_reader.loads(line)
    if "fact" in row:
        return _clean_fact(
            Fact(name=row["fact"], value=row["value"], reasoning=row["reasoning"], at=row["at"])
        )
    dates = {name: one_line(row[name], 40) for name in ("first", "last")}
    return Question(text=one_line(row["question"], MAX_QUESTION), count=int(row["count"]), **dates)


def _clean_fact(fact: Fact) -> Fact:
    """The fact as it is stored: of limited length, without control characters. Raises UsageError
    for a fact without a visible name or value.
    """
    name, value = one_line(fact.name, MAX_NAME), _clean_value(fact.value)
    if not visible_text(name) or (isinstance(value, str) and not visible_text(value)):
        raise UsageError(
            "a fact needs a name and a value", 'such as "vip threshold" and "100,000 USD"'
        )
    reasoning = strip_controls(fact.reasoning).strip()[:MAX_VALUE]
    return Fact(
        name=name, value=value, reasoning=reasoning, at=one_line(fact.at, 40) or _timestamp()
    )


def _clean_value(value: FactValue) -> FactValue:
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError("the value is not a number", "give a number, or a text")
    if not isinstance(value, str):
        return value if isinstance(value, bool | int | float) else str(value)[:MAX_VALUE]
    text = strip_controls(value).strip()
    if len(text) > MAX_VALUE:
        raise UsageError(
            f"the value has more than {MAX_VALUE:,} characters", "keep the gist, index the text"
        )
    return text


def _store_path(state_dir: Path) -> Path:
    return state_dir / "facts.jsonl"


def _timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


RULES = ("X = Y", "change X to Y", "X: Y", "X is Y")
MAX_CHARACTERS = 65_536
_NAME_WORDS = 8

_PATTERNS = {
    "X = Y": re.compile(r"([^=<>!:]+?)\s*=(?!=)\s*(.+)"),
    "change X to Y": re.compile(
        # "redo, but change my age to 50"
        r"(?:[^,;]+[,;]\s*)?(?:(?:but|and|then|please|now)\s+)*"
        r"(?:change|set|update|make)\s+(.+?)\s+to\s+(.+)",
        re.IGNORECASE,
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
