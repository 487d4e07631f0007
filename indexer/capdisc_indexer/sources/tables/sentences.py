"""What a table holds and what it is joined with, in plain words, so that a request finds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from capdisc_indexer.sources.tables.values import Table
from capdisc_indexer.text import one_line, spaced_identifiers

SHOWN_COLUMNS = 40
SHOWN_TABLES = 60
_SHOWN_BEYOND = 4  # tables that a join leads on to
MAX_COMMENT = 1_000

Joins = Mapping[str, Sequence[str]]


def sentences(table: Table, targets: Joins, users: Joins) -> str:
    """A table's own comment, its columns as words, and the tables that keys lead to and come from, with those beyond.

    A question about customers and tracks means the table between the two, which has neither word to itself.
    """
    said = one_line(table.comment, MAX_COMMENT)
    parts = [said + ("" if said.endswith((".", "!", "?")) else ".")] if said else []
    words = [spaced_identifiers(column.name.replace("_", " ")).lower() for column in table.columns]
    if words:
        parts.append(f"{'View of' if table.is_view else 'Columns:'} {listed(words, SHOWN_COLUMNS)}.")
    for verb, neighbours in (("Refers to", targets), ("Referred to by", users)):
        if names := neighbours.get(table.name.lower(), ()):
            parts.append(f"{verb} {listed([_beyond(name, table.name, targets) for name in names], SHOWN_COLUMNS)}.")
    return " ".join(parts)


def listed(names: Sequence[str], limit: int) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(one_line(name, 160) for name in names[:limit]) + more


def targets_of(tables: Iterable[Table]) -> dict[str, list[str]]:
    """For each table, in lower case, the others that its foreign keys lead to, each once."""
    return {table.name.lower(): _targets(table) for table in tables}


def users_of(tables: Iterable[Table]) -> dict[str, list[str]]:
    """For each table, in lower case, the others whose foreign keys lead to it."""
    found: dict[str, list[str]] = {}
    for table in tables:
        for target in _targets(table):
            found.setdefault(target.lower(), []).append(table.name)
    return found


def _targets(table: Table) -> list[str]:
    named = (column.refers_to.rpartition(".")[0] for column in table.columns if column.refers_to)
    return [name for name in dict.fromkeys(named) if name.lower() != table.name.lower()]


def _beyond(name: str, start: str, targets: Joins) -> str:
    further = [each for each in targets.get(name.lower(), ()) if each.lower() != start.lower()]
    return f"{name} (with {', '.join(further)})" if 0 < len(further) <= _SHOWN_BEYOND else name
