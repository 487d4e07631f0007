"""Capabilities made of tables: descriptions in plain words, so that a request finds them, and
schemas as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from capdisc_data.tables import (
    Column,
    ReaderNote,
    Table,
    Tables,
)
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
from capdisc_indexer.sources.formats.naming_rules import MAX_ID
from capdisc_indexer.sources.formats.parsed_capability import (
    ParsedCapability,
    file_finding,
    made_part,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, source_ref
from capdisc_indexer.text.normalization import one_line, space_identifiers

SHOWN_COLUMNS = 40
SHOWN_TABLES = 60
_SHOWN_BEYOND = 4  # tables behind a joined table
MAX_COMMENT = 1_000
# Of an edge to a joined table; an edge that an author declares has 1.
JOIN_WEIGHT = 0.5
DATABASE_TITLES: Mapping[str, str] = {
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "mysql": "MySQL",
    "sql": "SQL",
}
_NAME = re.compile(r"[^\W_][^<>`\"'\\|;\n]*|_\w+")

# Tables by the name of one, in lower case.
Joins = Mapping[str, Sequence[str]]


def build_table_capabilities(
    file: FoundFile, database: str, read: Tables, digest: str = "", alone: bool = False
) -> LoadedFile:
    """The database and each of its tables as capabilities; a table whose name cannot be part of an
    id is a finding instead.

    With `alone`, the file is one table, and `database` only names its folder.
    """
    context = _TableContext(name=database, kind=read.kind, source=source_ref(file, digest))
    tables: list[Table] = []
    unusable: list[ReaderNote] = []
    for table in read.tables:
        if _is_usable(table.name, database):
            tables.append(table)
        else:
            unusable.append(_unusable_name(table.name))
    parts: list[ParsedCapability] = []
    if tables and not alone:
        names: list[Json] = [table.name for table in tables]
        parts.append(made_part(_database(context, tables), {"tables": names}))
    targets, users = targets_of(tables), users_of(tables)
    parts += [
        _table(table, context, describe_table(table, targets, users), targets) for table in tables
    ]
    findings = tuple(_finding(file, note) for note in (*read.notes, *unusable))
    return LoadedFile(parts=tuple(parts), findings=findings)


@frozen(kw_only=True)
class _TableContext:
    """The database that all tables of a file belong to."""

    name: str
    kind: str
    source: SourceRef


def _is_usable(name: str, database: str) -> bool:
    if len(f"table:{database}.{name}") > MAX_ID or not name.isprintable():
        return False
    return name == one_line(name) and bool(_NAME.fullmatch(name))


def _unusable_name(name: str) -> ReaderNote:
    message = f"the table {one_line(name, 64)!r} has a name that cannot be typed; it is left out"
    return ReaderNote("table-skipped", message, "rename it to letters, digits and _")


def _finding(file: FoundFile, note: ReaderNote) -> Finding:
    return file_finding(
        file, Severity(note.severity), note.code, note.message, note.hint, note.line
    )


def _database(context: _TableContext, tables: Sequence[Table]) -> Descriptor:
    names = [table.name for table in tables]
    count = f"{len(names)} table{'s' if len(names) != 1 else ''}"
    title = DATABASE_TITLES.get(context.kind, context.kind)
    return Descriptor(
        id=f"database:{context.name}",
        kind="database",
        name=context.name,
        title=context.name,
        description=f"{title} database with {count}: {list_names(names, SHOWN_TABLES)}.",
        category=context.name,
        source=context.source,
        extra={"dbType": context.kind, "tables": names},
    )


def _table(
    table: Table, context: _TableContext, description: str, targets: Joins
) -> ParsedCapability:
    identifier = f"table:{context.name}.{table.name}"
    descriptor = Descriptor(
        id=identifier,
        kind="table",
        name=table.name,
        title=table.name,
        description=description,
        category=context.name,
        source=replace(context.source, pointer=table.name),
        parameters=tuple(map(_parameter, table.columns)),
        edges=_edges(identifier, context, targets.get(table.name.lower(), ())),
        extra=_extra(table, context),
    )
    return made_part(descriptor, {"columns": [_texts(column) for column in table.columns]})


def _edges(identifier: str, context: _TableContext, targets: Sequence[str]) -> tuple[Edge, ...]:
    joined = [f"table:{context.name}.{target}" for target in targets]
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
    is_required = not column.nullable and column.default is None
    return Parameter(
        name=column.name, type=column.type or "any", required=is_required, description=description
    )


def _texts(column: Column) -> Json:
    return [column.name, column.type, column.comment, column.default or ""]


def _extra(table: Table, context: _TableContext) -> dict[str, Json]:
    extra: dict[str, Json] = {
        "database": context.name,
        "dbType": context.kind,
        "type": "view" if table.is_view else "table",
        "columns": [_column(column) for column in table.columns],
        "row_count": table.row_count,
    }
    return {**extra, **table.samples}


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


def describe_table(table: Table, targets: Joins, users: Joins) -> str:
    """A table's comment, its columns as words, and the tables that keys lead to and come from,
    with those beyond.

    A question about customers and tracks means the table between the two, whose own columns have
    neither word.
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
            joined = [_with_tables_beyond(name, table.name, targets) for name in names]
            parts.append(f"{verb} {list_names(joined, SHOWN_COLUMNS)}.")
    return " ".join(parts)


def list_names(names: Sequence[str], limit: int) -> str:
    """The first names, and the number of the rest."""
    remainder = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(one_line(name, 160) for name in names[:limit]) + remainder


def targets_of(tables: Iterable[Table]) -> dict[str, list[str]]:
    """For each table, in lower case, the other tables that its foreign keys lead to."""
    return {table.name.lower(): _targets(table) for table in tables}


def users_of(tables: Iterable[Table]) -> dict[str, list[str]]:
    """For each table, in lower case, the other tables whose foreign keys lead to it."""
    users: dict[str, list[str]] = {}
    for table in tables:
        for target in _targets(table):
            users.setdefault(target.lower(), []).append(table.name)
    return users


def _targets(table: Table) -> list[str]:
    targets = (column.refers_to.rpartition(".")[0] for column in table.columns if column.refers_to)
    return [name for name in dict.fromkeys(targets) if name.lower() != table.name.lower()]


def _with_tables_beyond(name: str, start: str, targets: Joins) -> str:
    """The name with the tables that its own keys lead to, if they are few."""
    beyond = [
        target for target in targets.get(name.lower(), ()) if target.lower() != start.lower()
    ]
    return f"{name} (with {', '.join(beyond)})" if 0 < len(beyond) <= _SHOWN_BEYOND else name
