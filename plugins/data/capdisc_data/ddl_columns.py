"""One table or view as its statements declare it: columns, keys and comments, read from tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from capdisc_data.sql_tokens import SqlToken
from capdisc_data.tables import Column, Table
from capdisc_indexer.model.frozen import replace

MAX_COLUMNS = 500
MAX_KEYS = 500
# Words that end the type of a column, or its default.
_CLAUSE_WORDS = frozenset(
    """
    as auto_increment autoincrement character check collate comment constraint default deferrable encode generated
    identity initially invisible key masked not null on primary references sparse storage unique virtual visible
    """.split()
)
# First words of parts that are not columns; the second set holds in MySQL only.
_TABLE_CONSTRAINTS = frozenset(
    "constraint primary unique foreign check exclude like period".split()
)
_MYSQL_INDEXES = frozenset("key index fulltext spatial".split())
# Types whose parts stand in angle brackets: MAP<STRING, INT>.
_NESTED_TYPES = frozenset("array map row struct".split())
_DEPTH_CHANGES = {"(": 1, ")": -1}
# Schemas that every database has; a name in one of them is known without it.
_DEFAULT_SCHEMAS = frozenset({"public", "main", "dbo"})


@dataclass(slots=True)
class TableDraft:
    """A table while its statements are read.

    `foreign_keys` are triples of the own column, the other table, and its column ("" for its
    primary key); `column_comments` come from statements of their own and win over others.
    """

    name: str
    columns: list[Column] = field(default_factory=list)
    primary_key: list[str] = field(default_factory=list)
    foreign_keys: list[tuple[str, str, str]] = field(default_factory=list)
    comment: str = ""
    column_comments: dict[str, str] = field(default_factory=dict)
    is_view: bool = False


def build_table(draft: TableDraft, primary_keys: Mapping[str, Sequence[str]]) -> Table:
    """The table with its keys applied.

    A foreign key that names no column leads to the other table's primary key, which
    `primary_keys` has by the table's name in lower case.
    """
    key_places = {name.lower(): place for place, name in enumerate(draft.primary_key, 1)}
    targets = {}
    for place, (key_column, target_table, target_column) in enumerate(
        draft.foreign_keys[:MAX_KEYS]
    ):
        primary_key = primary_keys.get(target_table.lower(), [])
        before = sum(1 for _, table, _ in draft.foreign_keys[:place] if table == target_table)
        implied = primary_key[min(before, len(primary_key) - 1)] if primary_key else ""
        targets[key_column.lower()] = f"{target_table}.{target_column or implied}"
    columns = []
    for column in draft.columns:
        name = column.name.lower()
        columns.append(
            replace(
                column,
                key=key_places.get(name, 0),
                nullable=column.nullable and name not in key_places,
                refers_to=targets.get(name, ""),
                comment=draft.column_comments.get(name, column.comment)[:1_000],
            )
        )
    return Table(
        name=draft.name,
        columns=tuple(columns),
        is_view=draft.is_view,
        comment=draft.comment[:1_000],
    )


def split_items(tokens: Sequence[SqlToken], sql: str) -> Iterator[tuple[list[SqlToken], str]]:
    """The parts between commas, each with its comments: those above it, and those behind it on its
    line.
    """
    current: list[SqlToken] = []
    comments: list[str] = []
    depth = angle_depth = 0
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
        word = token.word
        depth += _DEPTH_CHANGES.get(word, 0)
        if word == "<" and current and current[-1].word in _NESTED_TYPES:
            angle_depth += 1
        elif word == ">" and angle_depth:
            angle_depth -= 1
        if word == "," and depth == 0 and angle_depth == 0:
            pending, current, comments = (current, comments), [], []
        else:
            current.append(token)
    for item, item_comments in filter(None, (pending, (current, comments))):
        yield item, " ".join(item_comments)


def read_item(
    draft: TableDraft, item: Sequence[SqlToken], comment: str, sql: str, is_mysql: bool
) -> None:
    """Adds the column or key that one part of a CREATE TABLE declares."""
    if not item:
        return
    first = item[0].word if item[0].kind == "word" else ""
    if first in _TABLE_CONSTRAINTS or (is_mysql and first in _MYSQL_INDEXES):
        read_key(draft, item)
    elif item[0].name:
        _read_column(draft, item, comment, sql)


def read_key(draft: TableDraft, item: Sequence[SqlToken]) -> None:
    """Adds a primary or foreign key of the table; other constraints are not kept."""
    words = [token.word for token in item]
    for place in range(len(words) - 1):
        if words[place : place + 2] == ["primary", "key"]:
            draft.primary_key = _names_in_brackets(item, place)
            return
        if words[place : place + 2] == ["foreign", "key"] and "references" in words[place:]:
            references = words.index("references", place)
            target, target_columns, _ = _read_reference(item, references)
            for number, name in enumerate(_names_in_brackets(item[:references], place)):
                target_column = target_columns[number] if number < len(target_columns) else ""
                draft.foreign_keys.append((name, target, target_column))
            return


def _read_column(draft: TableDraft, item: Sequence[SqlToken], comment_text: str, sql: str) -> None:
    """Adds the column; `comment_text`, from SQL comments, yields to a COMMENT clause."""
    if len(draft.columns) >= MAX_COLUMNS:
        return
    name = item[0].name
    end_of_type = _end_of_expression(item, 1)
    words = [token.word for token in item]
    nullable, default, comment = True, None, comment_text
    place = end_of_type
    while place < len(item):
        if words[place : place + 2] == ["not", "null"]:
            nullable, place = False, place + 1
        elif words[place : place + 2] == ["primary", "key"]:
            draft.primary_key, place = [name], place + 1
        elif words[place] == "default":
            # At least one token, since NULL is a default and ends others.
            end = max(_end_of_expression(item, place + 2), place + 2)
            default, place = _source_text(item[place + 1 : end], sql), end - 1
        elif words[place] == "references":
            target, target_columns, after = _read_reference(item, place)
            draft.foreign_keys.append((name, target, target_columns[0] if target_columns else ""))
            place = after - 1
        elif words[place] == "comment" and place + 1 < len(item):
            comment, place = item[place + 1].string or comment, place + 1
        elif words[place] == "(":
            place = closing_bracket(item, place)
        place += 1
    draft.columns.append(
        Column(
            name=name,
            type=_source_text(item[1:end_of_type], sql) or "",
            nullable=nullable,
            default=default,
            comment=comment[:1_000],
        )
    )


def _read_reference(item: Sequence[SqlToken], place: int) -> tuple[str, list[str], int]:
    """The table behind REFERENCES at `place`, its columns if named, and the place behind the
    table's name.
    """
    table, after = read_qualified_name(item, place + 1)
    has_columns = after < len(item) and item[after].word == "("
    return table, _names_in_brackets(item, after) if has_columns else [], after


def read_qualified_name(tokens: Sequence[SqlToken], start: int) -> tuple[str, int]:
    """The name that begins at `start`, without a default schema, and the place behind it."""
    parts, place = [], start
    while place < len(tokens) and tokens[place].name:
        parts.append(tokens[place].name)
        place += 1
        if place >= len(tokens) or tokens[place].word != ".":
            break
        place += 1
    has_schema = len(parts) > 1 and parts[-2].lower() not in _DEFAULT_SCHEMAS
    return ".".join(parts[-2:] if has_schema else parts[-1:]), place


def table_comment(options: Sequence[SqlToken]) -> str:
    """The comment of a table, as MySQL writes it: `) ENGINE=InnoDB COMMENT='text'`."""
    for place, token in enumerate(options):
        if token.word == "comment":
            strings = (following.string for following in options[place + 1 : place + 3])
            return next(filter(None, strings), "")
    return ""


def view_columns(tokens: Sequence[SqlToken], place: int) -> list[str]:
    """The column names of a view: those in brackets at `place`, else those that its first SELECT
    shows, an alias or a plain column each.
    """
    if place < len(tokens) and tokens[place].word == "(":
        return _names_in_brackets(tokens, place)
    words = [token.word for token in tokens]
    start = next((n for n in range(place, len(words)) if words[n] == "select"), len(words))
    end, depth = start + 1, 0
    while end < len(words) and not (depth == 0 and words[end] == "from"):
        depth += _depth_change(tokens[end])
        end += 1
    names = [item[-1].name for item, _ in split_items(tokens[start + 1 : end], "") if item]
    return [name for name in names if name]


def closing_bracket(tokens: Sequence[SqlToken], start: int) -> int:
    """The place of the bracket that closes the one at `start`; the end if none does."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += _depth_change(tokens[place])
        if depth == 0:
            return place
    return len(tokens)


