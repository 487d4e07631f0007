"""Tables by what they are about, and the rows of them that a build sampled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NotRequired, TypedDict

from capdisc_data.schema_tools import (
    DATA_KINDS,
    database_type,
    foreign_keys,
    table_schema,
)
from capdisc_data.table_store import (
    TABLE_ARGUMENTS,
    Cell,
    StoredTable,
    filter_rows,
    find_requested_table,
    iter_tables,
    sample_columns,
    sampled_row,
    table_from_descriptor,
)
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_lookup import search_capabilities, short_description
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    tool_factory,
)

DEFAULT_ROWS = 10
# Of a column whose rows were not sampled, so many single values are searched.
_MAX_SEARCHED_SAMPLES = 1_000


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


def _get_table_catalog(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _catalogue_answer(iter_tables(ctx))


def _get_table_info(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    table = find_requested_table(ctx, arguments)
    return {
        **_table_entry(table),
        "type": database_type(table.descriptor),
        "tags": list(table.descriptor.tags),
        "column_names": table.column_names,
    }


def _get_tables_by_category(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _tables_about(ctx, arguments["category"], arguments["limit"])


def _get_tables_by_keyword(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The tables with the keyword in their name, description or columns, those with it in the name
    first; where there are none, those that a search for it finds.
    """
    keyword, limit = arguments["keyword"].lower(), arguments["limit"]
    tables = [table for table in iter_tables(ctx) if keyword in _words_of(table)]
    tables.sort(key=lambda table: keyword not in table.name.lower())
    if tables:
        return _catalogue_answer(tables[:limit])
    return _search_tables(ctx, arguments["keyword"], limit)


def _words_of(table: StoredTable) -> str:
    parts = (table.name, table.descriptor.title, table.descriptor.description)
    return " ".join([*parts, *table.descriptor.tags, *table.column_names]).lower()


def _get_compatibility_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _tables_about(ctx, "compatibility", arguments["limit"])


def _get_measurement_tables(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _tables_about(ctx, "measurement", arguments["limit"])


def _tables_about(ctx: ToolContext, topic: str, limit: int) -> ToolAnswer:
    """The tables with the topic in their category or among their tags; where there are none, those
    that a search for it finds.
    """
    lower_topic = topic.lower()
    tables = [
        table
        for table in iter_tables(ctx)
        if lower_topic in table.descriptor.category.lower()
        or lower_topic in [tag.lower() for tag in table.descriptor.tags]
    ]
    return _catalogue_answer(tables[:limit]) if tables else _search_tables(ctx, topic, limit)


def _search_tables(ctx: ToolContext, text: str, limit: int) -> ToolAnswer:
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


def _get_table_overview(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """One table with its columns and keys; without one, the totals of each database."""
    if arguments.get("table"):
        table = find_requested_table(ctx, arguments)
        return {
            **_table_entry(table),
            "columns": list(table.columns),
            "refers_to": foreign_keys(table),
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


def _get_table_by_id(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    table = find_requested_table(ctx, arguments)
    rows = [sampled_row(table, row) for row in table.rows[: arguments["limit"]]]
    return {
        "id": table.descriptor.id,
        **table_schema(table),
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


def _get_table_rows(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def _search_table_values(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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
    _make_tool(
        "get_table_by_id",
        "A table with its columns and sampled rows.",
        _get_table_by_id,
        input_schema("table", **TABLE_ARGUMENTS, limit=limit_schema(DEFAULT_ROWS)),
        "get_table_data",
    ),
    _make_tool(
        "get_table_rows",
        "Sampled rows of a table that have these values, as {column: value}.",
        _get_table_rows,
        input_schema(
            "table",
            **TABLE_ARGUMENTS,
            criteria={"type": "object", "default": {}},
            row={"type": ["integer", "string"], "description": "Its number, from 1, or its key."},
            limit=limit_schema(DEFAULT_ROWS),
        ),
        "get_row_data",
    ),
    _make_tool(
        "search_table_values",
        "Sampled cells that hold the words, in one table or in all.",
        _search_table_values,
        input_schema(
            "term", term=name_schema("The words."), **TABLE_ARGUMENTS, limit=limit_schema(10)
        ),
    ),
)
