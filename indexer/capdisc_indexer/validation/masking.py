"""Masks keys in capabilities, samples of tables and findings, so that no index holds them and
nothing that prints one can show them.

Masks are as long as what they hide: no place, offset or count of characters moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from capdisc_indexer.model.frozen import fields, is_value, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.scan.scanned_files import content_hash
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.secret_keys import (
    key_prefixes,
    key_spans,
    mask_keys,
    mask_known_keys,
    may_quote_a_key,
)

# Every mask begins with it.
MASK = "[secret]"
# A shorter piece of a key could be any word, and tells nobody the key.
_BEGINNING_LENGTH = 12
_WORD = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z0-9+/][\w+/=-]{11})")
_WORD_END = re.compile(r"[\w+/=-]+")
# Not the fields that say how a capability is treated or where its file is: no author wrote them.
_MASKED_FIELDS = tuple(
    name for name in fields(Descriptor) if name not in ("source", "kind", "risk", "warnings")
)


def line_beginnings(parts: Sequence[ParsedCapability]) -> frozenset[str]:
    """The first letters, in lower case, of each line of each key in the texts of a file. They
    identify a part of a key that stands alone, as at a limit, or in the second half of a document
    that was cut.
    """
    texts = {text.value for part in parts for text in part.longs}
    texts |= {
        text
        for part in parts
        if part.descriptor
        for text in _iter_strings(_values(part.descriptor))
    }
    keys = {text[start:end] for text in texts for start, end in key_spans(text)}
    lines = (line for key in keys for line in key.split("\n"))
    return frozenset(
        line[:_BEGINNING_LENGTH].lower() for line in lines if len(line) >= _BEGINNING_LENGTH
    )


def mask_descriptor(descriptor: Descriptor, beginnings: frozenset[str]) -> Descriptor:
    """The capability with every key masked, and every word that begins like a line of one."""

    def mask(text: str) -> str:
        return _mask_beginnings(mask_keys(text), beginnings)

    values = dict(zip(_MASKED_FIELDS, _values(descriptor), strict=True))
    changed = {
        name: new for name, value in values.items() if (new := mask_strings(value, mask)) != value
    }
    source = descriptor.source
    # The digest of a section is that of its own text.
    if "content" in changed and source.content_hash == content_hash(
        descriptor.content.encode("utf-8", "replace")
    ):
        digest = content_hash(changed["content"].encode("utf-8", "replace"))
        changed["source"] = replace(source, content_hash=digest)
    return replace(descriptor, **changed) if changed else descriptor


def _mask_beginnings(text: str, beginnings: frozenset[str]) -> str:
    """Looks at each word once: a text of 16 MB may hold 400,000 keys."""
    parts, done = [], 0
    for word in _WORD.finditer(text):
        start = word.start()
        if start >= done and text[start : start + _BEGINNING_LENGTH].lower() in beginnings:
            word_end = _WORD_END.match(text, start)
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


def _values(descriptor: Descriptor) -> list[Any]:
    return [getattr(descriptor, name) for name in _MASKED_FIELDS]


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
    if not any(_holds_secret(value) for value in _sampled_values(descriptor)):
        return descriptor
    rows = [
        [None if _holds_secret(value) else value for value in row] for row in extra.get("rows", ())
    ]
    samples = {
        name: _redact_values(column_values)
        for name, column_values in extra.get("samples", {}).items()
    }
    return replace(
        descriptor, extra={**extra, "samples": samples, "rows": rows, "complete": False}
    )


def _sampled_values(descriptor: Descriptor) -> list[object]:
    extra = descriptor.extra
    if "samples" not in extra:
        return []
    values: list[object] = []
    for column_values in extra["samples"].values():
        values += column_values["values"]
    for row in extra.get("rows", ()):
        values += row
    return values


def _redact_values(column_values: JsonObject) -> JsonObject:
    values = [value for value in column_values["values"] if not _holds_secret(value)]
    return {
        **column_values,
        "values": values,
        "complete": column_values["complete"] and len(values) == len(column_values["values"]),
    }


def _holds_secret(value: Any) -> bool:
    return isinstance(value, str) and next(key_spans(value), None) is not None


def redact_findings(findings: Iterable[Finding], source: SourceLines) -> Iterator[Finding]:
    """The findings with masked keys in messages and hints, also keys that a message cuts short:
    what is printed goes into logs. A path stays whole, since programs open it.
    """
    redact = _redactor(source)
    return (
        replace(
            finding,
            message=redact(finding.message, finding.path),
            hint=redact(finding.hint, finding.path),
        )
        for finding in findings
    )


def _redactor(source: SourceLines) -> Callable[[str, str], str]:
    """Masks keys in a text about the file at a path; reads the file only when the text may quote
    a key.
    """
    beginnings_of = cache(lambda path: key_prefixes(source.text(path)))
    return lambda text, path: (
        mask_known_keys(text, beginnings_of(path)) if may_quote_a_key(text) else text
    )
