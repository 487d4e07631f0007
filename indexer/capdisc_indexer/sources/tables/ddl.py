"""Files of SQL that declare tables: CREATE TABLE and VIEW, keys and comments, of SQLite, PostgreSQL and MySQL alike.

Nothing is executed, and rows are passed over. A parser of whole SQL (sqlglot) knows more dialects; declarations of
tables are a small and stable part of the language, and what is not understood is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.sources.files import FoundFile, content_hash
from capdisc_indexer.sources.made import name_of
from capdisc_indexer.sources.tables.ddl_columns import Draft, matching, names_in, qualified
from capdisc_indexer.sources.tables.ddl_items import items, read_item, read_key
from capdisc_indexer.sources.tables.ddl_result import kind_of, option_comment, selected, table
from capdisc_indexer.sources.tables.described import described
from capdisc_indexer.sources.tables.sql_tokens import MAX_TOKENS, MYSQL, Token, dialect_of, statements
from capdisc_indexer.sources.tables.values import Column, Note, Tables
from capdisc_indexer.types import Finding, Loaded

MAX_TABLES = 2_000
MAX_NOTES = 20
_MODIFIERS = frozenset("or replace temp temporary unlogged global local foreign external materialized force".split())
# Headings that programs write above each table of a dump.
_NOISE = ("name: ", "table structure for", "dumping data for", "structure for view", "table: ", "create table")


def load(file: FoundFile, data: bytes) -> Loaded:
    """The tables that the file declares, as the schema of one database."""
    sql = decode(data, file.path)
    if isinstance(sql, Finding):
        return Loaded(findings=(sql,))
    return described(file, name_of(file), read(sql), content_hash(data))


def read(sql: str) -> Tables:
    """The tables and views that the statements declare."""
    script = _Script(sql)
    for statement in statements(sql):
        script.read(statement)
    return script.result()


def comments(sql: str) -> tuple[str, dict[str, str]]:
    """What the comments inside one CREATE TABLE say of the table and, by name in lower case, of its columns."""
    if "--" not in sql and "/*" not in sql:
        return "", {}
    found = read(sql).tables[:1]
    columns = {each.name.lower(): each.comment for one in found for each in one.columns if each.comment}
    return (found[0].comment if found else ""), columns


class _Script:
    """The statements of a file as they are read, one after the other."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._is_mysql = dialect_of(sql) is MYSQL
        self._drafts: dict[str, Draft] = {}
        self._tokens = 0
        self._skipped: list[tuple[int, str]] = []

    def read(self, statement: Sequence[Token]) -> None:
        """Adds what one statement declares."""
        self._tokens += len(statement)
        said = " ".join(token.said for token in statement if token.kind == "comment" and _above(token, statement))
        code = [token for token in statement if token.kind != "comment"]
        place = next((n for n in range(1, len(code)) if code[n].word not in _MODIFIERS), len(code))
        what = code[place].word if place < len(code) else ""
        if code[0].word == "create" and what in {"table", "view"}:
            self._create(code, statement, place + 1, what == "view", "" if said.lower().startswith(_NOISE) else said)
        elif code[0].word == "alter" and what == "table":
            self._alter(code, place + 1)
        elif code[0].word == "comment" and what == "on":
            self._comment(code, place + 1)

    def result(self) -> Tables:
        """The tables in their order, keys applied."""
        kept = list(self._drafts.values())[:MAX_TABLES]
        notes = [
            Note(severity="warning", code="table-skipped", message=text, hint="declare its columns", line=line)
            for line, text in self._skipped[:20]
        ]
        if len(self._drafts) > len(kept):
            message = f"{len(self._drafts) - len(kept):,} of {len(self._drafts):,} tables are left out"
            notes.append(Note(severity="warning", code="table-skipped", message=message, hint="split the file"))
        if self._tokens >= MAX_TOKENS:
            message = "the file declares more than any schema does; the rest of it is not read"
            notes.append(Note(severity="warning", code="table-skipped", message=message, hint="split the file"))
        keys = {draft.name.lower(): draft.primary for draft in kept}
        return Tables(kind=kind_of(self._sql), tables=tuple(table(draft, keys) for draft in kept), notes=tuple(notes))

    def _create(self, code: Sequence[Token], whole: Sequence[Token], place: int, is_view: bool, said: str) -> None:
        while place < len(code) and code[place].word in {"if", "not", "exists"}:
            place += 1
        name, after = qualified(code, place)
        draft = Draft(name=name, comment=said, is_view=is_view)
        if is_view:
            listed = names_in(code, after) if after < len(code) and code[after].word == "(" else selected(code, after)
            draft.columns = [Column(name=each) for each in listed]
        elif after < len(code) and code[after].word == "(":
            self._columns(draft, code[after], whole)
            draft.comment = option_comment(code[matching(code, after) :]) or draft.comment
        if name and (draft.columns or is_view):
            self._drafts.setdefault(name.lower(), draft)
        elif len(self._skipped) < MAX_NOTES:
            line = self._sql.count("\n", 0, code[0].start) + 1
            self._skipped.append((line, f"the table {name[:64] or '?'} declares no columns; it is left out"))

    def _columns(self, draft: Draft, opening: Token, whole: Sequence[Token]) -> None:
        start = next(place for place, token in enumerate(whole) if token is opening)
        inside = whole[start + 1 : matching(whole, start)]
        for item, said in items(inside, self._sql):
            read_item(draft, item, said, self._sql, self._is_mysql)

    def _alter(self, code: Sequence[Token], place: int) -> None:
        while place < len(code) and code[place].word in {"only", "if", "exists"}:
            place += 1
        name, after = qualified(code, place)
        if draft := self._drafts.get(name.lower()):
            for item, _ in items(code[after:], self._sql):
                words = [token.word for token in item]
                if words[:1] == ["add"] and {"primary", "foreign"} & set(words):
                    read_key(draft, item[1:])
                elif words[:2] == ["add", "column"]:
                    read_item(draft, item[2:], "", self._sql, self._is_mysql)

    def _comment(self, code: Sequence[Token], place: int) -> None:
        """COMMENT ON TABLE name IS 'text', COMMENT ON COLUMN name.column IS 'text'."""
        what = code[place].word if place < len(code) else ""
        said = code[-1].string.strip()
        names = [token.name for token in code[place + 1 : -2] if token.name]
        owner, _ = qualified(code, place + 1)
        if what in {"table", "view"} and (draft := self._drafts.get(owner.lower())):
            draft.comment = said
        elif what == "column" and len(names) > 1 and (draft := self._owner(names[:-1])):
            draft.comments[names[-1].lower()] = said

    def _owner(self, names: Sequence[str]) -> Draft | None:
        known = (".".join(names[-2:]).lower(), names[-1].lower())
        return next((self._drafts[name] for name in known if name in self._drafts), None)


def _above(token: Token, statement: Sequence[Token]) -> bool:
    return token.start < next((each.start for each in statement if each.kind != "comment"), 0)
