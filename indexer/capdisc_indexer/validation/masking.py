"""Capabilities with their keys masked, so that no index holds them and nothing that prints one can
show them.

Masks are as long as what they hide: no place, offset or count of characters moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from capdisc_indexer.model.frozen import fields, is_value, replace
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.sources.formats.derived_capability import ParsedCapability
from capdisc_indexer.sources.scan.scanned_files import content_hash
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.secret_keys import (
    key_prefixes,
    key_spans,
    mask_keys,
    mask_known_keys,
    may_quote_a_key,
)

# Findings without the keys that they quote: what is printed goes into logs.


def redact_findings(findings: Iterable[Finding], source: SourceLines) -> Iterator[Finding]:
    """The findings with `[secret]` for keys in messages and hints, those that a message cuts short
    among them. A path stays whole, since programs open it.
    """
    redact = _make_redactor(source)
    return (
        replace(
            finding,
            message=redact(finding.message, finding.path),
            hint=redact(finding.hint, finding.path),
        )
        for finding in findings
    )


def _make_redactor(source: SourceLines) -> Callable[[str, str], str]:
    """What takes the keys out of a text about a file, which is only read where there may be
    any.
    """
    beginnings_of = cache(lambda path: key_prefixes(source.text(path)))
    return lambda text, path: (
        mask_known_keys(text, beginnings_of(path)) if may_quote_a_key(text) else text
    )


# Samples of tables without the values that look like secret keys: an index is no place for
# them.


def redact_samples(descriptor: Descriptor) -> Descriptor:
    """The same without such values; what they were taken from is no longer complete."""
    extra = descriptor.extra
    if not any(_is_key(value) for value in _sampled_values(extra)):
        return descriptor
    rows = [[None if _is_key(value) else value for value in row] for row in extra.get("rows", ())]
    samples = {
        name: _redact_values(column_values)
        for name, column_values in extra.get("samples", {}).items()
    }
    return replace(descriptor, extra={**extra, "samples": samples, "rows": rows, "complete": False})


def _sampled_values(extra: Mapping[str, Any]) -> list[Any]:
    if "samples" not in extra:
        return []
    return [
        value for column_values in extra["samples"].values() for value in column_values["values"]
    ] + [value for row in extra.get("rows", ()) for value in row]


def _redact_values(column_values: Mapping[str, Any]) -> dict[str, Any]:
    values = [value for value in column_values["values"] if not _is_key(value)]
    return {
        **column_values,
        "values": values,
        "complete": column_values["complete"] and len(values) == len(column_values["values"]),
    }


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and next(key_spans(value), None) is not None


# What a mask begins with.
MASK = "[secret]"
# A shorter piece of a key is told from no other word, and known to nobody.
_BEGINNING = 12
_WORD = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z0-9+/][\w+/=-]{11})")
_REST = re.compile(r"[\w+/=-]+")
# What says how a capability is treated, or where its file is, is no text of others.
_MASKED = tuple(
    name for name in fields(Descriptor) if name not in ("source", "kind", "risk", "warnings")
)


def line_beginnings(parts: Sequence[ParsedCapability]) -> frozenset[str]:
    """The first letters, small, of each line of each key in the texts of a file: by them a part of
    one is known again where it stands alone, as at a limit, or in the second half of a document
    that was cut.
    """
    texts = {text.value for part in parts for text in part.longs}
    texts |= {
        text for part in parts if part.descriptor for text in _strings(_values(part.descriptor))
    }
    found = {text[start:end] for text in texts for start, end in key_spans(text)}
    lines = (line for key in found for line in key.split("\n"))
    return frozenset(line[:_BEGINNING].lower() for line in lines if len(line) >= _BEGINNING)


def mask_descriptor(descriptor: Descriptor, beginnings: frozenset[str]) -> Descriptor:
    """The capability with every key masked, and every word that begins as a line of one."""

    def mask(text: str) -> str:
        return _mask_beginnings(mask_keys(text), beginnings)

    values = dict(zip(_MASKED, _values(descriptor), strict=True))
    changed = {
        name: new for name, value in values.items() if (new := mask_strings(value, mask)) != value
    }
    source = descriptor.source
    # A section has the digest of its own text.
    if "content" in changed and source.content_hash == content_hash(
        descriptor.content.encode("utf-8", "replace")
    ):
        digest = content_hash(changed["content"].encode("utf-8", "replace"))
        changed["source"] = replace(source, content_hash=digest)
    return replace(descriptor, **changed) if changed else descriptor


def _mask_beginnings(text: str, beginnings: frozenset[str]) -> str:
    """One look at each word: a text of 16 MB may hold 400,000 keys."""
    parts, done = [], 0
    for word in _WORD.finditer(text):
        start = word.start()
        if start >= done and text[start : start + _BEGINNING].lower() in beginnings:
            rest = _REST.match(text, start)
            end = rest.end() if rest else start
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
    """Whether any text in the value is or holds a key."""
    return any(next(key_spans(text), None) for text in _strings(value))


def _values(descriptor: Descriptor) -> list[Any]:
    return [getattr(descriptor, name) for name in _MASKED]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
    elif is_value(value):
        for name in fields(type(value)):
            yield from _strings(getattr(value, name))
