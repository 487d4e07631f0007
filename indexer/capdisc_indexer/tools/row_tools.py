"""Rows of tables and values in them, as far as they were sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.tools.inputs import inputs, limit, name
from capdisc_indexer.tools.sampled import rows_like, samples_of
from capdisc_indexer.tools.schema_tools import DATA, schema_of
from capdisc_indexer.tools.tables import WHICH_TABLE, Table, asked_table, row_of, tables
from capdisc_indexer.tools.values import Desk, ToolAnswer, family

SHOWN_ROWS = 10


def _get_table_by_id(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    table = asked_table(desk, arguments)
    shown = [row_of(table, row) for row in table.rows[: arguments["limit"]]]
    whole = table.is_complete and len(shown) == len(table.rows)
    return {"id": table.descriptor.id, **schema_of(table), "rows": shown, "is_complete": whole}


def _get_table_rows(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    table = asked_table(desk, arguments)
    found = rows_like(table, arguments["criteria"])
    return {
        "database": table.database,
        "table": table.name,
        "rows": found[: arguments["limit"]],
        "matched": len(found),
        "row_count": table.row_count,
        "is_complete": table.is_complete and len(found) <= arguments["limit"],
    }


def _search_table_values(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """The sampled cells that hold the words, in one table or in all."""
    one = [asked_table(desk, arguments)] if arguments.get("table") else []
    looked = one or [table for table in tables(desk, arguments.get("database", "")) if table.rows or table.samples]
    found = [each for table in looked for each in _cells(table, arguments["term"].lower())]
    return {
        "matches": found[: arguments["limit"]],
        "matched": len(found),
        "tables_searched": len(looked),
        "is_complete": all(table.is_complete for table in looked) and len(found) <= arguments["limit"],
    }


def _cells(table: Table, term: str) -> list[dict[str, Any]]:
    place = {"database": table.database, "table": table.name}
    rows = [row_of(table, row) for row in table.rows]
    found = [
        {**place, "column": column, "value": value, "row": row}
        for row in rows
        for column, value in row.items()
        if value is not None and term in str(value).lower()
    ]
    if rows:
        return found
    samples = samples_of(table, 1_000)
    return [
        {**place, "column": column, "value": value}
        for column, values in samples.items()
        for value in values
        if value is not None and term in str(value).lower()
    ]


_tool = family("tables", DATA)

TOOLS = (
    _tool(
        "get_table_by_id",
        "A table with its columns and sampled rows.",
        _get_table_by_id,
        inputs("table", **WHICH_TABLE, limit=limit(SHOWN_ROWS)),
        "get_table_data",
    ),
    _tool(
        "get_table_rows",
        "Sampled rows of a table that have these values, as {column: value}.",
        _get_table_rows,
        inputs("table", **WHICH_TABLE, criteria={"type": "object", "default": {}}, limit=limit(SHOWN_ROWS)),
        "get_row_data",
    ),
    _tool(
        "search_table_values",
        "Sampled cells that hold the words, in one table or in all.",
        _search_table_values,
        inputs("term", term=name("The words."), **WHICH_TABLE, limit=limit(10)),
    ),
)
