"""Finds keys of known services by their shape, and masks them in texts, capabilities, samples of
tables and findings, so that no index holds them and nothing that prints one can show them: what is
printed goes into logs.

Masks are as long as what they hide: no place, offset or count of characters moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import Any, Protocol

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import FieldValues, fields, is_value, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.text.normalization import compile_late

# How keys begin, and the rest of their shape. Searching a plain prefix is fast, a choice is not.
_TAILS = {
    "AKIA": r"[0-9A-Z]{16}\b",
    "ASIA": r"[0-9A-Z]{16}\b",
    "ghp_": r"[A-Za-z0-9]{36}\b",
    "gho_": r"[A-Za-z0-9]{36}\b",
    "ghu_": r"[A-Za-z0-9]{36}\b",
    "ghs_": r"[A-Za-z0-9]{36}\b",
    "ghr_": r"[A-Za-z0-9]{36}\b",
    "github_pat_": r"[A-Za-z0-9_]{60,}",
    "glpat-": r"[\w-]{20}\b",
    "xox": r"[abprs]-[A-Za-z0-9-]{20,}",
    "AIza": r"[\w-]{35}\b",
    "sk-": r"(?=[\w-]{0,60}[0-9])(?=[\w-]{0,60}?[A-Za-z0-9]{16})(?:ant-|proj-)?[A-Za-z0-9_-]{32,}",
    "sk_live_": r"[A-Za-z0-9]{20,}",
    "rk_live_": r"[A-Za-z0-9]{20,}",
    "hf_": r"[A-Za-z]{34}\b",
    "npm_": r"[A-Za-z0-9]{36}\b",
    "eyJ": r"[\w-]{16,2000}+\.eyJ[\w-]{16,2000}+\.[\w-]{16}",
    "-----BEGIN ": r"(?:[A-Z]{1,10} )?PRIVATE KEY-----\s{1,9}[A-Za-z0-9+/=]{16}",
}
# A token is only tried at the start of a word, since each of its parts can be as long as a page.
_LEFT_CONTEXT = {"eyJ": r"(?<![\w-])"}
SECRET_SHAPES = {
    prefix: compile_late(
        rf"{_LEFT_CONTEXT.get(prefix, '(?<![A-Za-z0-9])')}{re.escape(prefix)}{tail}"
    )
    for prefix, tail in _TAILS.items()
}
_LOWER_PREFIXES = tuple(prefix.lower() for prefix in SECRET_SHAPES)
# Placeholders for a user's own key, and keys that services print in their documentation: of AWS
# (which all hold the word EXAMPLE), GitHub, Google and Slack, and the tokens of jwt.io and of the
# Supabase demo by their payloads.
_PLACEHOLDER = compile_late(
    r"(?i)x{6,}|your|0{8,}|1234567|\.\.\.|abcdef|example|placeholder|redacted|changeme|ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    r"|AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe|xoxb-17653672481-|eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l"
    r"|eyJpc3MiOiJzdXBhYmFzZS1kZW1v"
)
_ELIDED = compile_late(
    r"\s{0,9}(?:\.\.\.|\u2026|\[|<)"
)  # behind the first letters of a private key
# The parts of a key beyond its shape: the other lines of a private one, the end of any other.
_LINES = compile_late(
    r"[A-Za-z0-9+/=]*+(?>(?:\s{1,9}[A-Za-z0-9+/=]{16,}+)*)(?:\s{1,9}[A-Za-z0-9+/=]++(?=\s{1,9}-----END))?"
)
_WORD_END = compile_late(r"[\w-]*+")
_LINE = compile_late(r"[^\n]+")
_PREFIX_LENGTH = 12  # letters of a key, with its prefix, that identify it
# Every mask begins with it.
MASK = "[secret]"
# A shorter piece of a key could be any word, and tells nobody the key.
_BEGINNING_LENGTH = 12
_WORD = compile_late(r"(?<![A-Za-z0-9])(?=[A-Za-z0-9+/][\w+/=-]{11})")
_MASKED_WORD_END = compile_late(r"[\w+/=-]+")
# They say how a capability is treated or where its file is: no author wrote them.
_UNMASKED_FIELDS = ("source", "kind", "risk", "warnings")


def key_spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each key in a text, kind by kind; placeholders are not keys."""
    for prefix in filter(text.__contains__, SECRET_SHAPES):
        for match in SECRET_SHAPES[prefix].finditer(text):
            if not _PLACEHOLDER.search(match[0]):
                tail_match = (_LINES if prefix[0] == "-" else _WORD_END).match(text, match.end())
                end = tail_match.end() if tail_match else match.end()
                if prefix[0] != "-" or not _ELIDED.match(text, end):
                    yield match.start(), end


