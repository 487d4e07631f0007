"""Databases and tables: what there is, what each column holds, how tables belong together."""

from __future__ import annotations

from typing import Any

from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.tools.capability_search import (
    WIDE_LIMIT,
    capability_metadata,
    search_capabilities,
    select_hits,
    short_description,
    text_value,
)
from capdisc_indexer.tools.name_lookup import container_name, is_part_of
from capdisc_indexer.tools.table_store import (
    StoredTable,
    column_values,
    find_database,
    find_table,
    iter_tables,
    list_databases,
    sample_columns,
    table_row,
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


def _list_databases(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {
        "databases": [
            _database_row(ctx, name, descriptor) for name, descriptor in list_databases(ctx).items()
        ]
    }


def _database_row(ctx: ToolContext, name: str, descriptor: Descriptor | None) -> dict[str, Any]:
    kind = (
        text_value(capability_metadata(descriptor), "dbType")
        if descriptor
        else next((_database_type(table) for table in iter_tables(ctx, name)), "")
    )
    return {
        "name": name,
        "type": kind,
        "description": short_description(descriptor) if descriptor else "",
    }


def _database_type(table: StoredTable) -> str:
    return text_value(capability_metadata(table.descriptor), "dbType")


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


def _get_table_schema(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return table_schema(find_table(ctx, arguments["table"], arguments.get("database", "")))


def table_schema(table: StoredTable) -> dict[str, Any]:
    """The columns of a table, with a few values of each that was sampled."""
    return {
        "database": table.database,
        "table": table.name,
        "columns": list(table.columns),
        "row_count": table.row_count,
        "sample_values": sample_columns(table, SAMPLES_PER_COLUMN),
    }


def _search_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    database = arguments.get("database", "")
    search_result = search_capabilities(
        ctx, arguments["query"], WIDE_LIMIT if database else arguments["limit"], ("table",)
    )
    database_name = find_database(ctx, database) if database else ""
    hits = select_hits(
        search_result,
        arguments["limit"],
        lambda descriptor: not database_name or is_part_of(descriptor, database_name),
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


def _get_table_relationships(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The foreign keys from and to a table, or all of a database."""
    database, table_name = arguments.get("database", ""), arguments.get("table", "")
    table = find_table(ctx, table_name, database) if table_name else None
    home = table.database if table else find_database(ctx, database) if database else ""
    relationships = [
        foreign_key
        for source_table in iter_tables(ctx, home)
        for foreign_key in foreign_keys(source_table)
    ]
    if table:
        relationships = [
            foreign_key
            for foreign_key in relationships
            if table.name.lower()
            in (foreign_key["from_table"].lower(), foreign_key["to_table"].lower())
        ]
    return {"relationships": relationships}


def foreign_keys(table: StoredTable) -> list[dict[str, str]]:
    """The columns of a table that lead to another."""
    pairs = [
        (text_value(column, "name"), text_value(column, "foreign_key").rpartition("."))
        for column in table.columns
    ]
    return [
        {
            "database": table.database,
            "from_table": table.name,
            "from_column": from_column,
            "to_table": to,
            "to_column": column,
        }
        for from_column, (to, _, column) in pairs
        if to
    ]


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
