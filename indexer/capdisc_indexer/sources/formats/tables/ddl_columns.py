"""One table while its declaration is read, and what one column of it declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from capdisc_indexer.sources.formats.tables.sql_tokens import SqlToken
from capdisc_indexer.sources.formats.tables.table_types import Column

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
