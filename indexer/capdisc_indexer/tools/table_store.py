"""Tables as the index holds them: columns, counts, and what was sampled of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_search import (
    capability_metadata,
    cell_value,
    headers_of_kinds,
    int_value,
    mapping_value,
    record_list,
    short_description,
    text_value,
)
from capdisc_indexer.tools.name_lookup import (
    container_name,
    find_capability,
    is_part_of,
    local_name,
)
from capdisc_indexer.tools.tool_types import ToolContext, name_schema
from capdisc_indexer.validation.arguments.schema_walk import suggestion

MAX_COLUMNS = 1_000


@frozen(kw_only=True)
class StoredTable:
    """One table. `rows` are samples in the order of `columns`; `is_complete` says that there are
    no others.
    """

    descriptor: Descriptor
    database: str
    columns: tuple[Mapping[str, Any], ...]
    row_count: int | None
    samples: Mapping[str, Any]
    rows: tuple[Sequence[Any], ...]
    is_complete: bool

    @property
    def name(self) -> str:
        """The name as its database has it."""
        return self.descriptor.name

    @property
    def column_names(self) -> list[str]:
        """The columns in order."""
        return [text_value(column, "name") for column in self.columns]


def table_from_descriptor(descriptor: Descriptor) -> StoredTable:
    """The table that the capability is; a hand-written one may have nothing but parameters for
    columns.
    """
    facts = capability_metadata(descriptor)
    rows = facts.get("rows")
    return StoredTable(
        descriptor=descriptor,
        database=container_name(descriptor),
        columns=tuple(_build_columns(descriptor, facts)[:MAX_COLUMNS]),
        row_count=int_value(facts, "row_count"),
        samples=mapping_value(facts, "samples"),
        rows=tuple(row for row in rows if isinstance(row, (list, tuple)))
        if isinstance(rows, (list, tuple))
        else (),
        is_complete=facts.get("complete") is True,
    )


def _build_columns(descriptor: Descriptor, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    declared = [
        _build_column(record)
        for record in record_list(facts, "columns")
        if text_value(record, "name")
    ]
    from_parameters = [
        {"name": parameter.name, "type": parameter.type, "nullable": not parameter.required}
        for parameter in descriptor.parameters
    ]
    return declared or from_parameters


def _build_column(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Name, type, nullable and primary_key; foreign_key and description where there are such."""
    shown: dict[str, Any] = {
        "name": text_value(declared, "name"),
        "type": text_value(declared, "type"),
        "nullable": declared.get("nullable") is not False,
        "primary_key": declared.get("primary_key") is True,
    }
    return shown | {
        key: text_value(declared, key)
        for key in ("foreign_key", "description")
        if text_value(declared, key)
    }


def iter_tables(ctx: ToolContext, database: str = "") -> Iterator[StoredTable]:
    """Every table, by id; those of one database, where it is named."""
    for header in headers_of_kinds(ctx, "table"):
        if not database or _may_be_part(header, database):
            descriptor = ctx.index.full_descriptor(header)
            if not database or is_part_of(descriptor, database):
                yield table_from_descriptor(descriptor)


def _may_be_part(header: CapabilityHeader, database: str) -> bool:
    """Whether it is worth looking at the whole: ids of loaders begin with the database, other ids
    say nothing.
    """
    is_made = header["source"]["format"] not in ("capability", "catalogue")
    return not is_made or local_name(str(header["id"])).lower().startswith(f"{database.lower()}.")


def find_table(ctx: ToolContext, table: str, database: str = "") -> StoredTable:
    """The table of this name or id. Raises UsageError where there is none, or several and no
    database to choose by.
    """
    return table_from_descriptor(find_capability(ctx, table, "table", within=database))


def list_databases(ctx: ToolContext) -> dict[str, Descriptor | None]:
    """The databases by name; those that only their tables speak of have nothing behind them."""
    databases_by_name: dict[str, Descriptor | None] = {
        header["name"]: ctx.index.full_descriptor(header)
        for header in headers_of_kinds(ctx, "database")
    }
    forms = {name.lower() for name in databases_by_name}
    for table in iter_tables(ctx):
        if table.database.lower() not in forms:
            databases_by_name.setdefault(table.database, None)
    return dict(sorted(databases_by_name.items()))


