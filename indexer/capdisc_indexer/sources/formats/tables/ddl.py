"""Files of SQL that declare tables: CREATE TABLE and VIEW, keys and comments, of SQLite,
PostgreSQL and MySQL alike.

Nothing is executed, and rows are passed over. A parser of whole SQL (sqlglot) knows more dialects;
declarations of tables are a small and stable part of the language, and what is not understood is
said.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.model.types import Finding, LoadedFile
from capdisc_indexer.sources.formats.derived_capability import name_of
from capdisc_indexer.sources.formats.tables.ddl_columns import (
    TableDraft,
    build_table,
    closing_bracket,
    kind_of,
    names_in,
    option_comment,
    read_item,
    read_key,
    read_qualified_name,
    split_items,
    view_columns,
)
from capdisc_indexer.sources.formats.tables.sql_tokens import (
    MAX_TOKENS,
    MYSQL,
    SqlToken,
    dialect_of,
    read_statements,
)
from capdisc_indexer.sources.formats.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.sources.formats.tables.table_types import Column, ReaderNote, Tables
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash

MAX_TABLES = 2_000
MAX_NOTES = 20
_MODIFIERS = frozenset(
    "or replace temp temporary unlogged global local foreign external materialized force".split()
)
# Headings that programs write above each table of a dump.
_NOISE = (
    "name: ",
    "table structure for",
    "dumping data for",
    "structure for view",
    "table: ",
    "create table",
)


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The tables that the file declares, as the schema of one database."""
    sql = decode(data, file.path)
    if isinstance(sql, Finding):
        return LoadedFile(findings=(sql,))
    return build_table_capabilities(file, name_of(file), read_ddl(sql), content_hash(data))


def read_ddl(sql: str) -> Tables:
    """The tables and views that the statements declare."""
    script = _Script(sql)
    for statement in read_statements(sql):
        script.read(statement)
    return script.result()


def column_comments(sql: str) -> tuple[str, dict[str, str]]:
    """What the comments inside one CREATE TABLE say of the table and, by name in lower case, of
    its columns.
    """
    if "--" not in sql and "/*" not in sql:
        return "", {}
    tables = read_ddl(sql).tables[:1]
    columns = {
        column.name.lower(): column.comment
        for first_table in tables
        for column in first_table.columns
        if column.comment
    }
    return (tables[0].comment if tables else ""), columns


class _Script:
    """The statements of a file as they are read, one after the other."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._is_mysql = dialect_of(sql) is MYSQL
        self._drafts: dict[str, TableDraft] = {}
        self._tokens = 0
        self._skipped: list[tuple[int, str]] = []

    def read(self, statement: Sequence[SqlToken]) -> None:
        """Adds what one statement declares."""
        self._tokens += len(statement)
        comment = " ".join(
            token.comment_text
            for token in statement
            if token.kind == "comment" and _above(token, statement)
        )
        code = [token for token in statement if token.kind != "comment"]
        place = next((n for n in range(1, len(code)) if code[n].word not in _MODIFIERS), len(code))
        what = code[place].word if place < len(code) else ""
        if code[0].word == "create" and what in {"table", "view"}:
            self._create(
                code,
                statement,
                place + 1,
                what == "view",
                "" if comment.lower().startswith(_NOISE) else comment,
            )
        elif code[0].word == "alter" and what == "table":
            self._alter(code, place + 1)
        elif code[0].word == "comment" and what == "on":
            self._comment(code, place + 1)

    def result(self) -> Tables:
        """The tables in their order, keys applied."""
        drafts = list(self._drafts.values())[:MAX_TABLES]
        notes = [
            ReaderNote(
                severity="warning",
                code="table-skipped",
                message=text,
                hint="declare its columns",
                line=line,
            )
            for line, text in self._skipped[:20]
        ]
        if len(self._drafts) > len(drafts):
            message = (
                f"{len(self._drafts) - len(drafts):,} of {len(self._drafts):,} tables are left out"
            )
            notes.append(
                ReaderNote(
                    severity="warning", code="table-skipped", message=message, hint="split the file"
                )
            )
        if self._tokens >= MAX_TOKENS:
            message = "the file declares more than any schema does; the rest of it is not read"
            notes.append(
                ReaderNote(
                    severity="warning", code="table-skipped", message=message, hint="split the file"
                )
            )
        keys = {draft.name.lower(): draft.primary for draft in drafts}
        return Tables(
            kind=kind_of(self._sql),
            tables=tuple(build_table(draft, keys) for draft in drafts),
            notes=tuple(notes),
        )

    def _create(
        self,
        code: Sequence[SqlToken],
        statement: Sequence[SqlToken],
        place: int,
        is_view: bool,
        comment: str,
    ) -> None:
        while place < len(code) and code[place].word in {"if", "not", "exists"}:
            place += 1
        name, after = read_qualified_name(code, place)
        draft = TableDraft(name=name, comment=comment, is_view=is_view)
        if is_view:
            listed = (
                names_in(code, after)
                if after < len(code) and code[after].word == "("
                else view_columns(code, after)
            )
            draft.columns = [Column(name=column_name) for column_name in listed]
        elif after < len(code) and code[after].word == "(":
            self._columns(draft, code[after], statement)
            draft.comment = option_comment(code[closing_bracket(code, after) :]) or draft.comment
        if name and (draft.columns or is_view):
            self._drafts.setdefault(name.lower(), draft)
        elif len(self._skipped) < MAX_NOTES:
            line = self._sql.count("\n", 0, code[0].start) + 1
            self._skipped.append(
                (line, f"the table {name[:64] or '?'} declares no columns; it is left out")
            )

    def _columns(self, draft: TableDraft, opening: SqlToken, statement: Sequence[SqlToken]) -> None:
        start = next(place for place, token in enumerate(statement) if token is opening)
        inside = statement[start + 1 : closing_bracket(statement, start)]
        for item, comment in split_items(inside, self._sql):
            read_item(draft, item, comment, self._sql, self._is_mysql)

    def _alter(self, code: Sequence[SqlToken], place: int) -> None:
        while place < len(code) and code[place].word in {"only", "if", "exists"}:
            place += 1
        name, after = read_qualified_name(code, place)
        if draft := self._drafts.get(name.lower()):
            for item, _ in split_items(code[after:], self._sql):
                words = [token.word for token in item]
                if words[:1] == ["add"] and {"primary", "foreign"} & set(words):
                    read_key(draft, item[1:])
                elif words[:2] == ["add", "column"]:
                    read_item(draft, item[2:], "", self._sql, self._is_mysql)

    def _comment(self, code: Sequence[SqlToken], place: int) -> None:
        """COMMENT ON TABLE name IS 'text', COMMENT ON COLUMN name.column IS 'text'."""
        what = code[place].word if place < len(code) else ""
        comment = code[-1].string.strip()
        names = [token.name for token in code[place + 1 : -2] if token.name]
        owner, _ = read_qualified_name(code, place + 1)
        if what in {"table", "view"} and (draft := self._drafts.get(owner.lower())):
            draft.comment = comment
        elif what == "column" and len(names) > 1 and (draft := self._owner(names[:-1])):
            draft.comments[names[-1].lower()] = comment

    def _owner(self, names: Sequence[str]) -> TableDraft | None:
        known_names = (".".join(names[-2:]).lower(), names[-1].lower())
        return next((self._drafts[name] for name in known_names if name in self._drafts), None)


def _above(token: SqlToken, statement: Sequence[SqlToken]) -> bool:
    return token.start < next((token.start for token in statement if token.kind != "comment"), 0)
