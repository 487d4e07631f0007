"""Capabilities made of tables: what each holds in plain words, so that a request finds it, and its
schema as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import (
    Descriptor,
    Edge,
    Finding,
    LoadedFile,
    Parameter,
    Severity,
    SourceRef,
)
from capdisc_indexer.sources.formats.derived_capability import (
    MAX_ID,
    ParsedCapability,
    file_finding,
    made_part,
)
from capdisc_indexer.sources.formats.tables.table_types import (
    Column,
    ReaderNote,
    Samples,
    Table,
    Tables,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, source_ref
from capdisc_indexer.text.normalization import one_line, space_identifiers

# What a table holds and what it is joined with, in plain words, so that a request finds it.

SHOWN_COLUMNS = 40
SHOWN_TABLES = 60
_SHOWN_BEYOND = 4  # tables that a join leads on to
MAX_COMMENT = 1_000

Joins = Mapping[str, Sequence[str]]


def describe_table(table: Table, targets: Joins, users: Joins) -> str:
    """A table's own comment, its columns as words, and the tables that keys lead to and come from,
    with those beyond.

    A question about customers and tracks means the table between the two, which has neither word
    to itself.
    """
    comment = one_line(table.comment, MAX_COMMENT)
    parts = [comment + ("" if comment.endswith((".", "!", "?")) else ".")] if comment else []
    words = [space_identifiers(column.name.replace("_", " ")).lower() for column in table.columns]
    if words:
        parts.append(
            f"{'View of' if table.is_view else 'Columns:'} {list_names(words, SHOWN_COLUMNS)}."
        )
    for verb, neighbours in (("Refers to", targets), ("Referred to by", users)):
        if names := neighbours.get(table.name.lower(), ()):
            parts.append(
                f"{verb} {list_names([_beyond(name, table.name, targets) for name in names], SHOWN_COLUMNS)}."
            )
    return " ".join(parts)


def list_names(names: Sequence[str], limit: int) -> str:
    """The first names, and how many more there are."""
    remainder = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(one_line(name, 160) for name in names[:limit]) + remainder


def targets_of(tables: Iterable[Table]) -> dict[str, list[str]]:
    """For each table, in lower case, the others that its foreign keys lead to, each once."""
    return {table.name.lower(): _targets(table) for table in tables}


def users_of(tables: Iterable[Table]) -> dict[str, list[str]]:
    """For each table, in lower case, the others whose foreign keys lead to it."""
    users: dict[str, list[str]] = {}
    for table in tables:
        for target in _targets(table):
            users.setdefault(target.lower(), []).append(table.name)
    return users


def _targets(table: Table) -> list[str]:
    named = (column.refers_to.rpartition(".")[0] for column in table.columns if column.refers_to)
    return [name for name in dict.fromkeys(named) if name.lower() != table.name.lower()]


def _beyond(name: str, start: str, targets: Joins) -> str:
    further = [
        target for target in targets.get(name.lower(), ()) if target.lower() != start.lower()
    ]
    return f"{name} (with {', '.join(further)})" if 0 < len(further) <= _SHOWN_BEYOND else name


# A join partner helps half as much as one that an author names.
JOIN_WEIGHT = 0.5
DATABASE_TITLES: Mapping[str, str] = {
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "mysql": "MySQL",
    "sql": "SQL",
}
_NAME = re.compile(r"[^\W_][^<>`\"'\\|;\n]*|_\w+")


def build_table_capabilities(
    file: FoundFile, database: str, read: Tables, digest: str = "", alone: bool = False
) -> LoadedFile:
    """The database and each of its tables as capabilities; a table whose name cannot be one is a
    finding instead.

    A file that is one table, `alone`, has no database to it but the folder that it names.
    """
    home = _TableContext(name=database, kind=read.kind, source=source_ref(file, digest))
    tables = [table for table in read.tables if _is_usable(table.name, database)]
    unusable = [
        _unusable(table.name) for table in read.tables if not _is_usable(table.name, database)
    ]
    parts = (
        [made_part(_database(home, tables), {"tables": [t.name for t in tables]})]
        if tables and not alone
        else []
    )
    targets, users = targets_of(tables), users_of(tables)
    parts += [
        _table(table, home, describe_table(table, targets, users), targets) for table in tables
    ]
    descriptors = tuple(part.descriptor for part in parts if part.descriptor)
    findings = tuple(_finding(file, note) for note in (*read.notes, *unusable))
    return LoadedFile(descriptors=descriptors, findings=findings, parts=tuple(parts))


@frozen(kw_only=True)
class _TableContext:
    """What all tables of a file have in common."""

    name: str
    kind: str
    source: SourceRef


def _is_usable(name: str, database: str) -> bool:
    fits = (
        len(f"table:{database}.{name}") <= MAX_ID and name == one_line(name) and name.isprintable()
    )
    return fits and bool(_NAME.fullmatch(name))


def _unusable(name: str) -> ReaderNote:
    message = f"the table {one_line(name, 64)!r} has a name that no one could type; it is left out"
    return ReaderNote(
        severity="warning",
        code="table-skipped",
        message=message,
        hint="rename it to letters, digits and _",
    )


def _finding(file: FoundFile, note: ReaderNote) -> Finding:
    return file_finding(
        file, Severity(note.severity), note.code, note.message, note.hint, note.line
    )


def _database(home: _TableContext, tables: Sequence[Table]) -> Descriptor:
    names = [table.name for table in tables]
    count = f"{len(names)} table{'s' if len(names) != 1 else ''}"
    return Descriptor(
        id=f"database:{home.name}",
        kind="database",
        name=home.name,
        title=home.name,
        description=f"{DATABASE_TITLES.get(home.kind, home.kind)} database with {count}: {list_names(names, SHOWN_TABLES)}.",
        category=home.name,
        source=home.source,
        extra={"dbType": home.kind, "tables": names},
    )


def _table(table: Table, home: _TableContext, description: str, targets: Joins) -> ParsedCapability:
    identifier = f"table:{home.name}.{table.name}"
    descriptor = Descriptor(
        id=identifier,
        kind="table",
        name=table.name,
        title=table.name,
        description=description,
        category=home.name,
        source=replace(home.source, pointer=table.name),
        parameters=tuple(map(_parameter, table.columns)),
        edges=_edges(identifier, home, targets.get(table.name.lower(), ())),
        extra=_extra(table, home),
    )
    return made_part(descriptor, {"columns": [_texts(column) for column in table.columns]})


def _edges(identifier: str, home: _TableContext, targets: Sequence[str]) -> tuple[Edge, ...]:
    joined = [f"table:{home.name}.{target}" for target in targets]
    return tuple(
        Edge(kind="REFERS_TO", source=identifier, target=target, weight=JOIN_WEIGHT)
        for target in joined
    )


def _parameter(column: Column) -> Parameter:
    parts = [
        "primary key" if column.key else "",
        f"refers to {column.refers_to}" if column.refers_to else "",
    ]
    description = "; ".join(part for part in (one_line(column.comment, 300), *parts) if part)
    needed = not column.nullable and column.default is None
    return Parameter(
        name=column.name, type=column.type or "any", required=needed, description=description
    )


def _texts(column: Column) -> Json:
    return [column.name, column.type, column.comment, column.default or ""]


def _extra(table: Table, home: _TableContext) -> dict[str, Json]:
    extra: dict[str, Json] = {
        "database": home.name,
        "dbType": home.kind,
        "type": "view" if table.is_view else "table",
        "columns": [_column(column) for column in table.columns],
        "row_count": table.row_count,
    }
    return extra | _sample_fields(table.samples) if table.samples else extra


def _column(column: Column) -> dict[str, Json]:
    column_fields: dict[str, Json] = {
        "name": column.name,
        "type": column.type,
        "nullable": column.nullable,
        "primary_key": column.key > 0,
        "key": column.key,
        "default": column.default,
        "foreign_key": column.refers_to or None,
    }
    return column_fields | ({"description": column.comment} if column.comment else {})


def _sample_fields(samples: Samples) -> dict[str, Json]:
    columns: dict[str, Json] = {
        name: {
            "values": list(values.values),
            "distinct": values.distinct,
            "complete": values.complete,
        }
        for name, values in samples.columns.items()
    }
    return {
        "samples": columns,
        "rows": [list(row) for row in samples.rows],
        "complete": samples.complete,
    }
