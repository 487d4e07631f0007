"""Files of SQL that declare tables: CREATE TABLE and VIEW, keys and comments, as SQLite,
PostgreSQL and MySQL write them.

Nothing is executed, and rows are skipped. A clause that is not understood costs neither its table
nor its neighbours; a table without readable columns becomes a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_data.ddl_columns import (
    TableDraft,
    build_table,
    closing_bracket,
    read_item,
    read_key,
    read_qualified_name,
    split_items,
    table_comment,
    view_columns,
)
from capdisc_data.refusals import catch_refusal, text_of
from capdisc_data.sql_tokens import (
    MAX_TOKENS,
    MYSQL,
    SqlToken,
    database_kind,
    dialect_of,
    read_statements,
)
from capdisc_data.table_capabilities import build_table_capabilities
from capdisc_data.tables import Column, ReaderNote, Tables
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.formats.naming_rules import name_of
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash

MAX_TABLES = 2_000
MAX_NOTES = 20
_MODIFIERS = frozenset(
    "or replace temp temporary unlogged global local foreign external materialized force".split()
)
# Between CREATE and VIEW, MySQL's dumps write: ALGORITHM=… DEFINER=… SQL SECURITY …
_VIEW_OPTIONS = frozenset({"algorithm", "definer", "sql"})
_MAX_VIEW_OPTION_TOKENS = 20
# Headings that programs write above each table of a dump.
_GENERATED_HEADINGS = (
    "name: ",
    "table structure for",
    "dumping data for",
    "structure for view",
    "table: ",
    "create table",
)


@catch_refusal
def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The tables that the file declares, as the schema of one database."""
    tables = read_ddl(text_of(file, data))
    return build_table_capabilities(file, name_of(file), tables, content_hash(data))


def read_ddl(sql: str) -> Tables:
    """The tables and views that the statements declare."""
    reader = _SchemaReader(sql)
    for statement in read_statements(sql):
        reader.read(statement)
    return reader.tables()


def column_comments(sql: str) -> tuple[str, dict[str, str]]:
    """The comments inside one CREATE TABLE: that of the table, and those of its columns by name in
    lower case.
    """
    if "--" not in sql and "/*" not in sql:
        return "", {}
    tables = read_ddl(sql).tables
    if not tables:
        return "", {}
    of_columns = {
        column.name.lower(): column.comment for column in tables[0].columns if column.comment
    }
    return tables[0].comment, of_columns


