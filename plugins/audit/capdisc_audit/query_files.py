"""Queries and judgements from files, and judgements resolved to the ids of an index.

Errors name the file and the line: figures over a part of a file would mislead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn, TypeAlias

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Finding, Query
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.store.snapshot import Index

# Grades of right answers, above 0, by the id or the name of a capability.
Grades: TypeAlias = Mapping[str, float]
_QUERY_HINT = 'write {"qid": ..., "text": ...} or an id, a tab and the text on each line'
_GRADE_HINT = (
    'write qid, id and grade with tabs between, "qid 0 id grade",'
    ' or {"qid": ..., "id": ..., "grade": ...}'
)


@frozen
class EvalQuery:
    """A judged query; `lang` is "" where its file does not give one."""

    qid: str
    text: str
    lang: str = ""


@frozen
class GoldStandard:
    """Grades by query id and capability id, and the judged names that the index lacks or has
    several times.

    A name that the index lacks stays among the right answers: it counts as not found.
    """

    grades: Mapping[str, Grades]
    unknown: tuple[str, ...]
    ambiguous: tuple[str, ...]


def resolve_judgements(index: Index, grades_by_query: Mapping[str, Grades]) -> GoldStandard:
    """The judgements with each name resolved: an id, else the name of a single capability."""
    names = list(dict.fromkeys(name for grades in grades_by_query.values() for name in grades))
    headers = index.documents.headers_for(names, Query(texts=()))
    ids_of_name = {name: _find_ids(index, name) for name in names if name not in headers}
    id_of_name = {name: ids[0] for name, ids in ids_of_name.items() if len(ids) == 1}
    return GoldStandard(
        grades={
            qid: _grades_by_id(grades, id_of_name)
            for qid, grades in grades_by_query.items()
            if grades
        },
        unknown=tuple(name for name, ids in ids_of_name.items() if not ids),
        ambiguous=tuple(name for name, ids in ids_of_name.items() if len(ids) > 1),
    )


def _find_ids(index: Index, name: str) -> Sequence[str]:
    """The ids of the capabilities of that name, those that are qualified by a folder left out
    where another one remains.
    """
    ids = [str(header["id"]) for header in index.documents.by_alias(name)]
    return [identifier for identifier in ids if "@" not in identifier] or ids


def _grades_by_id(grades: Grades, id_of_name: Mapping[str, str]) -> dict[str, float]:
    """The grades by id; where two names mean one capability, the better grade."""
    grade_of_id: dict[str, float] = {}
    for name, grade in grades.items():
        identifier = id_of_name.get(name, name)
        grade_of_id[identifier] = max(grade, grade_of_id.get(identifier, 0.0))
    return grade_of_id


def parse_queries(data: bytes, name: str) -> tuple[EvalQuery, ...]:
    """The queries of a file of JSON lines or of tab-separated lines, in its order.

    `name` is what errors call the file. Raises InputError for a line without an id or a text, for
    an id that stands twice, and for a file without a query.
    """
    query_of_id: dict[str, EvalQuery] = {}
    for number, line in _numbered_lines(data, name):
        query = _parse_json_query(line) if line.startswith("{") else _parse_plain_query(line)
        if query is None:
            _raise_at_line(name, number, "the line holds no query", _QUERY_HINT)
        if query.qid in query_of_id:
            message = f"the query id {query.qid[:64]} stands twice"
            _raise_at_line(name, number, message, "give each query an id of its own")
        query_of_id[query.qid] = query
    if not query_of_id:
        raise InputError(f"{name} holds no queries", _QUERY_HINT)
    return tuple(query_of_id.values())


def parse_judgements(data: bytes, name: str) -> dict[str, dict[str, float]]:
    """The grades above 0 by query id and capability id, from a TREC file, tab-separated lines or
    JSON lines.

    A first line without a number for a grade is a heading. Of two grades for one pair the later
    counts. Raises InputError for a line that is none of these, and for a file without a judgement.
    """
    grades_of_query: dict[str, dict[str, float]] = {}
    for position, (number, line) in enumerate(_numbered_lines(data, name)):
        parts = _parse_json_grade(line) if line.startswith("{") else _parse_plain_grade(line)
        if parts is None and position == 0 and not line.startswith("{"):
            continue
        if parts is None:
            _raise_at_line(name, number, "the line holds no judgement", _GRADE_HINT)
        qid, identifier, grade = parts
        grades_of_query.setdefault(qid, {})[identifier] = grade
    if not grades_of_query:
        raise InputError(f"{name} holds no judgements", _GRADE_HINT)
    return {
        qid: {key: grade for key, grade in grades.items() if grade > 0}
        for qid, grades in grades_of_query.items()
    }


def _numbered_lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    text = decode(data, name)
    if isinstance(text, Finding):
        raise InputError(f"{name}:{text.line}: {text.message}", text.hint)
    # Not splitlines: a query may hold a line separator of Unicode.
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _parse_json_query(line: str) -> EvalQuery | None:
    row = _parse_object(line)
    qid = _find_text(row, "qid", "id", "_id")
    text = _find_text(row, "text", "query")
    return EvalQuery(qid, text, _find_text(row, "lang")) if qid and text else None


def _parse_plain_query(line: str) -> EvalQuery | None:
    qid, _, text = line.partition("\t")
    return EvalQuery(qid.strip(), text.strip()) if qid.strip() and text.strip() else None


def _parse_json_grade(line: str) -> tuple[str, str, float] | None:
    row = _parse_object(line)
    return _parse_grade(_find_text(row, "qid"), _find_text(row, "id"), _find_text(row, "grade"))


def _parse_plain_grade(line: str) -> tuple[str, str, float] | None:
    parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
    if len(parts) == 4:
        del parts[1]
    return _parse_grade(*parts) if len(parts) == 3 else None


def _parse_grade(qid: str, identifier: str, grade: str) -> tuple[str, str, float] | None:
    try:
        value = float(grade)
    except ValueError:
        return None
    return (qid, identifier, value) if qid and identifier and math.isfinite(value) else None


def _parse_object(line: str) -> JsonObject:
    """The object in a line; an empty one for anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _find_text(row: JsonObject, *keys: str) -> str:
    """The first text or number under one of these keys, as text; "" where there is none."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value).strip()
    return ""


def _raise_at_line(name: str, number: int, message: str, hint: str) -> NoReturn:
    raise InputError(f"{name}:{number}: {message}", hint)