def _names_in_brackets(item: Sequence[SqlToken], start: int) -> list[str]:
    """The names in the first brackets from `start` on, without lengths and orders."""
    opening = next(
        (place for place in range(start, len(item)) if item[place].word == "("), len(item)
    )
    inside = item[opening + 1 : closing_bracket(item, opening)]
    names, depth = [], 0
    for place, token in enumerate(inside):
        depth += _depth_change(token)
        is_first = place == 0 or inside[place - 1].word == ","
        if depth == 0 and is_first and token.name:
            names.append(token.name)
    return names


def _end_of_expression(item: Sequence[SqlToken], start: int) -> int:
    """The place of the next word that cannot belong to a type or default."""
    place = start
    while place < len(item) and not _begins_clause(item, place):
        place = closing_bracket(item, place) + 1 if item[place].word == "(" else place + 1
    return min(place, len(item))


def _begins_clause(item: Sequence[SqlToken], place: int) -> bool:
    word = item[place].word if item[place].kind == "word" else ""
    if word == "character":  # `character varying` is a type, `character set` a clause
        return place + 1 < len(item) and item[place + 1].word == "set"
    return word in _CLAUSE_WORDS


def _source_text(tokens: Sequence[SqlToken], sql: str) -> str | None:
    """The tokens as the author wrote them, on one line."""
    return " ".join(sql[tokens[0].start : tokens[-1].end].split())[:200] if tokens else None


def _depth_change(token: SqlToken) -> int:
    return _DEPTH_CHANGES.get(token.word, 0)
