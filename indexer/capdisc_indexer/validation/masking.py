"""Capabilities with their keys masked, so that no index holds them and nothing that prints one can
show them.

Masks are as long as what they hide: no place, offset or count of characters moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import fields, is_value, replace
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.parsed_capability import ParsedCapability
from capdisc_indexer.sources.scan.scanned_files import content_hash
from capdisc_indexer.validation.secret_keys import key_spans, mask_keys

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
