"""The parts of one CREATE TABLE, between its commas: columns and keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capdisc_indexer.sources.tables.ddl_columns import Draft, names_in, qualified, read_column
from capdisc_indexer.sources.tables.sql_tokens import Token

_OF_TABLE = frozenset("constraint primary unique foreign check exclude like period".split())
_INDEXES = frozenset("key index fulltext spatial".split())


def items(tokens: Sequence[Token], sql: str) -> Iterator[tuple[list[Token], str]]:
    """The parts between commas, each with what comments say of it: those above it, or behind it on its line."""
    current: list[Token] = []
    said: list[str] = []
    depth = 0
    pending: tuple[list[Token], list[str]] | None = None
    for token in tokens:
        if token.kind == "comment":
            last = pending[0][-1] if pending else current[-1] if current else None
            is_behind = last is not None and "\n" not in sql[last.end : token.start]
            (pending[1] if pending and is_behind else said).append(token.said)
            continue
        if pending:
            yield pending[0], " ".join(pending[1])
            pending = None
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        if token.word == "," and depth == 0:
            pending, current, said = (current, said), [], []
        else:
            current.append(token)
    for rest, words in filter(None, (pending, (current, said))):
        yield rest, " ".join(words)


def read_item(draft: Draft, item: Sequence[Token], said: str, sql: str, is_mysql: bool) -> None:
    """Adds what one part of the brackets declares."""
    if not item:
        return
    first = item[0].word if item[0].kind == "word" else ""
    if first in _OF_TABLE or (is_mysql and first in _INDEXES):
        read_key(draft, item)
    elif item[0].name:
        read_column(draft, item, said, sql)


def read_key(draft: Draft, item: Sequence[Token]) -> None:
    """Adds a primary or foreign key of the table; other constraints say nothing that is kept."""
    words = [token.word for token in item]
    for place in range(len(words) - 1):
        if words[place : place + 2] == ["primary", "key"]:
            draft.primary = names_in(item, place)
            return
        if words[place : place + 2] == ["foreign", "key"] and "references" in words[place:]:
            at = words.index("references", place)
            target, end = qualified(item, at + 1)
            others = names_in(item[:], end) if end < len(item) and words[end] == "(" else []
            own = names_in(item[:at], place)
            draft.foreign += [
                (name, target, others[number] if number < len(others) else "") for number, name in enumerate(own)
            ]
            return
