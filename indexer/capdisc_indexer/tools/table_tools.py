"""Tables by what they are about: the catalogue of them, one by one, by category and by keyword."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.tools.finding import find
from capdisc_indexer.tools.held import described, held, text
from capdisc_indexer.tools.inputs import inputs, limit, name
from capdisc_indexer.tools.schema_tools import DATA, foreign_keys
from capdisc_indexer.tools.tables import WHICH_TABLE, Table, asked_table, table_of, tables
from capdisc_indexer.tools.values import Desk, ToolAnswer, family


def _catalog(found: Iterable[Table]) -> ToolAnswer:
    listed = [_entry(table) for table in found]
    return {"tables": listed, "total": len(listed)}


def _entry(table: Table) -> dict[str, Any]:
    d = table.descriptor
    return {
        "id": d.id,
        "table": table.name,
        "database": table.database,
        "category": d.category or UNCATEGORISED,
        "description": described(d),
        "columns": len(table.columns),
        "row_count": table.row_count,
    }


def _get_table_catalog(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return _catalog(tables(desk))


def _get_table_info(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    table = asked_table(desk, arguments)
    facts = {"type": text(held(table.descriptor), "dbType"), "tags": list(table.descriptor.tags)}
    return _entry(table) | facts | {"column_names": table.column_names}


def _get_tables_by_category(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return _about(desk, arguments["category"], arguments["limit"])


def _get_tables_by_keyword(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    found = find(desk, arguments["keyword"], arguments["limit"], ("table",))
    return _catalog(table_of(desk.index.whole(dict(head))) for _, head in found.pairs)


def _about(desk: Desk, word: str, limit: int) -> ToolAnswer:
    """The tables whose category or tags have the word; where none has, those that a search for it finds."""
    wanted = word.lower()
    held_by = [
        table
        for table in tables(desk)
        if wanted in table.descriptor.category.lower() or wanted in [tag.lower() for tag in table.descriptor.tags]
    ]
    return _catalog(held_by[:limit]) if held_by else _get_tables_by_keyword(desk, {"keyword": word, "limit": limit})


def _get_table_overview(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """One table with its keys; without one, how many tables and rows each database has."""
    if arguments.get("table"):
        table = asked_table(desk, arguments)
        return _entry(table) | {"columns": list(table.columns), "refers_to": foreign_keys(table)}
    counted: dict[str, dict[str, Any]] = {}
    for table in tables(desk):
        one = counted.setdefault(table.database, {"database": table.database, "tables": 0, "rows": 0})
        one["tables"] += 1
        one["rows"] += table.row_count or 0
    return {"databases": [counted[each] for each in sorted(counted)]}


def _compatibility(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return _about(desk, "compatibility", arguments["limit"])


def _measurement(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return _about(desk, "measurement", arguments["limit"])


_tool = family("tables", DATA)
_ABOUT = inputs(limit=limit(20))

TOOLS = (
    _tool("get_table_catalog", "All tables with what each is about.", _get_table_catalog, inputs(), "view_tables"),
    _tool(
        "get_table_info",
        "What a table is about, without its rows.",
        _get_table_info,
        inputs("table", **WHICH_TABLE),
    ),
    _tool(
        "get_tables_by_category",
        "Tables of a category.",
        _get_tables_by_category,
        inputs("category", category=name(), limit=limit(20)),
    ),
    _tool(
        "get_tables_by_keyword",
        "Tables that a keyword fits.",
        _get_tables_by_keyword,
        inputs("keyword", keyword=name(), limit=limit(10)),
    ),
    _tool("get_compatibility_tables", "Tables about what goes with what.", _compatibility, _ABOUT),
    _tool("get_measurement_tables", "Tables of measurements.", _measurement, _ABOUT),
    _tool(
        "get_table_overview",
        "Columns and keys of a table; without one, tables and rows of each database.",
        _get_table_overview,
        inputs("", **WHICH_TABLE),
        "table_summary",
    ),
)
