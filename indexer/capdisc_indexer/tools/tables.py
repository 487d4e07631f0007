"""Tables as the index holds them: columns, counts, and what was sampled of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.finding import of_kinds
from capdisc_indexer.tools.held import cell, described, held, members, number, records, text
from capdisc_indexer.tools.inputs import name
from capdisc_indexer.tools.lookup import is_part, named, tail, whole_of
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import Descriptor

MAX_COLUMNS = 1_000


@frozen(kw_only=True)
class Table:
    """One table. `rows` are samples in the order of `columns`; `is_complete` says that there are no others."""

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
        return [text(column, "name") for column in self.columns]


def table_of(descriptor: Descriptor) -> Table:
    """The table that the capability is; a hand-written one may have nothing but parameters for columns."""
    facts = held(descriptor)
    rows = facts.get("rows")
    return Table(
        descriptor=descriptor,
        database=whole_of(descriptor),
        columns=tuple(_columns(descriptor, facts)[:MAX_COLUMNS]),
        row_count=number(facts, "row_count"),
        samples=members(facts, "samples"),
        rows=tuple(row for row in rows if isinstance(row, (list, tuple))) if isinstance(rows, (list, tuple)) else (),
        is_complete=facts.get("complete") is True,
    )


def _columns(descriptor: Descriptor, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    declared = [_column(each) for each in records(facts, "columns") if text(each, "name")]
    own = [{"name": each.name, "type": each.type, "nullable": not each.required} for each in descriptor.parameters]
    return declared or own


def _column(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Name, type, nullable and primary_key; foreign_key and description where there are such."""
    shown: dict[str, Any] = {
        "name": text(declared, "name"),
        "type": text(declared, "type"),
        "nullable": declared.get("nullable") is not False,
        "primary_key": declared.get("primary_key") is True,
    }
    return shown | {key: text(declared, key) for key in ("foreign_key", "description") if text(declared, key)}


def tables(desk: Desk, database: str = "") -> Iterator[Table]:
    """Every table, by id; those of one database, where it is named."""
    for head in of_kinds(desk, "table"):
        if not database or _may_be_part(head, database):
            descriptor = desk.index.whole(head)
            if not database or is_part(descriptor, database):
                yield table_of(descriptor)


def _may_be_part(head: Mapping[str, Any], database: str) -> bool:
    """Whether it is worth looking at the whole: ids of loaders begin with the database, other ids say nothing."""
    is_made = head["source"]["format"] not in ("capability", "catalogue")
    return not is_made or tail(str(head["id"])).lower().startswith(f"{database.lower()}.")


def table_named(desk: Desk, table: str, database: str = "") -> Table:
    """The table of this name or id. Raises UsageError where there is none, or several and no database to choose by."""
    return table_of(named(desk, table, "table", within=database))


def databases(desk: Desk) -> dict[str, Descriptor | None]:
    """The databases by name; those that only their tables speak of have nothing behind them."""
    known: dict[str, Descriptor | None] = {head["name"]: desk.index.whole(head) for head in of_kinds(desk, "database")}
    forms = {name.lower() for name in known}
    for table in tables(desk):
        if table.database.lower() not in forms:
            known.setdefault(table.database, None)
    return dict(sorted(known.items()))


def database_named(desk: Desk, name: str) -> str:
    """The database as it is written. Raises UsageError naming those that there are."""
    known = databases(desk)
    wanted = name.removeprefix("database:").lower()
    found = next((each for each in known if each.lower() == wanted), None)
    if found is None:
        listed = ", ".join(one_line(each, 60) for each in list(known)[:20]) or "none yet"
        raise UsageError(f"there is no database {one_line(name, 80)!r}", f"here: {listed}")
    return found


def line_of(table: Table) -> dict[str, Any]:
    """The table in a list of tables."""
    return {"name": table.name, "row_count": table.row_count, "description": described(table.descriptor)}


def row_of(table: Table, row: Sequence[Any]) -> dict[str, Any]:
    """A sampled row by its columns."""
    return {name: cell(value) for name, value in zip(table.column_names, row, strict=False)}


# How a tool asks for a table.
WHICH_TABLE = {"table": name("Its name or id."), "database": name("Where several have that name.")}


def asked_table(desk: Desk, arguments: Mapping[str, Any]) -> Table:
    """The table that arguments of WHICH_TABLE name. Raises as `table_named`."""
    return table_named(desk, arguments["table"], arguments.get("database", ""))
