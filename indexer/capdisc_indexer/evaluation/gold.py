"""Judgements as people write them, brought to the ids of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.frozen import frozen
from capdisc_indexer.index import Index
from capdisc_indexer.types import Query


@frozen
class Gold:
    """Grades by query and by the index's ids, and the judged names that are no capability of it, each once.

    A name that the index lacks stays among the right answers: what is not there was not found.
    """

    grades: Mapping[str, Mapping[str, float]]
    unknown: tuple[str, ...]
    ambiguous: tuple[str, ...]


def resolved(index: Index, judged: Mapping[str, Mapping[str, float]]) -> Gold:
    """The judgements with each name looked up once: as an id as written, else as the name of a single capability."""
    names = list(dict.fromkeys(name for grades in judged.values() for name in grades))
    exact = index.documents.passing(names, Query(texts=()))
    others = {name: _named(index, name) for name in names if name not in exact}
    ids = {name: found[0] if len(found) == 1 else name for name, found in others.items()}
    return Gold(
        grades={qid: _renamed(grades, ids) for qid, grades in judged.items() if grades},
        unknown=tuple(name for name, found in others.items() if not found),
        ambiguous=tuple(name for name, found in others.items() if len(found) > 1),
    )


def _named(index: Index, name: str) -> Sequence[str]:
    """The ids of the capabilities of that name; of those that differ by their folder only, the first one's."""
    ids = [str(head["id"]) for head in index.documents.by_alias(name)]
    return [identifier for identifier in ids if "@" not in identifier] or ids


def _renamed(grades: Mapping[str, float], ids: Mapping[str, str]) -> dict[str, float]:
    """The grades by id; where two names mean one capability, the better grade."""
    found: dict[str, float] = {}
    for name, grade in grades.items():
        identifier = ids.get(name, name)
        found[identifier] = max(grade, found.get(identifier, 0.0))
    return found
