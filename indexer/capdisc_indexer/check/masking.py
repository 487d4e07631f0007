"""Capabilities with their keys masked, so that no index holds them and nothing that prints one can show them.

Masks are as long as what they hide: no place, offset or count of characters moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.check.secret_keys import keys, masked, without_keys
from capdisc_indexer.frozen import fields, is_value, replace
from capdisc_indexer.sources.files import content_hash
from capdisc_indexer.sources.parts import Part
from capdisc_indexer.types import Descriptor

# What a mask begins with.
MASK = "[secret]"
# A shorter piece of a key is told from no other word, and known to nobody.
_MIN_CHARACTERS = 12
# What names a capability to programs stays whole: the file, and values that are no text of others.
_WHOLE = frozenset({"source", "kind", "risk", "warnings"})


def secret_lines(parts: Sequence[Part]) -> frozenset[str]:
    """Each line of each key in the texts of a file: a part of a long one is known again where it stands alone, as in
    the second half of a document that was cut."""
    texts = {text.value for part in parts for text in part.longs}
    texts |= {part.descriptor.content for part in parts if part.descriptor}
    texts |= {value for part in parts if part.descriptor for value in _strings(_short(part.descriptor))}
    found = {text[start:end] for text in texts for start, end in keys(text)}
    return frozenset(line for key in found for line in key.split("\n") if len(line) >= _MIN_CHARACTERS)


def mask_descriptor(descriptor: Descriptor, lines: frozenset[str]) -> Descriptor:
    """The capability with every key masked, and every line of these keys, whole or cut short."""
    begun = frozenset(line[:_MIN_CHARACTERS].lower() for line in lines)

    def mask(text: str) -> str:
        hidden = masked(text)
        for line in lines:
            if line in hidden:
                hidden = hidden.replace(line, MASK.ljust(len(line), "*"))
        return without_keys(hidden, begun) if _holds_any(hidden.lower(), begun) else hidden

    values = {name: getattr(descriptor, name) for name in fields(Descriptor) if name not in _WHOLE}
    changed = {name: new for name, value in values.items() if (new := mask_strings(value, mask)) != value}
    source = descriptor.source
    # A section has the digest of its own text.
    if "content" in changed and source.content_hash == content_hash(descriptor.content.encode("utf-8", "replace")):
        digest = content_hash(changed["content"].encode("utf-8", "replace"))
        changed["source"] = replace(source, content_hash=digest)
    return replace(descriptor, **changed) if changed else descriptor


def mask_strings(value: Any, mask: Any = masked) -> Any:
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
        return replace(value, **{name: mask_strings(getattr(value, name), mask) for name in fields(type(value))})
    return value


def holds_key(value: Any) -> bool:
    """Whether any text in the value is or holds a key."""
    return any(next(keys(text), None) for text in _strings(value))


def _short(descriptor: Descriptor) -> list[Any]:
    return [getattr(descriptor, name) for name in fields(Descriptor) if name not in _WHOLE]


def _holds_any(lowered: str, begun: frozenset[str]) -> bool:
    return any(start in lowered for start in begun)


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
