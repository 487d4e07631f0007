"""The words of SQL, without what stands in its strings: enough to read declarations of tables in
any dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from capdisc_indexer.model.frozen import frozen

# Every alternative begins with another character and takes all it can at once, so that time is
# linear in the text.
_PLAIN_STRING = r"'(?:[^']|'')*+(?:'|\Z)"
_ESCAPED_STRING = r"'(?:[^'\\]|''|\\.)*+(?:'|\Z)"
_COMMENT = r"--[^\n]*+|/\*.*?(?:\*/|\Z)"
_DOLLAR = r"\$(?P<tag>[A-Za-z_]\w*|)\$.*?(?:\$(?P=tag)\$|\Z)"
_QUOTED = r'"(?:[^"]|"")*+(?:"|\Z)|`(?:[^`]|``)*+(?:`|\Z)|\[[^\]\n]*+(?:\]|\Z)'
_WORD = r"[^\W\d][\w$]*+|\d[\w.]*+"
# Statements that are read; all others are passed over in one step.
_READ = re.compile(r"(?:create|comment|alter)\b", re.IGNORECASE)
# What begins the rows in a dump of PostgreSQL, which are no SQL, and what ends them.
_COPY = re.compile(r"copy\b[^;\n]* from stdin[^;\n]*;", re.IGNORECASE)
_COPIED = "\n\\."
# A schema of a thousand tables has half as many; reading so many takes four seconds.
MAX_TOKENS = 500_000
_SPACE = re.compile(r"\s*")
_UNESCAPE = re.compile(r"\\(.)|''", re.DOTALL)


@frozen
class SqlToken:
    """One word, string, quoted name, sign or comment as written, with its place."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """A word that is not quoted, in lower case; a sign as it is; "" for anything else."""
        return self.text.lower() if self.kind in {"word", "sign"} else ""

    @property
    def name(self) -> str:
        """A name without its quotes; "" for what is none."""
        if self.kind == "word":
            return self.text
        mark = self.text[0]
        inside = self.text[1:-1] if self.kind == "quoted" else ""
        return inside if mark == "[" else inside.replace(mark * 2, mark)

    @property
    def string(self) -> str:
        """What a string says; "" for what is none."""
        if self.kind == "dollar":
            mark = self.text[: self.text.index("$", 1) + 1]
            return self.text.removeprefix(mark).removesuffix(mark)
        inside = self.text[self.text.find("'") + 1 : -1] if self.kind == "string" else ""
        return (
            _UNESCAPE.sub(lambda match: match[1] or "'", inside)
            if "\\" in inside
            else inside.replace("''", "'")
        )

    @property
    def comment_text(self) -> str:
        """What a comment says, without the signs that make it one."""
        text = self.text.removeprefix("/*").removesuffix("*/")
        return " ".join(line.strip().lstrip("-*#!").strip() for line in text.splitlines()).strip(
            " -=*#"
        )


@frozen
class SqlDialect:
    """How strings and comments are told apart from the rest."""

    token: re.Pattern[str]
    statement: re.Pattern[str]


def _dialect(string: str, comment: str) -> SqlDialect:
    strings = rf"[eE]{_ESCAPED_STRING}|{string}"
    groups = (
        ("comment", comment),
        ("string", strings),
        ("dollar", _DOLLAR),
        ("quoted", _QUOTED),
        ("word", _WORD),
    )
    token = "|".join(f"(?P<{name}>{pattern})" for name, pattern in groups)
    pieces = rf"[^;'\"`$/#-]++|{comment}|{string}|\$(?:\w*+)\$.*?\$\w*+\$|\"[^\"]*+\"|`[^`]*+`|[^;]"
    return SqlDialect(
        re.compile(rf"{token}|(?P<sign>\S)", re.DOTALL), re.compile(rf"(?:{pieces})*+;?", re.DOTALL)
    )


STANDARD_SQL = _dialect(_PLAIN_STRING, _COMMENT)
MYSQL = _dialect(_ESCAPED_STRING, rf"{_COMMENT}|\#[^\n]*+")
_OF_MYSQL = re.compile(
    r"^-- (?:MySQL|MariaDB) dump|\)\s*ENGINE\s*=|\bAUTO_INCREMENT\b", re.MULTILINE | re.IGNORECASE
)


def dialect_of(sql: str) -> SqlDialect:
    """MySQL's, where a backslash in a string means something, or everybody else's."""
    return MYSQL if _OF_MYSQL.search(sql) else STANDARD_SQL


def read_statements(sql: str) -> Iterator[list[SqlToken]]:
    """Each statement that declares something, as its tokens, the comments right above it among
    them; at most MAX_TOKENS of them in all.
    """
    dialect = dialect_of(sql)
    place = used = 0
    above: list[SqlToken] = []
    while (place := _blank_end(sql, place)) < len(sql) and used < MAX_TOKENS:
        if _READ.match(sql, place):
            tokens, place = _statement(sql, place, dialect, MAX_TOKENS - used)
            used += len(tokens)
            yield [*above, *tokens]
            above = []
        elif (token := dialect.token.match(sql, place)) and token.lastgroup == "comment":
            above.append(SqlToken("comment", token[0], place, token.end()))
            place = token.end()
        else:
            above, place = [], _statement_end(sql, place, dialect)


def _statement_end(sql: str, place: int, dialect: SqlDialect) -> int:
    """Where the statement ends that begins there, with the rows that follow it."""
    if rows := _COPY.match(sql, place):
        end = sql.find(_COPIED, rows.end())
        return end + len(_COPIED) if end >= 0 else len(sql)
    match = dialect.statement.match(sql, place)
    return max(match.end() if match else 0, place + 1)


def _statement(
    sql: str, place: int, dialect: SqlDialect, max_tokens: int
) -> tuple[list[SqlToken], int]:
    tokens: list[SqlToken] = []
    for token in islice(dialect.token.finditer(sql, place), max_tokens):
        if token[0] == ";":
            return tokens, token.end()
        tokens.append(SqlToken(str(token.lastgroup), token[0], token.start(), token.end()))
    return tokens, len(sql)


def _blank_end(sql: str, place: int) -> int:
    match = _SPACE.match(sql, place)
    return match.end() if match else place
