"""Databases and tables: which there are, what each is about, how they refer to each other, and the
rows and values of them that a build sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NotRequired, TypedDict

from capdisc_data.data_lookup import (
    Cell,
    ColumnRow,
    StoredTable,
    column_values,
    databases_by_name,
    filter_rows,
    find_database,
    find_requested_table,
    iter_tables,
    sample_columns,
    sampled_row,
    search_parts,
    table_from_descriptor,
)
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_lookup import (
    capability_metadata,
    find_by_name,
    is_file_of_rows,
    local_name,
    search_capabilities,
    short_description,
    text_value,
)
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext, ToolHandler

SAMPLES_PER_COLUMN = 3
# Of a column whose rows were not sampled, up to this many single values are searched.
_MAX_SEARCHED_SAMPLES = 1_000


class DatabaseRow(TypedDict):
    """A database in a list; `type` is the engine or file format, "" where nobody says it."""

    name: str
    type: str
    description: str


def list_databases(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """All databases, and the files that are one table."""
    return {
        "databases": [
            row
            for name, descriptor in databases_by_name(ctx).items()
            for row in _database_rows(ctx, name, descriptor)
        ]
    }


def _database_rows(
    ctx: ToolContext, name: str, descriptor: Descriptor | None
) -> Iterator[DatabaseRow]:
    """The row of a database; where only tables name it, one of it and one of each of its files of
    rows, which have a type and a description of their own.
    """
    if descriptor is not None:
        yield _database_row(name, descriptor)
        return
    tables = [table.descriptor for table in iter_tables(ctx, name)]
    files = [table for table in tables if is_file_of_rows(table)]
    others = [table for table in tables if not is_file_of_rows(table)]
    if others:
        yield {"name": name, "type": _database_type(others[0]), "description": ""}
    for table in files:
        is_unique = len(find_by_name(ctx, table.name, ("table", "database"))) == 1
        yield _database_row(table.name if is_unique else local_name(table.id), table)


def _database_row(name: str, descriptor: Descriptor) -> DatabaseRow:
    return {
        "name": name,
        "type": _database_type(descriptor),
        "description": short_description(descriptor),
    }


def _database_type(descriptor: Descriptor) -> str:
    """The engine or file format of a database, or of the one that a table is in."""
    return text_value(capability_metadata(descriptor), "dbType")


class TableRow(TypedDict):
    """A table in a list; `database` where the list holds those of several."""

    database: NotRequired[str]
    name: str
    row_count: int | None
    description: str


def _table_row(table: StoredTable) -> TableRow:
    return {
        "name": table.name,
        "row_count": table.row_count,
        "description": short_description(table.descriptor),
    }


def list_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The tables of a database, or of all."""
    if not arguments.get("database"):
        rows = [{"database": table.database, **_table_row(table)} for table in iter_tables(ctx)]
        return {"tables": rows}
    database = find_database(ctx, arguments["database"])
    return {"database": database, "tables": list(map(_table_row, iter_tables(ctx, database)))}


def search_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The tables that a question is about."""
    return search_parts(ctx, arguments, "table", "database", find_database)


class TableSchema(TypedDict):
    """The columns of a table, with the first values of each that was sampled."""

    database: str
    table: str
    columns: list[ColumnRow]
    row_count: int | None
    sample_values: dict[str, list[Cell]]


def get_table_schema(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The columns of a table."""
    return {**_table_schema(find_requested_table(ctx, arguments))}


def _table_schema(table: StoredTable) -> TableSchema:
    return {
        "database": table.database,
        "table": table.name,
        "columns": list(table.columns),
        "row_count": table.row_count,
        "sample_values": sample_columns(table, SAMPLES_PER_COLUMN),
    }


class ForeignKey(TypedDict):
    """A column that refers to one of another table."""

    database: str
    from_table: str
    from_column: str
    to_table: str
    to_column: str


