"""What the tools read of the data in the index: the parts of databases and APIs, and tables with
their columns, counts, and what a build sampled of their rows.

Nothing is read from the data itself when a tool answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.text.similar_names import compact_name
from capdisc_indexer.tools.capability_lookup import (
    WIDE_LIMIT,
    Metadata,
    capability_metadata,
    container_name,
    find_capability,
    headers_of_kinds,
    int_value,
    is_file_of_rows,
    is_part_of,
    local_name,
    mapping_value,
    record_list,
    search_capabilities,
    select_hits,
    sequence_value,
    short_description,
    text_value,
)
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext, name_schema
from capdisc_indexer.validation.schema_walk import suggestion

MAX_COLUMNS = 1_000
CELL_CHARACTERS = 500
NO_SAMPLES = "no samples stored"
_SAMPLES_HINT = (
    "declare the file as a [[source]] with samples = 20 in capdisc.toml, then run: capdisc index"
)
# How a tool is told which table it is about; `find_requested_table` reads it.
TABLE_ARGUMENTS = {
    "table": name_schema("Its name or id."),
    "database": name_schema("Where several have that name."),
}

# A value of a table as JSON has it.
Cell: TypeAlias = str | int | float | bool | None


def iter_parts(ctx: ToolContext, kind: str, container: str = "") -> Iterator[Descriptor]:
    """All capabilities of a kind by id, or those of one database, API or document."""
    for header in headers_of_kinds(ctx, kind):
        if not container or may_be_part_of(header, container):
            descriptor = ctx.index.full_descriptor(header)
            if not container or is_part_of(descriptor, container):
                yield descriptor


def may_be_part_of(header: CapabilityHeader, container: str) -> bool:
    """Whether the full descriptor is worth reading: the id of a part that a loader made begins
    with its container; one that an author gave says nothing.
    """
    is_authored = header["source"]["format"] in ("capability", "catalogue")
    wanted, local = compact_name(container), local_name(header["id"])
    return (
        is_authored
        or local.lower().startswith(f"{container.lower()}.")
        or wanted in (compact_name(local), compact_name(header["name"]))  # a file of rows
    )


def unknown_container(title: str, name: str, names: Sequence[str]) -> UsageError:
    """The error for a database or API that the index lacks, with the names of those it has."""
    listed_names = ", ".join(one_line(candidate, 60) for candidate in names[:20])
    return UsageError(
        f"there is no {title} {one_line(name, 80)!r}", f"here: {listed_names or 'none yet'}"
    )


def search_parts(
    ctx: ToolContext,
    arguments: Arguments,
    kind: str,
    container_key: str,
    find_container: Callable[[ToolContext, str], str],
    fits: Callable[[Descriptor], bool] | None = None,
) -> ToolAnswer:
    """The parts that fit the query, best first: of the container that the arguments name below
    `container_key`, or of all, and of those only the ones that `fits` lets through.
    """
    requested = arguments.get(container_key, "")
    search_limit = WIDE_LIMIT if requested or fits else arguments["limit"]
    search_result = search_capabilities(ctx, arguments["query"], search_limit, (kind,))
    container = find_container(ctx, requested) if requested else ""
    hits = select_hits(
        search_result,
        arguments["limit"],
        lambda part: (not fits or fits(part)) and (not container or is_part_of(part, container)),
        ctx,
    )
    rows = [
        {
            "id": part.id,
            container_key: container_name(part),
            kind: part.name,
            "relevance": round(hit.relevance, 2),
            "description": short_description(part),
        }
        for hit, part in hits
    ]
    return {f"{kind}s": rows}


class ColumnRow(TypedDict):
    """A column. `foreign_key` is `table.column`; `primary_key` is missing where an author listed
    parameters in place of columns.
    """

    name: str
    type: str
    nullable: bool
    primary_key: NotRequired[bool]
    foreign_key: NotRequired[str]
    description: NotRequired[str]


@frozen(kw_only=True)
class StoredTable:
    """One table. `rows` are sampled rows in the order of `columns`; `is_complete` says that the
    table has no others. `row_count` is None where nobody counted.
    """

    descriptor: Descriptor
    database: str
    columns: tuple[ColumnRow, ...]
    row_count: int | None
    samples: Metadata
    rows: tuple[Sequence[object], ...]
    is_complete: bool

    @property
    def name(self) -> str:
        """The name as its database has it."""
        return self.descriptor.name

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return [text_value(column, "name") for column in self.columns]


def table_from_descriptor(descriptor: Descriptor) -> StoredTable:
    """The table that the capability describes. A table that somebody wrote by hand may have
    nothing but parameters for columns.
    """
    metadata = capability_metadata(descriptor)
    rows = sequence_value(metadata, "rows")
    return StoredTable(
        descriptor=descriptor,
        database=container_name(descriptor),
        columns=tuple(_build_columns(descriptor, metadata)[:MAX_COLUMNS]),
        row_count=int_value(metadata, "row_count"),
        samples=mapping_value(metadata, "samples"),
        rows=tuple(row for row in rows if isinstance(row, list | tuple)),
        is_complete=metadata.get("complete") is True,
    )


def _build_columns(descriptor: Descriptor, metadata: Metadata) -> list[ColumnRow]:
    declared_columns = [
        _build_column(record)
        for record in record_list(metadata, "columns")
        if text_value(record, "name")
    ]
    columns_from_parameters: list[ColumnRow] = [
        {"name": parameter.name, "type": parameter.type, "nullable": not parameter.required}
        for parameter in descriptor.parameters
    ]
    return declared_columns or columns_from_parameters


def _build_column(declared: Metadata) -> ColumnRow:
    column: ColumnRow = {
        "name": text_value(declared, "name"),
        "type": text_value(declared, "type"),
        "nullable": declared.get("nullable") is not False,
        "primary_key": declared.get("primary_key") is True,
    }
    if foreign_key := text_value(declared, "foreign_key"):
        column["foreign_key"] = foreign_key
    if description := text_value(declared, "description"):
        column["description"] = description
    return column


def iter_tables(ctx: ToolContext, database: str = "") -> Iterator[StoredTable]:
    """All tables by id, or those of one database."""
    return map(table_from_descriptor, iter_parts(ctx, "table", database))


def find_table(ctx: ToolContext, table: str, database: str = "") -> StoredTable:
    """The table of this name or id. Raises UsageError where there is none, or several and no
    database to choose by.
    """
    return table_from_descriptor(find_capability(ctx, table, "table", within=database))


def find_requested_table(ctx: ToolContext, arguments: Arguments) -> StoredTable:
    """The table that the arguments of TABLE_ARGUMENTS name. Raises as `find_table`."""
    return find_table(ctx, arguments["table"], arguments.get("database", ""))


def databases_by_name(ctx: ToolContext) -> dict[str, Descriptor | None]:
    """The databases by name, sorted; None for one that only its tables name."""
    databases: dict[str, Descriptor | None] = {
        header["name"]: ctx.index.full_descriptor(header)
        for header in headers_of_kinds(ctx, "database")
    }
    described_names = {name.lower() for name in databases}
    for table in iter_tables(ctx):
        if table.database.lower() not in described_names:
            databases.setdefault(table.database, None)
    return dict(sorted(databases.items()))


def find_database(ctx: ToolContext, name: str) -> str:
    """The name of the database as it is written. Raises UsageError with the names of all."""
    names = list(databases_by_name(ctx))
    lower_name = name.removeprefix("database:").lower()
    for candidate in names:
        if candidate.lower() == lower_name:
            return candidate
    for table in iter_tables(ctx, lower_name):
        if is_file_of_rows(table.descriptor):
            return local_name(table.descriptor.id)
    raise unknown_container("database", name, names)


def sampled_row(table: StoredTable, row: Sequence[object]) -> dict[str, Cell]:
    """A sampled row by the names of its columns."""
    return {name: cell_value(cell) for name, cell in zip(table.column_names, row, strict=False)}


def cell_value(value: object) -> Cell:
    """A value of a table as JSON has it: a long text is cut, a nested value becomes a text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = strip_controls(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    )
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"