class _SchemaReader:
    """Gathers what the statements of one file declare, in their order."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._is_mysql = dialect_of(sql) is MYSQL
        self._drafts: dict[str, TableDraft] = {}  # by name in lower case
        self._token_count = 0
        self._skipped_tables: list[ReaderNote] = []

    def read(self, statement: Sequence[SqlToken]) -> None:
        """Adds what one statement declares."""
        self._token_count += len(statement)
        code = [token for token in statement if token.kind != "comment"]
        place = _object_place(code)
        object_kind = code[place].word if place < len(code) else ""
        if code[0].word == "create" and object_kind == "table":
            self._create_table(code, statement, place + 1)
        elif code[0].word == "create" and object_kind == "view":
            self._create_view(code, statement, place + 1)
        elif code[0].word == "alter" and object_kind == "table":
            self._alter_table(code, place + 1)
        elif code[0].word == "comment" and object_kind == "on":
            self._comment_on(code, place + 1)

    def tables(self) -> Tables:
        """The tables in their order with their keys, and notes on what was left out."""
        drafts = list(self._drafts.values())[:MAX_TABLES]
        notes = list(self._skipped_tables)
        if left_out := len(self._drafts) - len(drafts):
            notes.append(
                _skipped_note(
                    f"{left_out:,} of {len(self._drafts):,} tables are left out", "split the file"
                )
            )
        if self._token_count >= MAX_TOKENS:
            notes.append(
                _skipped_note(
                    "the file declares more than any schema does; the rest of it is not read",
                    "split the file",
                )
            )
        primary_keys = {draft.name.lower(): draft.primary_key for draft in drafts}
        return Tables(
            kind=database_kind(self._sql),
            tables=tuple(build_table(draft, primary_keys) for draft in drafts),
            notes=tuple(notes),
        )

    def _create_table(
        self, code: Sequence[SqlToken], statement: Sequence[SqlToken], place: int
    ) -> None:
        name, after = _read_created_name(code, place)
        draft = TableDraft(name=name, comment=_comment_above(statement))
        if after < len(code) and code[after].word == "(":
            self._read_columns(draft, code[after], statement)
            draft.comment = table_comment(code[closing_bracket(code, after) :]) or draft.comment
        if name and draft.columns:
            self._drafts.setdefault(name.lower(), draft)
        else:
            self._skip_table(code[0], name)

    def _create_view(
        self, code: Sequence[SqlToken], statement: Sequence[SqlToken], place: int
    ) -> None:
        name, after = _read_created_name(code, place)
        columns = [Column(name=column_name) for column_name in view_columns(code, after)]
        if name:
            draft = TableDraft(
                name=name, columns=columns, comment=_comment_above(statement), is_view=True
            )
            self._drafts.setdefault(name.lower(), draft)
        else:
            self._skip_table(code[0], name)

    def _describes_table(self, opening: SqlToken, inside: Sequence[SqlToken]) -> bool:
        """Whether a comment ends the line of the opening bracket: SQLite keeps the text of a
        CREATE TABLE from its first word on, so that a comment above it is lost.
        """
        if len(inside) < 2 or inside[0].kind != "comment":
            return False
        before = self._sql[opening.end : inside[0].start]
        # A comment to the end of a line may hold the line end itself.
        behind = self._sql[inside[0].start : inside[1].start]
        return "\n" not in before and "\n" in behind

    def _skip_table(self, first_token: SqlToken, name: str) -> None:
        if len(self._skipped_tables) < MAX_NOTES:
            line = self._sql.count("\n", 0, first_token.start) + 1
            message = f"the table {name[:64] or '?'} declares no columns; it is left out"
            self._skipped_tables.append(_skipped_note(message, "declare its columns", line))

    def _read_columns(
        self, draft: TableDraft, opening: SqlToken, statement: Sequence[SqlToken]
    ) -> None:
        """Reads from the whole statement, since comments describe columns."""
        start = next(place for place, token in enumerate(statement) if token is opening)
        inside = statement[start + 1 : closing_bracket(statement, start)]
        if self._describes_table(opening, inside):
            draft.comment = draft.comment or inside[0].comment_text
            inside = inside[1:]
        for item, comment in split_items(inside, self._sql):
            read_item(draft, item, comment, self._sql, self._is_mysql)

    def _alter_table(self, code: Sequence[SqlToken], place: int) -> None:
        while place < len(code) and code[place].word in {"only", "if", "exists"}:
            place += 1
        name, after = read_qualified_name(code, place)
        draft = self._drafts.get(name.lower())
        if draft is None:
            return
        for item, _ in split_items(code[after:], self._sql):
            words = [token.word for token in item]
            if words[:1] == ["add"] and {"primary", "foreign"} & set(words):
                read_key(draft, item[1:])
            elif words[:2] == ["add", "column"]:
                read_item(draft, item[2:], "", self._sql, self._is_mysql)

    def _comment_on(self, code: Sequence[SqlToken], place: int) -> None:
        """COMMENT ON TABLE name IS 'text', COMMENT ON COLUMN name.column IS 'text'."""
        object_kind = code[place].word if place < len(code) else ""
        comment = code[-1].string.strip()
        if object_kind in {"table", "view"}:
            name, _ = read_qualified_name(code, place + 1)
            if draft := self._drafts.get(name.lower()):
                draft.comment = comment
        elif object_kind == "column":
            names = [token.name for token in code[place + 1 : -2] if token.name]
            if len(names) > 1 and (draft := self._find_draft(names[:-1])):
                draft.column_comments[names[-1].lower()] = comment

    def _find_draft(self, names: Sequence[str]) -> TableDraft | None:
        with_schema, alone = ".".join(names[-2:]).lower(), names[-1].lower()
        return self._drafts.get(with_schema) or self._drafts.get(alone)


def _object_place(code: Sequence[SqlToken]) -> int:
    """The place of the word that says what a statement creates, alters or comments on."""
    place = next((n for n in range(1, len(code)) if code[n].word not in _MODIFIERS), len(code))
    if place < len(code) and code[place].word in _VIEW_OPTIONS:
        following = range(place, min(place + _MAX_VIEW_OPTION_TOKENS, len(code)))
        return next((n for n in following if code[n].word == "view"), place)
    return place


def _read_created_name(code: Sequence[SqlToken], place: int) -> tuple[str, int]:
    while place < len(code) and code[place].word in {"if", "not", "exists"}:
        place += 1
    return read_qualified_name(code, place)


def _comment_above(statement: Sequence[SqlToken]) -> str:
    """The comments above a statement; "" for headings that programs write."""
    texts = []
    for token in statement:
        if token.kind != "comment":
            break
        texts.append(token.comment_text)
    comment = " ".join(texts)
    return "" if comment.lower().startswith(_GENERATED_HEADINGS) else comment


def _skipped_note(message: str, hint: str, line: int = 1) -> ReaderNote:
    return ReaderNote("table-skipped", message, hint, line=line)
