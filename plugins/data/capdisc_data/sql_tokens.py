"""The tokens of SQL, enough to read declarations of tables in any dialect: nothing inside a
string, a comment or the rows of a dump is taken for SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from capdisc_indexer.model.frozen import frozen

# Every alternative begins with another character and takes all it can at once, so that time is
# linear in the text. Repeated groups are atomic ones and not possessive: before 3.11.5, Python
# matches a possessive group beyond its end.
_PLAIN_STRING = r"'(?>(?:[^']++|'')*)(?:'|\Z)"
_ESCAPED_STRING = r"'(?>(?:[^'\\]++|''|\\.)*)(?:'|\Z)"
_COMMENT = r"--[^\n]*+|/\*.*?(?:\*/|\Z)"
_DOLLAR = r"\$(?P<tag>[A-Za-z_]\w*|)\$.*?(?:\$(?P=tag)\$|\Z)"
_QUOTED = r'"(?>(?:[^"]++|"")*)(?:"|\Z)|`(?>(?:[^`]++|``)*)(?:`|\Z)|\[[^\]\n]*+(?:\]|\Z)'
_WORD = r"[^\W\d][\w$]*+|\d[\w.]*+"
# Statements that are read; all others are skipped in one step.
_DECLARATION = re.compile(r"(?:create|comment|alter)\b", re.IGNORECASE)
# The begin of the rows in a dump of PostgreSQL, which are not SQL, and their end.
_COPY = re.compile(r"copy\b[^;\n]* from stdin[^;\n]*;", re.IGNORECASE)
_END_OF_ROWS = "\n\\."
# A schema of a thousand tables has half as many; reading that many takes four seconds.
MAX_TOKENS = 500_000
_SPACE = re.compile(r"\s*")
_UNESCAPE = re.compile(r"\\(.)|''", re.DOTALL)


@frozen
class SqlToken:
    """One word, string, quoted name, sign or comment as written; `start` and `end` are its offsets
    in the text. `kind` is one of comment, string, dollar, quoted, word, sign.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """An unquoted word in lower case, or a sign; "" for anything else."""
        return self.text.lower() if self.kind in {"word", "sign"} else ""

    @property
    def name(self) -> str:
        """A name without its quotes; "" for a token that cannot be one."""
        if self.kind == "word":
            return self.text
        mark = self.text[0]
        inside = self.text[1:-1] if self.kind == "quoted" else ""
        return inside if mark == "[" else inside.replace(mark * 2, mark)

    @property
    def string(self) -> str:
        """The value of a string; "" for any other token."""
        if self.kind == "dollar":
            mark = self.text[: self.text.index("$", 1) + 1]
            return self.text.removeprefix(mark).removesuffix(mark)
        if self.kind != "string":
            return ""
        inside = self.text[self.text.find("'") + 1 : -1]
        if "\\" in inside:
            return _UNESCAPE.sub(lambda match: match[1] or "'", inside)
        return inside.replace("''", "'")

    @property
    def comment_text(self) -> str:
        """The words of a comment, without its marks and rulers."""
        text = self.text.removeprefix("/*").removesuffix("*/")
        lines = (line.strip().lstrip("-*#!").strip() for line in text.splitlines())
        return " ".join(lines).strip(" -=*#")


@frozen
class SqlDialect:
    """The two patterns of a dialect: of one token, and of what may stand in a statement, as much
    as is matched at once.
    """

    token: re.Pattern[str]
    pieces: re.Pattern[str]


_MYSQL_SIGNS = re.compile(
    r"^-- (?:MySQL|MariaDB) dump|\)\s*ENGINE\s*=|\bAUTO_INCREMENT\b", re.MULTILINE | re.IGNORECASE
)


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
    pieces = (
        rf"[^;'\"`$/#-]++|{comment}|{string}|\$(?:\w*+)\$.*?\$\w*+\$|\"[^\"]*+\"|`[^`]*+`|[^;]"
    )
    return SqlDialect(
        re.compile(rf"{token}|(?P<sign>\S)", re.DOTALL),
        # Each piece of a match takes 240 bytes until its end.
        re.compile(rf"(?>(?:{pieces}){{1,10000}})", re.DOTALL),
    )


STANDARD_SQL = _dialect(_PLAIN_STRING, _COMMENT)
# A backslash in a string escapes the next character, and `#` begins a comment.
MYSQL = _dialect(_ESCAPED_STRING, rf"{_COMMENT}|\#[^\n]*+")


def dialect_of(sql: str) -> SqlDialect:
    """MySQL's dialect if the text shows signs of it, else that of all others."""
    return MYSQL if _MYSQL_SIGNS.search(sql) else STANDARD_SQL


def database_kind(sql: str) -> str:
    """The database that the SQL seems to be written for; `sql` if nothing shows it."""
    if dialect_of(sql) is MYSQL:
        return "mysql"
    lowered = sql[:200_000].lower()
    signs_of_postgres = ("postgresql database dump", "comment on ", "serial", "::")
    if any(sign in lowered for sign in signs_of_postgres):
        return "postgresql"
    return "sqlite" if "autoincrement" in lowered or "pragma " in lowered else "sql"


def read_statements(sql: str) -> Iterator[list[SqlToken]]:
    """The tokens of each statement that declares something, with the comments directly above it;
    at most MAX_TOKENS of them in all.
    """
    dialect = dialect_of(sql)
    place = token_count = 0
    comments_above: list[SqlToken] = []
    while (place := _skip_space(sql, place)) < len(sql) and token_count < MAX_TOKENS:
        if _DECLARATION.match(sql, place):
            tokens, place = _read_statement(sql, place, dialect, MAX_TOKENS - token_count)
            token_count += len(tokens)
            yield [*comments_above, *tokens]
            comments_above = []
        elif (match := dialect.token.match(sql, place)) and match.lastgroup == "comment":
            comments_above.append(SqlToken("comment", match[0], place, match.end()))
            place = match.end()
        else:
            comments_above, place = [], _skip_statement(sql, place, dialect)


def _read_statement(
    sql: str, place: int, dialect: SqlDialect, max_tokens: int
) -> tuple[list[SqlToken], int]:
    """The tokens up to the next semicolon, and the offset behind it."""
    tokens: list[SqlToken] = []
    for match in islice(dialect.token.finditer(sql, place), max_tokens):
        if match[0] == ";":
            return tokens, match.end()
        tokens.append(SqlToken(str(match.lastgroup), match[0], match.start(), match.end()))
    return tokens, len(sql)


def _skip_statement(sql: str, place: int, dialect: SqlDialect) -> int:
    """The offset behind the statement that begins at `place`, and behind the rows that follow."""
    if rows := _COPY.match(sql, place):
        end = sql.find(_END_OF_ROWS, rows.end())
        return end + len(_END_OF_ROWS) if end >= 0 else len(sql)
    while match := dialect.pieces.match(sql, place):
        place = match.end()
    return place + 1


def _skip_space(sql: str, place: int) -> int:
    match = _SPACE.match(sql, place)
    return match.end() if match else place
