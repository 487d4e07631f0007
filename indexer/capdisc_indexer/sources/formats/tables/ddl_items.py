"""The parts of one CREATE TABLE, between its commas: columns and keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capdisc_indexer.sources.formats.tables.ddl_columns import (
    TableDraft,
    names_in,
    read_column,
    read_qualified_name,
)
from capdisc_indexer.sources.formats.tables.sql_tokens import SqlToken

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
