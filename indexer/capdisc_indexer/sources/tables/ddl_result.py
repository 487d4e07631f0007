"""What statements leave open: comments among options, columns of views, keys that name no column, the dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.frozen import replace
from capdisc_indexer.sources.tables.ddl_columns import Draft
from capdisc_indexer.sources.tables.ddl_items import items
from capdisc_indexer.sources.tables.sql_tokens import MYSQL, Token, dialect_of
from capdisc_indexer.sources.tables.values import Table

MAX_KEYS = 500


def option_comment(options: Sequence[Token]) -> str:
    """The comment of a table, as MySQL writes it: `) ENGINE=InnoDB COMMENT='text'`."""
    for place, token in enumerate(options):
        if token.word == "comment":
            return next((each.string for each in options[place + 1 : place + 3] if each.string), "")
    return ""


def selected(code: Sequence[Token], place: int) -> list[str]:
    """The names that a view's columns have, as far as its first SELECT tells: an alias, or a plain column."""
    words = [token.word for token in code]
    start = next((n for n in range(place, len(words)) if words[n] == "select"), len(words))
    end, depth = start + 1, 0
    while end < len(words) and not (depth == 0 and words[end] == "from"):
        depth += {"(": 1, ")": -1}.get(words[end], 0)
        end += 1
    found = [item[-1].name for item, _ in items(code[start + 1 : end], "") if item]
    return [name for name in found if name]


def table(draft: Draft, keys: Mapping[str, Sequence[str]]) -> Table:
    """The table, its keys applied; one that names no column leads to the primary key."""
    order = {name.lower(): place for place, name in enumerate(draft.primary, 1)}
    targets = {}
    for place, (own, other, column) in enumerate(draft.foreign[:MAX_KEYS]):
        primary = keys.get(other.lower(), [])
        before = sum(1 for _, each, _ in draft.foreign[:place] if each == other)
        implied = primary[min(before, len(primary) - 1)] if primary else ""
        targets[own.lower()] = f"{other}.{column or implied}"
    columns = []
    for each in draft.columns:
        name = each.name.lower()
        said = draft.comments.get(name, each.comment)[:1_000]
        columns.append(replace(each, key=order.get(name, 0), refers_to=targets.get(name, ""), comment=said))
    return Table(name=draft.name, columns=tuple(columns), is_view=draft.is_view, comment=draft.comment[:1_000])


def kind_of(sql: str) -> str:
    """Whose SQL it is, as far as it shows."""
    if dialect_of(sql) is MYSQL:
        return "mysql"
    lowered = sql[:200_000].lower()
    if "postgresql database dump" in lowered or "comment on " in lowered or "serial" in lowered or "::" in lowered:
        return "postgresql"
    return "sqlite" if "autoincrement" in lowered or "pragma " in lowered else "sql"
