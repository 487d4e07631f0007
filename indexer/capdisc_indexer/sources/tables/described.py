"""Capabilities made of tables: what each holds in plain words, so that a request finds it, and its schema as data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources.files import FoundFile, source_ref
from capdisc_indexer.sources.made import MAX_ID, made_part, noted
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.parts import Part
from capdisc_indexer.sources.tables.sentences import SHOWN_TABLES, Joins, listed, sentences, targets_of, users_of
from capdisc_indexer.sources.tables.values import Column, Note, Samples, Table, Tables
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor, Edge, Finding, Loaded, Parameter, Severity, SourceRef

# A join partner helps half as much as one that an author names.
JOIN_WEIGHT = 0.5
TITLES: Mapping[str, str] = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MySQL", "sql": "SQL"}
_NAME = re.compile(r"[^\W_][^<>`\"'\\|;\n]*|_\w+")


def described(file: FoundFile, database: str, read: Tables, digest: str = "", alone: bool = False) -> Loaded:
    """The database and each of its tables as capabilities; a table whose name cannot be one is a finding instead.

    A file that is one table, `alone`, has no database to it but the folder that it names.
    """
    home = _Home(name=database, kind=read.kind, source=source_ref(file, digest))
    tables = [table for table in read.tables if _is_usable(table.name, database)]
    lost = [_unusable(table.name) for table in read.tables if not _is_usable(table.name, database)]
    parts = [made_part(_database(home, tables), {"tables": [t.name for t in tables]})] if tables and not alone else []
    targets, users = targets_of(tables), users_of(tables)
    parts += [_table(table, home, sentences(table, targets, users), targets) for table in tables]
    descriptors = tuple(part.descriptor for part in parts if part.descriptor)
    findings = tuple(_finding(file, note) for note in (*read.notes, *lost))
    return Loaded(descriptors=descriptors, findings=findings, parts=tuple(parts))


@frozen(kw_only=True)
class _Home:
    """What all tables of a file have in common."""

    name: str
    kind: str
    source: SourceRef


def _is_usable(name: str, database: str) -> bool:
    fits = len(f"table:{database}.{name}") <= MAX_ID and name == one_line(name) and name.isprintable()
    return fits and bool(_NAME.fullmatch(name))


def _unusable(name: str) -> Note:
    message = f"the table {one_line(name, 64)!r} has a name that no one could type; it is left out"
    return Note(severity="warning", code="table-skipped", message=message, hint="rename it to letters, digits and _")


def _finding(file: FoundFile, note: Note) -> Finding:
    return noted(file, Severity(note.severity), note.code, note.message, note.hint, note.line)


def _database(home: _Home, tables: Sequence[Table]) -> Descriptor:
    names = [table.name for table in tables]
    count = f"{len(names)} table{'s' if len(names) != 1 else ''}"
    return Descriptor(
        id=f"database:{home.name}",
        kind="database",
        name=home.name,
        title=home.name,
        description=f"{TITLES.get(home.kind, home.kind)} database with {count}: {listed(names, SHOWN_TABLES)}.",
        category=home.name,
        source=home.source,
        extra={"dbType": home.kind, "tables": names},
    )


def _table(table: Table, home: _Home, description: str, targets: Joins) -> Part:
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


def _edges(identifier: str, home: _Home, targets: Sequence[str]) -> tuple[Edge, ...]:
    joined = [f"table:{home.name}.{target}" for target in targets]
    return tuple(Edge(kind="REFERS_TO", source=identifier, target=target, weight=JOIN_WEIGHT) for target in joined)


def _parameter(column: Column) -> Parameter:
    parts = ["primary key" if column.key else "", f"refers to {column.refers_to}" if column.refers_to else ""]
    said = "; ".join(part for part in (one_line(column.comment, 300), *parts) if part)
    needed = not column.nullable and column.default is None
    return Parameter(name=column.name, type=column.type or "any", required=needed, description=said)


def _texts(column: Column) -> Json:
    return [column.name, column.type, column.comment, column.default or ""]


def _extra(table: Table, home: _Home) -> dict[str, Json]:
    extra: dict[str, Json] = {
        "database": home.name,
        "dbType": home.kind,
        "type": "view" if table.is_view else "table",
        "columns": [_column(column) for column in table.columns],
        "row_count": table.row_count,
    }
    return extra | _sampled(table.samples) if table.samples else extra


def _column(column: Column) -> dict[str, Json]:
    found: dict[str, Json] = {
        "name": column.name,
        "type": column.type,
        "nullable": column.nullable,
        "primary_key": column.key > 0,
        "key": column.key,
        "default": column.default,
        "foreign_key": column.refers_to or None,
    }
    return found | ({"description": column.comment} if column.comment else {})


def _sampled(samples: Samples) -> dict[str, Json]:
    columns: dict[str, Json] = {
        name: {"values": list(each.values), "distinct": each.distinct, "complete": each.complete}
        for name, each in samples.columns.items()
    }
    return {"samples": columns, "rows": [list(row) for row in samples.rows], "complete": samples.complete}