def mask_keys(text: str) -> str:
    """The text with `[secret]` and stars in the place of keys: as long as before, so that no place
    in it moves.

    >>> mask_keys("Use AKIA" + "Q" * 16 + " here")
    'Use [secret]************ here'
    """
    return _cover_spans(text, key_spans(text))


def key_prefixes(text: str) -> frozenset[str]:
    """The first letters of each key of a text, in lower case; they identify a part of the key."""
    return frozenset(text[start : start + _PREFIX_LENGTH].lower() for start, _ in key_spans(text))


def may_quote_a_key(text: str) -> bool:
    """Whether the text holds the prefix of a key, so that a closer look is worth its time."""
    lowered = text.lower()
    return any(map(lowered.__contains__, _LOWER_PREFIXES))


def mask_known_keys(text: str, known_keys: Set[str]) -> str:
    """The text with its keys masked, and everything that begins with one of `known_keys`, prefixes
    by `key_prefixes`: also keys that are cut short or in lower case.

    >>> mask_known_keys("write akiaqqqqqqqqqq", key_prefixes("AKIA" + "Q" * 16))
    'write [secret]******'
    """
    shown = mask_keys(text)
    return _cover_spans(shown, _known_key_spans(shown, known_keys))


def _known_key_spans(text: str, known_keys: Set[str]) -> Iterator[tuple[int, int]]:
    for start in range(len(text) - _PREFIX_LENGTH + 1):
        if text[start : start + _PREFIX_LENGTH].lower() in known_keys and (
            tail_match := _WORD_END.match(text, start + _PREFIX_LENGTH)
        ):
            yield start, tail_match.end()


