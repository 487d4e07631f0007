"""One table while its declaration is read, and what one column of it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources.formats.tables.sql_tokens import MYSQL, SqlToken, dialect_of
from capdisc_indexer.sources.formats.tables.table_types import Column, Table

MAX_COLUMNS = 500
# Words that end the type of a column, or its default.
_ENDS = frozenset(
    """
    as auto_increment autoincrement character check collate comment constraint default deferrable encode generated
    identity initially invisible key masked not null on primary references sparse storage unique virtual visible
    """.split()
)


@dataclass(slots=True)
class TableDraft:
    """A table while its statements are read. `foreign` has own column, table and column there, ""
    for its key; `comments` are those that a statement of their own gives to columns.
    """

    name: str
    columns: list[Column] = field(default_factory=list)
    primary: list[str] = field(default_factory=list)
    foreign: list[tuple[str, str, str]] = field(default_factory=list)
    comment: str = ""
    comments: dict[str, str] = field(default_factory=dict)
    is_view: bool = False


def closing_bracket(tokens: Sequence[SqlToken], start: int) -> int:
    """The place of the bracket that closes the one at `start`; the end where none does."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].word, 0)
        if depth == 0:
            return place
    return len(tokens)


def names_in(item: Sequence[SqlToken], start: int) -> list[str]:
    """The names in the first brackets from there on, without lengths and orders."""
    opening = next(
        (place for place in range(start, len(item)) if item[place].word == "("), len(item)
    )
    inside = item[opening + 1 : closing_bracket(item, opening)]
    names, depth = [], 0
    for place, token in enumerate(inside):
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        is_first = place == 0 or inside[place - 1].word == ","
        if depth == 0 and is_first and token.name:
            names.append(token.name)
    return names


def read_qualified_name(tokens: Sequence[SqlToken], start: int) -> tuple[str, int]:
    """The name that begins there, without the schemas that everybody has, and the place behind
    it.
    """
    parts, place = [], start
    while place < len(tokens) and tokens[place].name:
        parts.append(tokens[place].name)
        place += 1
        if place >= len(tokens) or tokens[place].word != ".":
            break
        place += 1
    usual = {"public", "main", "dbo"}
    name_parts = parts[-2:] if len(parts) > 1 and parts[-2].lower() not in usual else parts[-1:]
    return ".".join(name_parts), place


def read_column(draft: TableDraft, item: Sequence[SqlToken], comment_text: str, sql: str) -> None:
    """Adds the column that these words declare; `said` is what comments say of it."""
    if len(draft.columns) >= MAX_COLUMNS:
        return
    name = item[0].name
    end = _until_end(item, 1)
    words = [token.word for token in item]
    nullable, default, key, comment = True, None, 0, comment_text
    place = end
    while place < len(item):
        if words[place : place + 2] == ["not", "null"]:
            nullable, place = False, place + 1
        elif words[place : place + 2] == ["primary", "key"]:
            key, place = 1, place + 1
        elif words[place] == "default":
            stop = max(_until_end(item, place + 2), place + 2)
            default, place = _source_text(item[place + 1 : stop], sql), stop - 1
        elif words[place] == "references":
            target, after = read_qualified_name(item, place + 1)
            referred_columns = (
                names_in(item, after) if after < len(item) and words[after] == "(" else []
            )
            draft.foreign.append((name, target, referred_columns[0] if referred_columns else ""))
            place = after - 1
        elif words[place] == "comment" and place + 1 < len(item):
            comment, place = item[place + 1].string or comment, place + 1
        elif words[place] == "(":
            place = closing_bracket(item, place)
        place += 1
    if key:
        draft.primary = [name]
    declared = _source_text(item[1:end], sql) or ""
    draft.columns.append(
        Column(
            name=name,
            type=declared[:200],
            nullable=nullable,
            default=default,
            comment=comment[:1_000],
        )
    )


def _until_end(item: Sequence[SqlToken], start: int) -> int:
    """Where the next word stands that no type or default goes on with."""
    place = start
    while place < len(item) and not _is_end(item, place):
        place = closing_bracket(item, place) + 1 if item[place].word == "(" else place + 1
    return min(place, len(item))


def _is_end(item: Sequence[SqlToken], place: int) -> bool:
    word = item[place].word if item[place].kind == "word" else ""
    # `character varying` is a type, `character set` is not.
    is_type = word == "character" and not (place + 1 < len(item) and item[place + 1].word == "set")
    return word in _ENDS and not is_type


def _source_text(part: Sequence[SqlToken], sql: str) -> str | None:
    """The words as the author wrote them, on one line."""
    return " ".join(sql[part[0].start : part[-1].end].split())[:200] if part else None


# The parts of one CREATE TABLE, between its commas: columns and keys.

_OF_TABLE = frozenset("constraint primary unique foreign check exclude like period".split())
_INDEXES = frozenset("key index fulltext spatial".split())


def split_items(tokens: Sequence[SqlToken], sql: str) -> Iterator[tuple[list[SqlToken], str]]:
    """The parts between commas, each with what comments say of it: those above it, or behind it on
    its line.
    """
    current: list[SqlToken] = []
    comments: list[str] = []
    depth = 0
    pending: tuple[list[SqlToken], list[str]] | None = None
    for token in tokens:
        if token.kind == "comment":
            last_token = pending[0][-1] if pending else current[-1] if current else None
            is_behind = last_token is not None and "\n" not in sql[last_token.end : token.start]
            (pending[1] if pending and is_behind else comments).append(token.comment_text)
            continue
        if pending:
            yield pending[0], " ".join(pending[1])
            pending = None
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        if token.word == "," and depth == 0:
            pending, current, comments = (current, comments), [], []
        else:
            current.append(token)
    for item_tokens, words in filter(None, (pending, (current, comments))):
        yield item_tokens, " ".join(words)


def read_item(
    draft: TableDraft, item: Sequence[SqlToken], comment: str, sql: str, is_mysql: bool
) -> None:
    """Adds what one part of the brackets declares."""
    if not item:
        return
    first = item[0].word if item[0].kind == "word" else ""
    if first in _OF_TABLE or (is_mysql and first in _INDEXES):
        read_key(draft, item)
    elif item[0].name:
        read_column(draft, item, comment, sql)


def read_key(draft: TableDraft, item: Sequence[SqlToken]) -> None:
    """Adds a primary or foreign key of the table; other constraints say nothing that is kept."""
    words = [token.word for token in item]
    for place in range(len(words) - 1):
        if words[place : place + 2] == ["primary", "key"]:
            draft.primary = names_in(item, place)
            return
        if words[place : place + 2] == ["foreign", "key"] and "references" in words[place:]:
            at = words.index("references", place)
            target, end = read_qualified_name(item, at + 1)
            referred_columns = (
                names_in(item[:], end) if end < len(item) and words[end] == "(" else []
            )
            key_columns = names_in(item[:at], place)
            draft.foreign += [
                (name, target, referred_columns[number] if number < len(referred_columns) else "")
                for number, name in enumerate(key_columns)
            ]
            return


# What statements leave open: comments among options, columns of views, keys that name no column,
# the dialect.

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