def find_database(ctx: ToolContext, name: str) -> str:
    """The database as it is written. Raises UsageError naming those that there are."""
    databases_by_name = list_databases(ctx)
    lower_name = name.removeprefix("database:").lower()
    match = next(
        (candidate for candidate in databases_by_name if candidate.lower() == lower_name), None
    )
    if match is None:
        listed = (
            ", ".join(one_line(candidate, 60) for candidate in list(databases_by_name)[:20])
            or "none yet"
        )
        raise UsageError(f"there is no database {one_line(name, 80)!r}", f"here: {listed}")
    return match


def table_row(table: StoredTable) -> dict[str, Any]:
    """The table in a list of tables."""
    return {
        "name": table.name,
        "row_count": table.row_count,
        "description": short_description(table.descriptor),
    }


def sampled_row(table: StoredTable, row: Sequence[Any]) -> dict[str, Any]:
    """A sampled row by its columns."""
    return {name: cell_value(value) for name, value in zip(table.column_names, row, strict=False)}


# How a tool asks for a table.
TABLE_ARGUMENTS = {
    "table": name_schema("Its name or id."),
    "database": name_schema("Where several have that name."),
}


def find_requested_table(ctx: ToolContext, arguments: Arguments) -> StoredTable:
    """The table that arguments of WHICH_TABLE name. Raises as `table_named`."""
    return find_table(ctx, arguments["table"], arguments.get("database", ""))


# What was sampled of a table when the index was made. Nothing is read from the data itself when a
# tool answers.

NO_SAMPLES = "no samples stored"
_SAMPLES_HINT = (
    "declare the file as a [[source]] with samples = 20 in capdisc.toml, then run: capdisc index"
)


def column_values(table: StoredTable, column: str, limit: int) -> dict[str, Any]:
    """Values of a column, how many different ones there are in all (null: not known), and whether
    these are all. Raises InputError where nothing was sampled, UsageError where there is no such
    column.
    """
    names_by_lower = {name.lower(): name for name in table.column_names}
    column_name = names_by_lower.get(column.lower())
    if column_name is None:
        what = f"{one_line(table.name, 80)} has no column {one_line(column, 80)!r}"
        raise UsageError(
            what,
            suggestion(column, names_by_lower.values()).strip("; ")
            or f"it has: {', '.join(table.column_names[:20])}",
        )
    values, distinct, is_complete = _column_samples(table, column_name)
    if not values:
        raise InputError(f"{NO_SAMPLES} of {one_line(table.name, 80)}.{column_name}", _SAMPLES_HINT)
    shown = values[:limit]
    return {
        "column": column_name,
        "values": shown,
        "total_distinct": distinct,
        "is_complete": is_complete and len(shown) == len(values),
    }


def _column_samples(table: StoredTable, column: str) -> tuple[list[Any], int | None, bool]:
    sample = table.samples.get(column)
    if isinstance(sample, Mapping) and isinstance(sample.get("values"), (list, tuple)):
        return (
            [cell_value(value) for value in sample["values"]],
            int_value(sample, "distinct"),
            sample.get("complete") is True,
        )
    position = table.column_names.index(column)
    cells = [
        cell_value(row[position])
        for row in table.rows
        if len(row) > position and row[position] is not None
    ]
    values = list(dict.fromkeys(cells))
    return values, len(values) if table.is_complete else None, table.is_complete


def sample_columns(table: StoredTable, limit: int) -> dict[str, list[Any]]:
    """A few values of each column that has any."""
    samples = {column: _column_samples(table, column)[0][:limit] for column in table.column_names}
    return {column: values for column, values in samples.items() if values}


def filter_rows(table: StoredTable, criteria: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sampled rows whose columns hold what the criteria say; texts are compared without regard
    to case. Raises InputError where no row was sampled, UsageError for a column that is none.
    """
    if not table.rows:
        raise InputError(f"{NO_SAMPLES} of {one_line(table.name, 80)}", _SAMPLES_HINT)
    names_by_lower = {name.lower(): name for name in table.column_names}
    if wrong := [name for name in criteria if name.lower() not in names_by_lower]:
        what = f"{one_line(table.name, 80)} has no column {one_line(wrong[0], 80)!r}"
        raise UsageError(what, f"it has: {', '.join(table.column_names[:20])}")
    criteria_by_column = {names_by_lower[name.lower()]: value for name, value in criteria.items()}
    rows = [sampled_row(table, row) for row in table.rows]
    return [
        row
        for row in rows
        if all(_is_equal(row.get(name), value) for name, value in criteria_by_column.items())
    ]


def _is_equal(value: Any, expected: Any) -> bool:
    return value == expected or (
        expected is not None and value is not None and str(value).lower() == str(expected).lower()
    )