def _cover_spans(text: str, places: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in sorted(places):
        if end > at:
            parts += [text[at:start], _LINE.sub(_stars, text[max(at, start) : end])]
            at = end
    return "".join((*parts, text[at:]))


def _stars(line: re.Match[str]) -> str:
    return MASK.ljust(len(line[0]), "*")[: len(line[0])]


class _LongText(Protocol):
    @property
    def value(self) -> str: ...


class _Part(Protocol):
    """A capability of a file, None where it was refused, and the long texts of which it is made."""

    @property
    def descriptor(self) -> Descriptor | None: ...

    @property
    def longs(self) -> Sequence[_LongText]: ...


def line_beginnings(parts: Sequence[_Part]) -> frozenset[str]:
    """The first letters, in lower case, of each line of each key in the texts of a file. They
    identify a part of a key that stands alone, as at a limit, or in the second half of a document
    that was cut.
    """
    texts = {text.value for part in parts for text in part.longs}
    for part in parts:
        if part.descriptor:
            texts.update(_iter_strings(list(_masked_values(part.descriptor).values())))
    lines = {
        line
        for text in texts
        for start, end in key_spans(text)
        for line in text[start:end].split("\n")
    }
    return frozenset(
        line[:_BEGINNING_LENGTH].lower() for line in lines if len(line) >= _BEGINNING_LENGTH
    )


def mask_descriptor(descriptor: Descriptor, beginnings: frozenset[str]) -> Descriptor:
    """The capability with every key masked, and every word that begins like a line of one."""

    def mask(text: str) -> str:
        return _mask_beginnings(mask_keys(text), beginnings)

    changed = {
        name: new
        for name, value in _masked_values(descriptor).items()
        if (new := mask_strings(value, mask)) != value
    }
    # The digest of a section is the one of its own text.
    if "content" in changed and descriptor.source.content_hash == _digest(descriptor.content):
        changed["source"] = replace(descriptor.source, content_hash=_digest(changed["content"]))
    return replace(descriptor, **changed) if changed else descriptor


def _digest(text: str) -> str:
    return lazy_imports.hex_sha256(text.encode("utf-8", "replace"))


def _masked_values(descriptor: Descriptor) -> FieldValues:
    return {
        name: getattr(descriptor, name)
        for name in fields(Descriptor)
        if name not in _UNMASKED_FIELDS
    }


def _mask_beginnings(text: str, beginnings: frozenset[str]) -> str:
    """Looks at each word once: a text of 16 MB may hold 400,000 keys."""
    parts, done = [], 0
    for word in _WORD.finditer(text):
        start = word.start()
        if start >= done and text[start : start + _BEGINNING_LENGTH].lower() in beginnings:
            word_end = _MASKED_WORD_END.match(text, start)
            end = word_end.end() if word_end else start
            parts += [text[done:start], MASK.ljust(end - start, "*")]
            done = end
    return "".join((*parts, text[done:]))


def mask_strings(value: Any, mask: Callable[[str], str] = mask_keys) -> Any:
    """The value with `mask` applied to every text in it, keys of objects included."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask(key): mask_strings(inner, mask) for key, inner in value.items()}
    if isinstance(value, list):
        return [mask_strings(inner, mask) for inner in value]
    if isinstance(value, tuple):
        return tuple(mask_strings(inner, mask) for inner in value)
    if is_value(value):
        return replace(
            value,
            **{name: mask_strings(getattr(value, name), mask) for name in fields(type(value))},
        )
    return value


def holds_key(value: Any) -> bool:
    """Whether any text in the value holds a key."""
    return any(next(key_spans(text), None) for text in _iter_strings(value))


def _iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _iter_strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _iter_strings(inner)
    elif is_value(value):
        for name in fields(type(value)):
            yield from _iter_strings(getattr(value, name))


def redact_samples(descriptor: Descriptor) -> Descriptor:
    """The descriptor of a table without sample values that look like secret keys; its samples are
    no longer complete then.
    """
    extra = descriptor.extra
    columns, rows = extra.get("samples", {}), extra.get("rows", ())
    if not columns or not holds_key([[column["values"] for column in columns.values()], *rows]):
        return descriptor
    samples = {name: _redact_column(column) for name, column in columns.items()}
    plain_rows = [[None if holds_key(value) else value for value in row] for row in rows]
    return replace(
        descriptor, extra={**extra, "samples": samples, "rows": plain_rows, "complete": False}
    )


def _redact_column(column: JsonObject) -> JsonObject:
    values = [value for value in column["values"] if not holds_key(value)]
    is_complete = column["complete"] and len(values) == len(column["values"])
    return {**column, "values": values, "complete": is_complete}


def redact_findings(
    findings: Iterable[Finding], read_text: Callable[[str], str]
) -> Iterator[Finding]:
    """The findings with masked keys in messages and hints, also keys that a message cuts short:
    what is printed goes into logs. A path stays whole, since programs open it. `read_text` gives
    the text of a file, and is only called where a message may quote a key.
    """
    prefixes_of = cache(lambda path: key_prefixes(read_text(path)))
    for finding in findings:
        texts = {"message": finding.message, "hint": finding.hint}
        quoting = {name: text for name, text in texts.items() if may_quote_a_key(text)}
        masked = {
            name: mask_known_keys(text, prefixes_of(finding.path))
            for name, text in quoting.items()
        }
        yield replace(finding, **masked) if masked else finding
