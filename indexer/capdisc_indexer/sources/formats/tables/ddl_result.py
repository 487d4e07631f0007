"""What statements leave open: comments among options, columns of views, keys that name no column,
the dialect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources.formats.tables.ddl_columns import TableDraft
from capdisc_indexer.sources.formats.tables.ddl_items import split_items
from capdisc_indexer.sources.formats.tables.sql_tokens import MYSQL, SqlToken, dialect_of
from capdisc_indexer.sources.formats.tables.table_types import Table

MAX_KEYS = 500


def option_comment(options: Sequence[SqlToken]) -> str:
    """The comment of a table, as MySQL writes it: `) ENGINE=InnoDB COMMENT='text'`."""
    for place, token in enumerate(options):
        if token.word == "comment":
            return next(
                (token.string for token in options[place + 1 : place + 3] if token.string), ""
            )
    return ""


def view_columns(code: Sequence[SqlToken], place: int) -> list[str]:
    """The names that a view's columns have, as far as its first SELECT tells: an alias, or a plain
    column.
    """
    words = [token.word for token in code]
    start = next((n for n in range(place, len(words)) if words[n] == "select"), len(words))
    end, depth = start + 1, 0
    while end < len(words) and not (depth == 0 and words[end] == "from"):
        depth += {"(": 1, ")": -1}.get(words[end], 0)
        end += 1
    columns = [item[-1].name for item, _ in split_items(code[start + 1 : end], "") if item]
    return [name for name in columns if name]


def build_table(draft: TableDraft, keys: Mapping[str, Sequence[str]]) -> Table:
    """The table, its keys applied; one that names no column leads to the primary key."""
    order = {name.lower(): place for place, name in enumerate(draft.primary, 1)}
    targets = {}
    for place, (key_column, target_table, column) in enumerate(draft.foreign[:MAX_KEYS]):
        primary = keys.get(target_table.lower(), [])
        before = sum(1 for _, target, _ in draft.foreign[:place] if target == target_table)
        implied = primary[min(before, len(primary) - 1)] if primary else ""
        targets[key_column.lower()] = f"{target_table}.{column or implied}"
    columns = []
    for column_draft in draft.columns:
        name = column_draft.name.lower()
        comment = draft.comments.get(name, column_draft.comment)[:1_000]
        columns.append(
            replace(
                column_draft,
                key=order.get(name, 0),
                refers_to=targets.get(name, ""),
                comment=comment,
            )
        )
    return Table(
        name=draft.name,
        columns=tuple(columns),
        is_view=draft.is_view,
        comment=draft.comment[:1_000],
    )


def kind_of(sql: str) -> str:
    """Whose SQL it is, as far as it shows."""
    if dialect_of(sql) is MYSQL:
        return "mysql"
    lowered = sql[:200_000].lower()
    if (
        "postgresql database dump" in lowered
        or "comment on " in lowered
        or "serial" in lowered
        or "::" in lowered
    ):
        return "postgresql"
    return "sqlite" if "autoincrement" in lowered or "pragma " in lowered else "sql"