def get_table_relationships(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The foreign keys from and to a table, or all of a database, or all."""
    if arguments.get("table"):
        table = find_requested_table(ctx, arguments)
        database, name = table.database, table.name.lower()
    else:
        database, name = arguments.get("database", ""), ""
        database = find_database(ctx, database) if database else ""
    keys = [key for table in iter_tables(ctx, database) for key in _foreign_keys(table)]
    return {
        "relationships": [
            key
            for key in keys
            if not name or name in (key["from_table"].lower(), key["to_table"].lower())
        ]
    }


def _foreign_keys(table: StoredTable) -> list[ForeignKey]:
    keys: list[ForeignKey] = []
    for column in table.columns:
        to_table, _, to_column = text_value(column, "foreign_key").rpartition(".")
        if to_table:
            keys.append(
                {
                    "database": table.database,
                    "from_table": table.name,
                    "from_column": text_value(column, "name"),
                    "to_table": to_table,
                    "to_column": to_column,
                }
            )
    return keys


def get_sample_values(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Values of a column."""
    table = find_requested_table(ctx, arguments)
    return {
        "database": table.database,
        "table": table.name,
        **column_values(table, arguments["column"], arguments["limit"]),
    }


class TableEntry(TypedDict):
    """A table in the catalogue of tables; `columns` is how many it has."""

    id: str
    table: str
    database: str
    category: str
    description: str
    columns: int
    row_count: int | None


def _table_entry(table: StoredTable) -> TableEntry:
    return {
        "id": table.descriptor.id,
        "table": table.name,
        "database": table.database,
        "category": table.descriptor.category or UNCATEGORISED,
        "description": short_description(table.descriptor),
        "columns": len(table.columns),
        "row_count": table.row_count,
    }


def _catalogue_answer(tables: Iterable[StoredTable]) -> ToolAnswer:
    entries = [_table_entry(table) for table in tables]
    return {"tables": entries, "total": len(entries)}


def get_table_catalog(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """All tables with what each is about."""
    return _catalogue_answer(iter_tables(ctx))


def get_table_info(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """What a table is about, without its rows."""
    table = find_requested_table(ctx, arguments)
    return {
        **_table_entry(table),
        "type": _database_type(table.descriptor),
        "tags": list(table.descriptor.tags),
        "column_names": table.column_names,
    }


def get_tables_by_keyword(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The tables with the keyword in their name, description or columns, those with it in the name
    first; where there are none, those that a search for it finds.
    """
    keyword, limit = arguments["keyword"].lower(), arguments["limit"]
    tables = [table for table in iter_tables(ctx) if keyword in _words_of(table)]
    tables.sort(key=lambda table: keyword not in table.name.lower())
    if tables:
        return _catalogue_answer(tables[:limit])
    return _find_tables(ctx, arguments["keyword"], limit)


def _words_of(table: StoredTable) -> str:
    parts = (table.name, table.descriptor.title, table.descriptor.description)
    return " ".join([*parts, *table.descriptor.tags, *table.column_names]).lower()


def tables_about(topic: str) -> ToolHandler:
    """The tool for tables with this topic in their category or among their tags; without one, the
    category that its arguments name. Where there are none, those that a search for it finds.
    """

    def answer(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
        wanted, limit = topic or arguments["category"], arguments["limit"]
        lower = wanted.lower()
        tables = [
            table
            for table in iter_tables(ctx)
            if lower in table.descriptor.category.lower()
            or lower in [tag.lower() for tag in table.descriptor.tags]
        ]
        return _catalogue_answer(tables[:limit]) if tables else _find_tables(ctx, wanted, limit)

    return answer


def _find_tables(ctx: ToolContext, text: str, limit: int) -> ToolAnswer:
    search_result = search_capabilities(ctx, text, limit, ("table",))
    return _catalogue_answer(
        table_from_descriptor(ctx.index.full_descriptor(header))
        for _, header in search_result.pairs
    )


class DatabaseTotals(TypedDict):
    """How many tables and rows a database has."""

    database: str
    tables: int
    rows: int


def get_table_overview(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """One table with its columns and keys; without one, the totals of each database."""
    if arguments.get("table"):
        table = find_requested_table(ctx, arguments)
        return {
            **_table_entry(table),
            "columns": list(table.columns),
            "refers_to": _foreign_keys(table),
        }
    totals_by_database: dict[str, DatabaseTotals] = {}
    for table in iter_tables(ctx):
        totals = totals_by_database.setdefault(
            table.database, {"database": table.database, "tables": 0, "rows": 0}
        )
        totals["tables"] += 1
        totals["rows"] += table.row_count or 0
    return {"databases": [totals_by_database[name] for name in sorted(totals_by_database)]}


# Rows of tables and the values in them, as far as a build sampled them.


def get_table_by_id(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """A table with its first sampled rows."""
    table = find_requested_table(ctx, arguments)
    rows = [sampled_row(table, row) for row in table.rows[: arguments["limit"]]]
    return {
        "id": table.descriptor.id,
        **_table_schema(table),
        "rows": rows,
        "is_complete": table.is_complete and len(rows) == len(table.rows),
    }


def _select_row(
    table: StoredTable, rows: Sequence[dict[str, Cell]], wanted: int | str
) -> list[dict[str, Cell]]:
    """The row of this number, counted from 1, or the rows whose key (the primary key, else the
    first column) is this text. Raises UsageError for a number that no row has.
    """
    if isinstance(wanted, str):
        keys = [column["name"] for column in table.columns if column.get("primary_key")]
        key = (keys or table.column_names)[0]
        return [row for row in rows if str(row.get(key)).lower() == wanted.lower()]
    if not 1 <= wanted <= len(rows):
        raise UsageError(
            f"row {wanted} of {one_line(table.name, 80)} is not stored",
            f"rows are counted from 1; stored: {len(rows)}",
        )
    return [rows[wanted - 1]]


def get_table_rows(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The sampled rows that fit the criteria, or one by its number or key."""
    table = find_requested_table(ctx, arguments)
    rows = filter_rows(table, arguments["criteria"])
    if (wanted := arguments.get("row")) is not None:
        rows = _select_row(table, rows, wanted)
    return {
        "database": table.database,
        "table": table.name,
        "rows": rows[: arguments["limit"]],
        "matched": len(rows),
        "row_count": table.row_count,
        "is_complete": table.is_complete and len(rows) <= arguments["limit"],
    }


class MatchingCell(TypedDict):
    """A sampled cell that holds a text; `row` where whole rows were sampled."""

    database: str
    table: str
    column: str
    value: Cell
    row: NotRequired[dict[str, Cell]]


def search_table_values(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The sampled cells that hold the words."""
    if arguments.get("table"):
        tables = [find_requested_table(ctx, arguments)]
    else:
        candidates = iter_tables(ctx, arguments.get("database", ""))
        tables = [table for table in candidates if table.rows or table.samples]
    text = arguments["term"].lower()
    matches = [match for table in tables for match in _matching_cells(table, text)]
    return {
        "matches": matches[: arguments["limit"]],
        "matched": len(matches),
        "tables_searched": len(tables),
        "is_complete": all(table.is_complete for table in tables)
        and len(matches) <= arguments["limit"],
    }


def _matching_cells(table: StoredTable, text: str) -> list[MatchingCell]:
    """The cells of the sampled rows that hold the text; where no rows were sampled, of the sampled
    values.
    """
    rows = [sampled_row(table, row) for row in table.rows]
    if rows:
        return [
            {
                "database": table.database,
                "table": table.name,
                "column": column,
                "value": cell,
                "row": row,
            }
            for row in rows
            for column, cell in row.items()
            if _holds_text(cell, text)
        ]
    return [
        {"database": table.database, "table": table.name, "column": column, "value": cell}
        for column, cells in sample_columns(table, _MAX_SEARCHED_SAMPLES).items()
        for cell in cells
        if _holds_text(cell, text)
    ]


def _holds_text(cell: Cell, text: str) -> bool:
    return cell is not None and text in str(cell).lower()
