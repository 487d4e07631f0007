"""JSON from untrusted files: bounded depth, no key twice, nothing beyond the standard; whole
texts, JSON lines, and the lines on which names and keys stand.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.sources.readers.yaml_nodes import Json, RefusedTextError, place_in_text
from capdisc_indexer.text.normalization import compile_late

MAX_DEPTH = 32

# The closing quote is optional, so that a text whose last string never ends is read in one pass.
_TOKEN = compile_late(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_ESCAPE = compile_late(r"\\r(?:\\n)?|\\u00(?:7[fF]|[89][0-9a-fA-F])|\\.", re.DOTALL)
# Windows-1252 that was decoded as Latin-1: such controls stand in texts copied from the web, and
# mean nothing.
_RAW_CONTROLS = compile_late("[\x7f-\x9f]")
_BAD_TEXT = compile_late("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# As large as a SKILL.md may be.
MAX_LINE_BYTES = 1024 * 1024
_NAMES = compile_late(r'"name"\s*:\s*("(?:[^"\\\n]|\\.)*")')


def read_json(text: str, path: str = "", max_depth: int = MAX_DEPTH) -> Json | Finding:
    """The value, or the finding that says why the text is refused.

    >>> read_json('{"a": [1, true]}')
    {'a': [1, True]}
    """
    try:
        if (offset := _too_deep(text, max_depth)) is not None:
            message = f"nested more than {max_depth} levels deep"
            place = place_in_text(text, offset)
            raise RefusedTextError("json-depth", message, "make it flatter", *place)
        value: Json = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite,
            parse_int=_integer,
        )
        _refuse_text(value)
        return value
    except json.JSONDecodeError as error:
        message, place = f"not JSON: {error.msg}", place_in_text(text, error.pos)
        refused = RefusedTextError("json-syntax", message, "correct the place", *place)
    except RefusedTextError as error:
        refused = error
    return replace(refused.finding, path=path)


def clean_export(text: str) -> str:
    """The JSON text of another program with plain line ends in its strings, and blanks for the C1
    controls that quotes of Windows-1252 became, both of which `read_json` refuses.

    >>> clean_export(r'["a\\r\\nb\\u0092s"]')
    '["a\\\\nb s"]'
    """
    plain = _RAW_CONTROLS.sub(" ", text)
    return _ESCAPE.sub(_clean_escape, plain) if "\\" in plain else plain


def read_export(data: bytes, path: str, max_depth: int = MAX_DEPTH) -> tuple[str, Json] | Finding:
    """The text and the value of a JSON file that another program wrote, or the finding that says
    why it is refused.
    """
    text = decode(data, path)
    if isinstance(text, Finding):
        return text
    value = read_json(clean_export(text), path, max_depth)
    return value if isinstance(value, Finding) else (text, value)


def _clean_escape(escape: re.Match[str]) -> str:
    if escape[0].startswith("\\r"):
        return "\\n"
    return " " if len(escape[0]) == 6 else escape[0]


def _too_deep(text: str, max_depth: int) -> int | None:
    """The offset at which the limit is passed, or None. Checked before decoding, since the decoder
    recurses on the machine stack.
    """
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
            raise RefusedTextError(
                "json-duplicate-key", f"the key {key[:64]!r} stands twice", "remove one of the two"
            )
        value[key] = item
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedTextError("json-syntax", f"{name} is not JSON", "use a number or null")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise RefusedTextError("json-syntax", "a number is too large", "use a smaller number")
    return number


def _integer(digits: str) -> int:
    # int() takes quadratic time, and refuses more than 4,300 digits with an error of its own.
    if len(digits) > 400:
        raise RefusedTextError("json-syntax", "a number is too long", "write it as text")
    return int(digits)


def _refuse_text(value: Json) -> None:
    if isinstance(value, str):
        if match := _BAD_TEXT.search(value):
            _refuse_character(ord(match.group()))
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_text(key)
            _refuse_text(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_text(item)


def _refuse_character(code_point: int) -> NoReturn:
    if code_point >= 0xD800:
        raise RefusedTextError(
            "invalid-unicode", "half of a surrogate pair in a text", "write the whole character"
        )
    raise RefusedTextError(
        "control-character", f"an escape for the control character U+{code_point:04X}", "remove it"
    )


@frozen
class JsonLine:
    """The value of one line and its bytes; `number` counts from 1, blank lines included."""

    number: int
    raw: bytes
    value: Json


def json_lines(data: bytes, path: str) -> Iterator[JsonLine | Finding]:
    """Each line that is not blank as its value, or as the finding that says why it has none."""
    for number, raw in enumerate(data.removeprefix(BOM_UTF8).splitlines(), 1):
        if stripped := raw.strip():
            value = _read_line(stripped, path)
            if isinstance(value, Finding):
                yield replace(value, line=number)
            else:
                yield JsonLine(number, stripped, value)


def _read_line(raw: bytes, path: str) -> Json | Finding:
    if len(raw) > MAX_LINE_BYTES:
        message = f"the line is longer than {MAX_LINE_BYTES // 1024:,} KiB; not read"
        hint = "move long parts into files of their own"
        return Finding("line-too-long", Severity.ERROR, message, hint, path)
    text = decode(raw, path)
    return text if isinstance(text, Finding) else read_json(_RAW_CONTROLS.sub(" ", text), path)


class LineIndex:
    """The lines of offsets in a text, fast if they are asked for in ascending order."""

    def __init__(self, text: str) -> None:
        self._text, self._offset, self._line = text, 0, 1

    def of(self, offset: int) -> int:
        """The line of an offset, from 1."""
        if offset < self._offset:
            self._offset, self._line = 0, 1
        self._line += self._text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line


def named_lines(text: str, names: Sequence[str]) -> list[int]:
    """For each name the line of `"name": NAME`, searched from the place of the name before it on;
    the line of the latter if it is not found.
    """
    places = ((match.start(), match[1]) for match in _NAMES.finditer(text))
    lines = LineIndex(text)
    starts: list[int] = []
    for name in names:
        written = (json.dumps(name, ensure_ascii=False), json.dumps(name))
        start = None
        if name:
            start = next((start for start, name_text in places if name_text in written), None)
        starts.append(starts[-1] if start is None and starts else lines.of(start or 0))
    return starts


def key_place(text: str, key: str, start: int) -> int:
    """The offset of the key, searched from `start` on; `start` if it is not found."""
    written = json.dumps(key, ensure_ascii=False)
    match = re.compile(rf"{re.escape(written)}\s*:").search(text, start)
    return match.start() if match else start


def loads(data: str | bytes) -> Any:
    """The value. Raises ValueError for text that is not JSON, and for NaN and Infinity, which
    Python would accept.

    >>> loads('{"a": 1.5}')
    {'a': 1.5}
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant, parse_float=_parse_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
