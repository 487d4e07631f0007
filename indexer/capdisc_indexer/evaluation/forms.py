"""The forms in which queries and judgements are written down, and what is wrong with a file of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.types import Finding

_QUERY = 'write {"qid": ..., "text": ...} or an id, a tab and the text on each line'
_GRADE = 'write qid, id and grade with tabs between, "qid 0 id grade", or {"qid": ..., "id": ..., "grade": ...}'


@frozen
class EvalQuery:
    """A request to measure by; `lang` is "" where the file does not say."""

    qid: str
    text: str
    lang: str = ""


def queries(data: bytes, name: str) -> tuple[EvalQuery, ...]:
    """The queries of a file of JSON lines or of tab-separated lines, in its order.

    `name` is what errors call the file. Raises InputError for a line without an id or a text, for an id that stands
    twice, and for a file without a query: figures over part of a file would mislead.
    """
    found: dict[str, EvalQuery] = {}
    for number, line in _lines(data, name):
        query = _json_query(line) if line.startswith("{") else _plain_query(line)
        if query is None:
            _refuse(name, number, "the line holds no query", _QUERY)
        if query.qid in found:
            _refuse(name, number, f"the query id {query.qid[:64]} stands twice", "give each query an id of its own")
        found[query.qid] = query
    if not found:
        raise InputError(f"{name} holds no queries", _QUERY)
    return tuple(found.values())


def judgements(data: bytes, name: str) -> dict[str, dict[str, float]]:
    """The grades above 0 by query id and capability id, from a TREC file, tab-separated lines or JSON lines.

    A first line without a number for a grade is a heading. Of two grades for one pair the later counts. Raises
    InputError for a line that is none of these, and for a file without a judgement.
    """
    found: dict[str, dict[str, float]] = {}
    for position, (number, line) in enumerate(_lines(data, name)):
        parts = _json_grade(line) if line.startswith("{") else _plain_grade(line)
        if parts is None and position == 0 and not line.startswith("{"):
            continue
        if parts is None:
            _refuse(name, number, "the line holds no judgement", _GRADE)
        qid, identifier, grade = parts
        found.setdefault(qid, {})[identifier] = grade
    if not found:
        raise InputError(f"{name} holds no judgements", _GRADE)
    return {qid: {key: grade for key, grade in grades.items() if grade > 0} for qid, grades in found.items()}


def _lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    text = decode(data, name)
    if isinstance(text, Finding):
        raise InputError(f"{name}:{text.line}: {text.message}", text.hint)
    # Not splitlines: a sentence may hold a line separator of Unicode.
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _json_query(line: str) -> EvalQuery | None:
    row = _object(line)
    qid = _text(row, "qid", "id", "_id")
    text = _text(row, "text", "query")
    return EvalQuery(qid, text, _text(row, "lang")) if qid and text else None


def _plain_query(line: str) -> EvalQuery | None:
    qid, _, text = line.partition("\t")
    return EvalQuery(qid.strip(), text.strip()) if qid.strip() and text.strip() else None


def _json_grade(line: str) -> tuple[str, str, float] | None:
    row = _object(line)
    return _graded(_text(row, "qid"), _text(row, "id"), _text(row, "grade"))


def _plain_grade(line: str) -> tuple[str, str, float] | None:
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    if len(parts) == 4:
        del parts[1]
    return _graded(*parts) if len(parts) == 3 else None


def _graded(qid: str, identifier: str, grade: str) -> tuple[str, str, float] | None:
    try:
        value = float(grade)
    except ValueError:
        return None
    return (qid, identifier, value) if qid and identifier and math.isfinite(value) else None


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(row: Mapping[str, Any], *keys: str) -> str:
    """The first of the keys that holds a text or a number, as text; "" when none does."""
    values = (row.get(key) for key in keys)
    found = (value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    return str(next(found, "")).strip()


def _refuse(name: str, number: int, message: str, hint: str) -> NoReturn:
    raise InputError(f"{name}:{number}: {message}", hint)
