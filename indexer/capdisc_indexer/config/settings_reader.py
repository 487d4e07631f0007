"""Reads settings in JSON and TOML, capdisc's own and those of clients, within limits of bytes,
depth and count that hold before anything is parsed.

A clone can bring any of these files, and `tomllib` takes time and memory in the square of the
parts of a dotted key: a line of 200 KB took 24 GB. The limits are far beyond what anybody writes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, NoReturn

from capdisc_indexer.config.trust import is_inside
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.text.normalization import compile_late

# What a person or a setup command writes has a few KiB.
MAX_BYTES = 1024 * 1024
# What clients of the user write themselves: ~/.claude.json keeps the history of its projects, too.
MAX_CLIENT_BYTES = 32 * 1024 * 1024
# Of brackets and of the parts of dotted keys together.
MAX_LEVELS = 64
# A part of a key in TOML takes up to 1 KB, a value in JSON 0.2 KB.
MAX_TOML_VALUES = 50_000
MAX_JSON_VALUES = 2_000_000
# Python prints no number of more than 4,300 digits, and would fail in the message about it.
MAX_WORD = 1000

# Strings and comments of both formats, then what structures a text, then a word or number. Where a
# text is not in the format of its parser, both read it alike up to the place at which the parser
# gives up. Possessive repetitions, and ends that may be missing, keep every text to one pass.
_JSON_COMMENT = r"//[^\r\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?"
_TOKENS = compile_late(
    r'"""(?>(?:[^"\\]++|\\.|"(?!""))*)(?:"{3,5})?'
    r"|'''(?>(?:[^']++|'(?!''))*)(?:'{3,5})?"
    r'|"(?>(?:[^"\\\n]++|\\.)*)"?'
    r"|'[^'\n]*+'?"
    rf"|[][{{}}.,=:\n]|[\w+-]++|#[^\n]*+|{_JSON_COMMENT}",
    re.DOTALL,
)
# A string, which stays; a comment; a comma before a closing bracket. Only VS Code and opencode say
# that they take comments, but people write them everywhere.
_JSON_STRING = r'"(?>(?:[^"\\]++|\\.)*)"?'
_COMMENT = compile_late(f"{_JSON_STRING}|{_JSON_COMMENT}", re.DOTALL)
_TRAILING_COMMA = compile_late(_JSON_STRING + r"|,(?=[ \t\r\n]*+[}\]])", re.DOTALL)


def leads_out(path: Path, workspace: Path) -> bool:
    """Whether the file is, or lies behind, a link out of the workspace: a clone can bring links,
    and its settings are not read from elsewhere.
    """
    return not is_inside(resolve_path(path), [resolve_path(workspace)])


def read_text(path: Path, limit_bytes: int = MAX_BYTES) -> str:
    """The text of a settings file. Raises OSError, and ValueError for a file that is too large, no
    plain file, or not UTF-8; no more than the limit is read.
    """
    fd = system.open_file(path, follow_link=True)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as stream:
            data = stream.read(limit_bytes + 1)
    finally:
        os.close(fd)
    if len(data) > limit_bytes:
        raise ValueError(f"it has more than {limit_bytes // 1024 // 1024} MiB")
    return data.decode("utf-8")


def parse_toml(text: str) -> JsonObject:
    """The table of a TOML text. Raises ValueError for another text, and beyond the limits.

    >>> parse_toml('[a.b]\\nc = "1.[2]"')
    {'a': {'b': {'c': '1.[2]'}}}
    """
    import tomllib

    _check_limits(text, MAX_TOML_VALUES)
    return tomllib.loads(text)


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for another text, and beyond the limits."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    _check_limits(text, MAX_JSON_VALUES)
    return json.loads(text)


def parse_commented_json(text: str) -> Any:
    """The same for JSON with comments, and with commas before a closing bracket."""
    try:
        return parse_json(text)
    except ValueError:
        return parse_json(blank_comments(text))


def parse_settings(path: Path, text: str) -> Any:
    """The value of the file's text, in the format of its name; an empty one is an empty table.

    Raises ValueError as `parse_toml` does.
    """
    text = text.removeprefix("\ufeff")
    if path.suffix == ".toml":
        return parse_toml(text)
    return parse_commented_json(text) if text.strip() else {}


def blank_comments(text: str) -> str:
    """The text with blanks in place of comments and of commas before a closing bracket; every other
    character keeps its place.

    >>> blank_comments('{"url": "http://x", // here\\n "a": [1, /* two */ 2,]}')
    '{"url": "http://x",        \\n "a": [1,           2 ]}'
    """
    return _TRAILING_COMMA.sub(_blank_match, _COMMENT.sub(_blank_match, text))


def _blank_match(match: re.Match[str]) -> str:
    if match[0].startswith('"'):
        return match[0]
    return re.sub(r"[^\r\n]+", lambda run: " " * len(run[0]), match[0])


def _check_limits(text: str, max_values: int) -> None:
    """Raises ValueError for a text whose parser could need very much time, memory or depth."""
    count, level, levels_inside = 0, 0, [0]
    for token in _TOKENS.finditer(text):
        sign = token[0]
        if sign in "[{":
            level += 1
            levels_inside.append(level)
        elif sign in "]}":
            if len(levels_inside) > 1:
                levels_inside.pop()
            level = levels_inside[-1]
        elif sign == ".":
            level += 1
        elif sign in ",\n":
            level = levels_inside[-1]
        elif len(sign) > MAX_WORD and sign[0] not in "\"'#/":
            _refuse(text, token, f"a word of more than {MAX_WORD:,} characters")
        if sign in "[{.,=:":
            count += 1
        if level > MAX_LEVELS:
            _refuse(
                text, token, f"nested more than {MAX_LEVELS} levels deep, parts of keys included"
            )
        if count > max_values:
            _refuse(text, token, f"more than {max_values:,} keys and values")


def _refuse(text: str, token: re.Match[str], problem: str) -> NoReturn:
    line = text.count("\n", 0, token.start()) + 1
    raise ValueError(f"{problem} (at line {line})")