class SampledValues(TypedDict):
    """Values of a column: `total_distinct` is how many different ones there are in all, None where
    that is not known; `is_complete` says that `values` are all of them.
    """

    column: str
    values: list[Cell]
    total_distinct: int | None
    is_complete: bool


def column_values(table: StoredTable, column: str, limit: int) -> SampledValues:
    """Values of a column. Raises UsageError where there is no such column, InputError where none
    of its values were sampled.
    """
    names_by_lower = {name.lower(): name for name in table.column_names}
    column_name = names_by_lower.get(column.lower())
    if column_name is None:
        nearest = suggestion(column, names_by_lower.values()).strip("; ")
        raise _unknown_column_error(table, column, nearest)
    values, distinct, is_complete = _column_samples(table, column_name)
    if not values:
        raise InputError(
            f"{NO_SAMPLES} of {one_line(table.name, 80)}.{column_name}", _SAMPLES_HINT
        )
    first_values = values[:limit]
    return {
        "column": column_name,
        "values": first_values,
        "total_distinct": distinct,
        "is_complete": is_complete and len(first_values) == len(values),
    }


def _column_samples(table: StoredTable, column: str) -> tuple[list[Cell], int | None, bool]:
    """The values, how many different ones there are in all, and whether these are all."""
    sample = table.samples.get(column)
    if isinstance(sample, Mapping) and isinstance(sample.get("values"), list | tuple):
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


def sample_columns(table: StoredTable, limit: int) -> dict[str, list[Cell]]:
    """The first values of each column that has any."""
    samples = {column: _column_samples(table, column)[0][:limit] for column in table.column_names}
    return {column: values for column, values in samples.items() if values}


def filter_rows(table: StoredTable, criteria: Mapping[str, object]) -> list[dict[str, Cell]]:
    """The sampled rows whose columns have the values of the criteria; texts are compared without
    regard to case. Raises InputError where no row was sampled, UsageError for a column that the
    table does not have.
    """
    if not table.rows:
        raise InputError(f"{NO_SAMPLES} of {one_line(table.name, 80)}", _SAMPLES_HINT)
    names_by_lower = {name.lower(): name for name in table.column_names}
    if unknown := [name for name in criteria if name.lower() not in names_by_lower]:
        raise _unknown_column_error(table, unknown[0])
    criteria_by_column = {names_by_lower[name.lower()]: value for name, value in criteria.items()}
    rows = [sampled_row(table, row) for row in table.rows]
    return [
        row
        for row in rows
        if all(_is_equal(row.get(name), value) for name, value in criteria_by_column.items())
    ]


def _unknown_column_error(table: StoredTable, column: str, hint: str = "") -> UsageError:
    return UsageError(
        f"{one_line(table.name, 80)} has no column {one_line(column, 80)!r}",
        hint or f"it has: {', '.join(table.column_names[:20])}",
    )


def _is_equal(value: Cell, expected: object) -> bool:
    return value == expected or (
        expected is not None and value is not None and str(value).lower() == str(expected).lower()
    )
