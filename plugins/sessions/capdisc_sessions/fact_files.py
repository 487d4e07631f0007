"""Facts and open questions on disk: `facts.jsonl` in the state folder, one of them a line."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace, shallow_dict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.readers import json_reader
from capdisc_indexer.store import state_file
from capdisc_indexer.text.normalization import one_line, strip_controls, visible_text
from capdisc_sessions.fact_texts import MAX_NAME, MAX_VALUE, spelling_key

FactValue: TypeAlias = str | int | float | bool

MAX_FACTS, MAX_QUESTIONS = 2_000, 500
MAX_QUESTION = 1_000


@frozen(kw_only=True)
class Fact:
    """A value by name, as a person said it or a text states it; `reasoning` says why it holds,
    `at` when it was stored.
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


# All stored facts and open questions, by `spelling_key` of the name or the text, latest last.
FactStore: TypeAlias = tuple[dict[str, Fact], dict[str, Question]]


def list_facts(state_dir: Path) -> tuple[Fact, ...]:
    """The stored facts, latest last. Raises InputError where the file is damaged."""
    return tuple(_load_store(state_dir)[0].values())


def list_unresolved_questions(state_dir: Path) -> tuple[Question, ...]:
    """The questions that found no answer yet, latest last."""
    return tuple(_load_store(state_dir)[1].values())


def add_facts(state_dir: Path, facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """The facts as they are stored, and those that they replace.

    Raises UsageError for a fact without name or value, and when there would be more than 2,000.
    """
    clean_facts = [_clean_fact(fact) for fact in facts]
    replaced_facts: list[Fact] = []
    with _changed_store(state_dir) as (stored, _):
        for fact in clean_facts:
            key = spelling_key(fact.name)
            if (old_fact := stored.pop(key, None)) is not None:
                replaced_facts.append(old_fact)
            stored[key] = fact
        if len(stored) > MAX_FACTS:
            raise UsageError(
                f"there would be more than {MAX_FACTS:,} facts",
                f"remove some from {_store_path(state_dir)}",
            )
    return clean_facts, replaced_facts


def record_question(state_dir: Path, text: str, answered: bool) -> None:
    """Stores an open question, or removes one that is answered now."""
    key = spelling_key(text)
    if answered and key not in _load_store(state_dir)[1]:
        return
    with _changed_store(state_dir) as (_, questions):
        question = questions.pop(key, None) or Question(text=one_line(text, MAX_QUESTION), count=0)
        if not answered:
            now = _timestamp()
            questions[key] = replace(
                question, count=question.count + 1, first=question.first or now, last=now
            )
        for oldest in list(questions)[:-MAX_QUESTIONS]:
            del questions[oldest]


def _load_store(state_dir: Path) -> FactStore:
    """Raises InputError naming a line that cannot be read."""
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
    return facts, questions


@contextmanager
def _changed_store(state_dir: Path) -> Iterator[FactStore]:
    """The store, which is written as it is at the end of the block."""
    with state_file.lock_folder(state_dir):
        facts, questions = _load_store(state_dir)
        yield facts, questions
        rows = [
            *(_row("fact", "name", fact) for fact in facts.values()),
            *(_row("question", "text", question) for question in questions.values()),
        ]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        state_file.replace_state_file(_store_path(state_dir), lines.encode("utf-8", "replace"))


def _row(kind: str, key: str, entry: Fact | Question) -> JsonObject:
    """The entry as a line has it: its name or text under the key that tells which it is."""
    values = shallow_dict(entry)
    return {kind: values.pop(key), **values}


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
