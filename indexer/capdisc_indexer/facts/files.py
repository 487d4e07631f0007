"""Facts on disk: `facts.jsonl` in the state folder, a fact or an open question a line."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import strict_json
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.facts.values import (
    MAX_FACTS,
    MAX_NAME,
    MAX_QUESTION,
    MAX_QUESTIONS,
    MAX_VALUE,
    Book,
    Fact,
    Question,
)
from capdisc_indexer.facts.values import Value as FactValue
from capdisc_indexer.facts.wording import key
from capdisc_indexer.frozen import replace
from capdisc_indexer.store import state_file
from capdisc_indexer.text import one_line, plain, visible


def known(state_dir: Path) -> tuple[Fact, ...]:
    """The stored facts in the order in which they came. Raises InputError where the file is damaged."""
    return tuple(load(state_dir).facts.values())


def unresolved(state_dir: Path) -> tuple[Question, ...]:
    """The questions that were asked and have no answer yet, the latest last."""
    return tuple(load(state_dir).questions.values())


def add(state_dir: Path, facts: Sequence[Fact]) -> dict[str, Fact]:
    """Store the facts; those that they replace, by name. Raises UsageError for a fact without name or value, and when
    there would be more than 2,000."""
    sound = [_sound(fact) for fact in facts]
    replaced: dict[str, Fact] = {}

    def step(book: Book) -> Book:
        after = dict(book.facts)
        for fact in sound:
            if (last := after.pop(key(fact.name), None)) is not None:
                replaced[fact.name] = last
            after[key(fact.name)] = fact
        if len(after) > MAX_FACTS:
            raise UsageError(f"there would be more than {MAX_FACTS:,} facts", f"take some out of {_path(state_dir)}")
        return replace(book, facts=after)

    _change(state_dir, step)
    return replaced


def ask(state_dir: Path, text: str, answered: bool) -> None:
    """Note that the question was asked: without an answer it is kept, with one it is struck out."""
    question = key(text)
    if answered and question not in load(state_dir).questions:
        return

    def step(book: Book) -> Book:
        after = dict(book.questions)
        last = after.pop(question, None)
        if not answered:
            now, asked = _now(), last or Question(text=one_line(text, MAX_QUESTION), count=0)
            after[question] = replace(asked, count=asked.count + 1, first=asked.first or now, last=now)
        return replace(book, questions=dict(list(after.items())[-MAX_QUESTIONS:]))

    _change(state_dir, step)


def load(state_dir: Path) -> Book:
    """All that is stored. Raises InputError naming the line that cannot be read."""
    facts: dict[str, Fact] = {}
    questions: dict[str, Question] = {}
    for number, line in enumerate((state_file.read(_path(state_dir)) or b"").splitlines(), 1):
        try:
            entry = _entry(line)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            what = f"{_path(state_dir)}: line {number} is neither a fact nor a question"
            raise InputError(what, "mend the line, or take it out") from error
        if isinstance(entry, Fact):
            facts[key(entry.name)] = entry
        else:
            questions[key(entry.text)] = entry
    return Book(facts=facts, questions=questions)


def _change(state_dir: Path, step: Callable[[Book], Book]) -> None:
    with state_file.changing(state_dir):
        book = step(load(state_dir))
        rows = [*map(_fact_row, book.facts.values()), *map(_question_row, book.questions.values())]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        state_file.replace(_path(state_dir), lines.encode("utf-8", "replace"))


def _fact_row(fact: Fact) -> dict[str, Any]:
    return {"fact": fact.name, "value": fact.value, "reasoning": fact.reasoning, "at": fact.at}


def _question_row(question: Question) -> dict[str, Any]:
    return {"question": question.text, "count": question.count, "first": question.first, "last": question.last}


def _entry(line: bytes) -> Fact | Question:
    row = strict_json.loads(line)
    if "fact" in row:
        return _sound(Fact(name=row["fact"], value=row["value"], reasoning=row["reasoning"], at=row["at"]))
    dates = {name: one_line(row[name], 40) for name in ("first", "last")}
    return Question(text=one_line(row["question"], MAX_QUESTION), count=int(row["count"]), **dates)


def _sound(fact: Fact) -> Fact:
    """The fact as it is kept: bounded, without control characters. Raises UsageError for one that says nothing."""
    name, value = one_line(fact.name, MAX_NAME), _sound_value(fact.value)
    if not visible(name) or (isinstance(value, str) and not visible(value)):
        raise UsageError("a fact needs a name and a value", 'such as "vip threshold" and "100,000 USD"')
    reasoning = plain(fact.reasoning).strip()[:MAX_VALUE]
    return Fact(name=name, value=value, reasoning=reasoning, at=one_line(fact.at, 40) or _now())


def _sound_value(value: FactValue) -> FactValue:
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError("the value is not a number", "give a number, or a text")
    if not isinstance(value, str):
        return value if isinstance(value, bool | int | float) else str(value)[:MAX_VALUE]
    text = plain(value).strip()
    if len(text) > MAX_VALUE:
        raise UsageError(f"the value has more than {MAX_VALUE:,} characters", "keep the gist, index the text")
    return text


def _path(state_dir: Path) -> Path:
    return state_dir / "facts.jsonl"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
