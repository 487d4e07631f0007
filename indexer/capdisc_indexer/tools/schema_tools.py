"""Databases and tables: what there is, what each column holds, how tables belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.tools.finding import WIDE, chosen, find
from capdisc_indexer.tools.held import described, held, text
from capdisc_indexer.tools.inputs import inputs, limit, name, words
from capdisc_indexer.tools.lookup import is_part, whole_of
from capdisc_indexer.tools.sampled import samples_of, values_of
from capdisc_indexer.tools.tables import Table, database_named, databases, line_of, table_named, tables
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.types import Descriptor

DATA = ("database", "table")
SHOWN_SAMPLES = 3


def _list_databases(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return {"databases": [_database(desk, name, found) for name, found in databases(desk).items()]}


def _database(desk: Desk, name: str, found: Descriptor | None) -> dict[str, Any]:
    kind = text(held(found), "dbType") if found else next((_type(each) for each in tables(desk, name)), "")
    return {"name": name, "type": kind, "description": described(found) if found else ""}


def _type(table: Table) -> str:
    return text(held(table.descriptor), "dbType")


def _list_tables(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    if not arguments.get("database"):
        return {"tables": [{"database": each.database, **line_of(each)} for each in tables(desk)]}
    database = database_named(desk, arguments["database"])
    return {"database": database, "tables": [line_of(each) for each in tables(desk, database)]}


def _get_table_schema(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return schema_of(table_named(desk, arguments["table"], arguments.get("database", "")))


def schema_of(table: Table) -> dict[str, Any]:
    """The columns of a table, with a few values of each that was sampled."""
    return {
        "database": table.database,
        "table": table.name,
        "columns": list(table.columns),
        "row_count": table.row_count,
        "sample_values": samples_of(table, SHOWN_SAMPLES),
    }


def _search_tables(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    database = arguments.get("database", "")
    found = find(desk, arguments["query"], WIDE if database else arguments["limit"], ("table",))
    wanted = database_named(desk, database) if database else ""
    hits = chosen(found, arguments["limit"], lambda each: not wanted or is_part(each, wanted), desk)
    return {
        "tables": [
            {
                "id": each.id,
                "database": whole_of(each),
                "table": each.name,
                "relevance": round(hit.relevance, 2),
                "description": described(each),
            }
            for hit, each in hits
        ]
    }


def _get_table_relationships(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """The foreign keys from and to a table, or all of a database."""
    database, wanted = arguments.get("database", ""), arguments.get("table", "")
    table = table_named(desk, wanted, database) if wanted else None
    home = table.database if table else database_named(desk, database) if database else ""
    found = [each for one in tables(desk, home) for each in foreign_keys(one)]
    if table:
        found = [each for each in found if table.name.lower() in (each["from_table"].lower(), each["to_table"].lower())]
    return {"relationships": found}


def foreign_keys(table: Table) -> list[dict[str, str]]:
    """The columns of a table that lead to another."""
    pairs = [(text(column, "name"), text(column, "foreign_key").rpartition(".")) for column in table.columns]
    return [
        {"database": table.database, "from_table": table.name, "from_column": own, "to_table": to, "to_column": column}
        for own, (to, _, column) in pairs
        if to
    ]


def _get_sample_values(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    table = table_named(desk, arguments["table"], arguments.get("database", ""))
    return {
        "database": table.database,
        "table": table.name,
        **values_of(table, arguments["column"], arguments["limit"]),
    }


_DATABASE, _TABLE = name("Its name."), name("Its name or id.")

_tool = family("schema", DATA)

TOOLS = (
    _tool(
        "list_databases",
        "List the databases, files of tables included, with type and description.",
        _list_databases,
        inputs(),
    ),
    _tool(
        "list_tables",
        "List the tables of a database with row counts; of all databases without one.",
        _list_tables,
        inputs(database=_DATABASE),
    ),
    _tool(
        "get_table_schema",
        "Columns of a table with types, keys and sample values.",
        _get_table_schema,
        inputs("table", database=_DATABASE, table=_TABLE),
    ),
    _tool(
        "search_tables",
        "Find the tables that a question is about.",
        _search_tables,
        inputs("query", query=words("What the data is about."), limit=limit(5), database=_DATABASE),
        "find_relevant_tables",
    ),
    _tool(
        "get_table_relationships",
        "Foreign keys from and to a table, or all of a database.",
        _get_table_relationships,
        inputs(database=_DATABASE, table=_TABLE),
    ),
    _tool(
        "get_sample_values",
        "Values of a column as they were sampled when the index was made.",
        _get_sample_values,
        inputs("table column", database=_DATABASE, table=_TABLE, column=name(), limit=limit(10)),
    ),
)
