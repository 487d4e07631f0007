"""Which databases and tables there are, what columns hold, and how tables refer to each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from capdisc_data.table_store import (
    Cell,
    ColumnRow,
    StoredTable,
    column_values,
    find_database,
    find_table,
    iter_tables,
    list_databases,
    sample_columns,
    table_row,
)
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.tools.capability_lookup import (
    WIDE_LIMIT,
    capability_metadata,
    container_name,
    find_by_name,
    is_file_of_rows,
    is_part_of,
    local_name,
    search_capabilities,
    select_hits,
    short_description,
    text_value,
)
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)

DATA_KINDS = ("database", "table")
SAMPLES_PER_COLUMN = 3


class DatabaseRow(TypedDict):
    """A database in a list; `type` is the engine or file format, "" where nobody says it."""

    name: str
    type: str
    description: str


def _list_databases(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {
        "databases": [
            row
            for name, descriptor in list_databases(ctx).items()
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
        yield {"name": name, "type": database_type(others[0]), "description": ""}
    for table in files:
        is_unique = len(find_by_name(ctx, table.name, ("table", "database"))) == 1
        yield _database_row(table.name if is_unique else local_name(table.id), table)


def _database_row(name: str, descriptor: Descriptor) -> DatabaseRow:
    return {
        "name": name,
        "type": database_type(descriptor),
        "description": short_description(descriptor),
    }


def database_type(descriptor: Descriptor) -> str:
    """The engine or file format of a database, or of that which a table is in."""
    return text_value(capability_metadata(descriptor), "dbType")


def _list_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    if not arguments.get("database"):
        return {
            "tables": [
                {"database": table.database, **table_row(table)} for table in iter_tables(ctx)
            ]
        }
    database = find_database(ctx, arguments["database"])
    return {
        "database": database,
        "tables": [table_row(table) for table in iter_tables(ctx, database)],
    }


class TableSchema(TypedDict):
    """The columns of a table, with the first values of each that was sampled."""

    database: str
    table: str
    columns: list[ColumnRow]
    row_count: int | None
    sample_values: dict[str, list[Cell]]


def _get_table_schema(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {**table_schema(find_table(ctx, arguments["table"], arguments.get("database", "")))}


def table_schema(table: StoredTable) -> TableSchema:
    """The schema of a table."""
    return {
        "database": table.database,
        "table": table.name,
        "columns": list(table.columns),
        "row_count": table.row_count,
        "sample_values": sample_columns(table, SAMPLES_PER_COLUMN),
    }


def _search_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    requested_database = arguments.get("database", "")
    search_result = search_capabilities(
        ctx,
        arguments["query"],
        WIDE_LIMIT if requested_database else arguments["limit"],
        ("table",),
    )
    database = find_database(ctx, requested_database) if requested_database else ""
    hits = select_hits(
        search_result,
        arguments["limit"],
        lambda descriptor: not database or is_part_of(descriptor, database),
        ctx,
    )
    return {
        "tables": [
            {
                "id": descriptor.id,
                "database": container_name(descriptor),
                "table": descriptor.name,
                "relevance": round(hit.relevance, 2),
                "description": short_description(descriptor),
            }
            for hit, descriptor in hits
        ]
    }


class ForeignKey(TypedDict):
    """A column that refers to one of another table."""

    database: str
    from_table: str
    from_column: str
    to_table: str
    to_column: str


def _get_table_relationships(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The foreign keys from and to a table, or all of a database, or all."""
    requested_database, requested_table = arguments.get("database", ""), arguments.get("table", "")
    if requested_table:
        table = find_table(ctx, requested_table, requested_database)
        return {"relationships": _keys_from_and_to(ctx, table)}
    database = find_database(ctx, requested_database) if requested_database else ""
    return {
        "relationships": [
            foreign_key
            for table in iter_tables(ctx, database)
            for foreign_key in foreign_keys(table)
        ]
    }


def _keys_from_and_to(ctx: ToolContext, table: StoredTable) -> list[ForeignKey]:
    name = table.name.lower()
    return [
        foreign_key
        for source_table in iter_tables(ctx, table.database)
        for foreign_key in foreign_keys(source_table)
        if name in (foreign_key["from_table"].lower(), foreign_key["to_table"].lower())
    ]


def foreign_keys(table: StoredTable) -> list[ForeignKey]:
    """The foreign keys of a table."""
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


def _get_sample_values(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    table = find_table(ctx, arguments["table"], arguments.get("database", ""))
    return {
        "database": table.database,
        "table": table.name,
        **column_values(table, arguments["column"], arguments["limit"]),
    }


_DATABASE_NAME, _TABLE_NAME = name_schema("Its name."), name_schema("Its name or id.")

_make_tool = tool_factory("schema", DATA_KINDS)

TOOLS = (
    _make_tool(
        "list_databases",
        "List the databases, files of tables included, with type and description.",
        _list_databases,
        input_schema(),
    ),
    _make_tool(
        "list_tables",
        "List the tables of a database with row counts; of all databases without one.",
        _list_tables,
        input_schema(database=_DATABASE_NAME),
    ),
    _make_tool(
        "get_table_schema",
        "Columns of a table with types, keys and sample values.",
        _get_table_schema,
        input_schema("table", database=_DATABASE_NAME, table=_TABLE_NAME),
    ),
    _make_tool(
        "search_tables",
        "Find the tables that a question is about.",
        _search_tables,
        input_schema(
            "query",
            query=query_schema("What the data is about."),
            limit=limit_schema(5),
            database=_DATABASE_NAME,
        ),
        "find_relevant_tables",
    ),
    _make_tool(
        "get_table_relationships",
        "Foreign keys from and to a table, or all of a database.",
        _get_table_relationships,
        input_schema(database=_DATABASE_NAME, table=_TABLE_NAME),
    ),
    _make_tool(
        "get_sample_values",
        "Values of a column as they were sampled when the index was made.",
        _get_sample_values,
        input_schema(
            "table column",
            database=_DATABASE_NAME,
            table=_TABLE_NAME,
            column=name_schema(),
            limit=limit_schema(10),
        ),
    ),
)
