"""Tables by what they are about: the catalogue of them, one by one, by category and by keyword."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.tools.capability_search import (
    capability_metadata,
    search_capabilities,
    short_description,
    text_value,
)
from capdisc_indexer.tools.schema_tools import DATA_KINDS, foreign_keys, table_schema
from capdisc_indexer.tools.table_store import (
    TABLE_ARGUMENTS,
    StoredTable,
    filter_rows,
    find_requested_table,
    iter_tables,
    sample_columns,
    sampled_row,
    table_from_descriptor,
)
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    tool_factory,
)

# Rows of tables and values in them, as far as they were sampled.

DEFAULT_ROWS = 10


def _get_table_by_id(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    table = find_requested_table(ctx, arguments)
    shown = [sampled_row(table, row) for row in table.rows[: arguments["limit"]]]
    is_complete = table.is_complete and len(shown) == len(table.rows)
    return {
        "id": table.descriptor.id,
        **table_schema(table),
        "rows": shown,
        "is_complete": is_complete,
    }


def _get_table_rows(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    table = find_requested_table(ctx, arguments)
    rows = filter_rows(table, arguments["criteria"])
    return {
        "database": table.database,
        "table": table.name,
        "rows": rows[: arguments["limit"]],
        "matched": len(rows),
        "row_count": table.row_count,
        "is_complete": table.is_complete and len(rows) <= arguments["limit"],
    }


def _search_table_values(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The sampled cells that hold the words, in one table or in all."""
    named_tables = [find_requested_table(ctx, arguments)] if arguments.get("table") else []
    looked = named_tables or [
        table
        for table in iter_tables(ctx, arguments.get("database", ""))
        if table.rows or table.samples
    ]
    matches = [
        match for table in looked for match in _matching_cells(table, arguments["term"].lower())
    ]
    return {
        "matches": matches[: arguments["limit"]],
        "matched": len(matches),
        "tables_searched": len(looked),
        "is_complete": all(table.is_complete for table in looked)
        and len(matches) <= arguments["limit"],
    }


def _matching_cells(table: StoredTable, term: str) -> list[dict[str, Any]]:
    location = {"database": table.database, "table": table.name}
    rows = [sampled_row(table, row) for row in table.rows]
    matches = [
        {**location, "column": column, "value": value, "row": row}
        for row in rows
        for column, value in row.items()
        if value is not None and term in str(value).lower()
    ]
    if rows:
        return matches
    samples = sample_columns(table, 1_000)
    return [
        {**location, "column": column, "value": value}
        for column, values in samples.items()
        for value in values
        if value is not None and term in str(value).lower()
    ]


_make_row_tool = tool_factory("tables", DATA_KINDS)

ROW_TOOLS = (
    _make_row_tool(
        "get_table_by_id",
        "A table with its columns and sampled rows.",
        _get_table_by_id,
        input_schema("table", **TABLE_ARGUMENTS, limit=limit_schema(DEFAULT_ROWS)),
        "get_table_data",
    ),
    _make_row_tool(
        "get_table_rows",
        "Sampled rows of a table that have these values, as {column: value}.",
        _get_table_rows,
        input_schema(
            "table",
            **TABLE_ARGUMENTS,
            criteria={"type": "object", "default": {}},
            limit=limit_schema(DEFAULT_ROWS),
        ),
        "get_row_data",
    ),
    _make_row_tool(
        "search_table_values",
        "Sampled cells that hold the words, in one table or in all.",
        _search_table_values,
        input_schema(
            "term", term=name_schema("The words."), **TABLE_ARGUMENTS, limit=limit_schema(10)
        ),
    ),
)


def _catalogue_answer(selected_tables: Iterable[StoredTable]) -> ToolAnswer:
    listed = [_table_entry(table) for table in selected_tables]
    return {"tables": listed, "total": len(listed)}


def _table_entry(table: StoredTable) -> dict[str, Any]:
    d = table.descriptor
    return {
        "id": d.id,
        "table": table.name,
        "database": table.database,
        "category": d.category or UNCATEGORISED,
        "description": short_description(d),
        "columns": len(table.columns),
        "row_count": table.row_count,
    }


def _get_table_catalog(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _catalogue_answer(iter_tables(ctx))


def _get_table_info(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    table = find_requested_table(ctx, arguments)
    facts = {
        "type": text_value(capability_metadata(table.descriptor), "dbType"),
        "tags": list(table.descriptor.tags),
    }
    return _table_entry(table) | facts | {"column_names": table.column_names}


def _get_tables_by_category(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _tables_about(ctx, arguments["category"], arguments["limit"])


def _get_tables_by_keyword(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_capabilities(ctx, arguments["keyword"], arguments["limit"], ("table",))
    return _catalogue_answer(
        table_from_descriptor(ctx.index.full_descriptor(header))
        for _, header in search_result.pairs
    )


def _tables_about(ctx: ToolContext, word: str, limit: int) -> ToolAnswer:
    """The tables whose category or tags have the word; where none has, those that a search for it
    finds.
    """
    lower_word = word.lower()
    held_by = [
        table
        for table in iter_tables(ctx)
        if lower_word in table.descriptor.category.lower()
        or lower_word in [tag.lower() for tag in table.descriptor.tags]
    ]
    return (
        _catalogue_answer(held_by[:limit])
        if held_by
        else _get_tables_by_keyword(ctx, {"keyword": word, "limit": limit})
    )


def _get_table_overview(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """One table with its keys; without one, how many tables and rows each database has."""
    if arguments.get("table"):
        table = find_requested_table(ctx, arguments)
        return _table_entry(table) | {
            "columns": list(table.columns),
            "refers_to": foreign_keys(table),
        }
    counted: dict[str, dict[str, Any]] = {}
    for table in iter_tables(ctx):
        totals = counted.setdefault(
            table.database, {"database": table.database, "tables": 0, "rows": 0}
        )
        totals["tables"] += 1
        totals["rows"] += table.row_count or 0
    return {"databases": [counted[database] for database in sorted(counted)]}


def _get_compatibility_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _tables_about(ctx, "compatibility", arguments["limit"])


def _get_measurement_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _tables_about(ctx, "measurement", arguments["limit"])


_make_tool = tool_factory("tables", DATA_KINDS)
_LIMIT_INPUT = input_schema(limit=limit_schema(20))

TOOLS = (
    _make_tool(
        "get_table_catalog",
        "All tables with what each is about.",
        _get_table_catalog,
        input_schema(),
        "view_tables",
    ),
    _make_tool(
        "get_table_info",
        "What a table is about, without its rows.",
        _get_table_info,
        input_schema("table", **TABLE_ARGUMENTS),
    ),
    _make_tool(
        "get_tables_by_category",
        "Tables of a category.",
        _get_tables_by_category,
        input_schema("category", category=name_schema(), limit=limit_schema(20)),
    ),
    _make_tool(
        "get_tables_by_keyword",
        "Tables that a keyword fits.",
        _get_tables_by_keyword,
        input_schema("keyword", keyword=name_schema(), limit=limit_schema(10)),
    ),
    _make_tool(
        "get_compatibility_tables",
        "Tables about what goes with what.",
        _get_compatibility_tables,
        _LIMIT_INPUT,
    ),
    _make_tool(
        "get_measurement_tables", "Tables of measurements.", _get_measurement_tables, _LIMIT_INPUT
    ),
    _make_tool(
        "get_table_overview",
        "Columns and keys of a table; without one, tables and rows of each database.",
        _get_table_overview,
        input_schema("", **TABLE_ARGUMENTS),
        "table_summary",
    ),
)
