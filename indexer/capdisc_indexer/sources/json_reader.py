"""JSON from a file that nobody vouches for: bounded depth, no key twice, nothing that JSON does not know."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.types import Finding, Severity

MAX_DEPTH = 32

# The closing quote is optional, so that one pass is enough for a text whose last string never ends.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_ESCAPE = re.compile(r"\\r(?:\\n)?|\\u00(?:7[fF]|[89][0-9a-fA-F])|\\.", re.DOTALL)
_RAW_C1 = re.compile("[\x7f-\x9f]")
_BAD_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class _RefusedError(Exception):
    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def read_json(text: str, path: str = "", max_depth: int = MAX_DEPTH) -> Json | Finding:
    """The value, or the reason why the text is refused.

    >>> read_json('{"a": [1, true]}')
    {'a': [1, True]}
    """
    try:
        if (offset := _too_deep(text, max_depth)) is not None:
            message = f"nested more than {max_depth} levels deep"
            return _finding("json-depth", message, "make it flatter", path, text, offset)
        value: Json = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_integer
        )
        _refuse_text(value)
        return value
    except json.JSONDecodeError as error:
        return _finding("json-syntax", f"not JSON: {error.msg}", "correct the place", path, text, error.pos)
    except _RefusedError as refused:
        return _finding(refused.code, refused.message, refused.hint, path, text, 0)


def exported(text: str) -> str:
    """The JSON text of another program without what such texts carry along and a text of our own must not: carriage
    returns in strings, and the C1 controls that quotes of Windows-1252 became.

    >>> exported(r'["a\\r\\nb\\u0092s"]')
    '["a\\\\nb s"]'
    """
    plain = _RAW_C1.sub(" ", text)
    return _ESCAPE.sub(_plain, plain) if "\\" in plain else plain


def _plain(escape: re.Match[str]) -> str:
    if escape[0].startswith("\\r"):
        return "\\n"
    return " " if len(escape[0]) == 6 else escape[0]


def _too_deep(text: str, max_depth: int) -> int | None:
    """Where the limit is passed. Looked at beforehand, as the decoder recurses on the machine stack."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token.group() in "[{":
            depth += 1
            if depth > max_depth:
                return token.start()
        elif token.group() in "]}":
            depth -= 1
    return None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value: dict[str, Json] = {}
    for key, item in pairs:
        if key in value:
            raise _RefusedError("json-duplicate-key", f"the key {key[:64]!r} stands twice", "remove one of the two")
        value[key] = item
    return value


def _no_constant(name: str) -> NoReturn:
    raise _RefusedError("json-syntax", f"{name} is not JSON", "use a number or null")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _RefusedError("json-syntax", "a number is too large", "use a smaller number")
    return number


def _integer(digits: str) -> int:
    if len(digits) > 400:  # int() takes quadratic time and refuses more than 4,300 digits with an error of its own
        raise _RefusedError("json-syntax", "a number is too long", "write it as text")
    return int(digits)


def _refuse_text(value: Json) -> None:
    if isinstance(value, str):
        if found := _BAD_TEXT.search(value):
            _refuse_character(ord(found.group()))
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_text(key)
            _refuse_text(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_text(item)


def _refuse_character(code_point: int) -> NoReturn:
    if code_point >= 0xD800:
        raise _RefusedError("invalid-unicode", "half of a surrogate pair in a text", "write the whole character")
    raise _RefusedError("control-character", f"an escape for the control character U+{code_point:04X}", "remove it")


def _finding(code: str, message: str, hint: str, path: str, text: str, offset: int) -> Finding:
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        path=path,
        line=text.count("\n", 0, offset) + 1,
        column=offset - text.rfind("\n", 0, offset),
    )
