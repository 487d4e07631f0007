"""The pieces of a capability's text, each once: what a query's pieces are held against, one by one."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from capdisc_indexer.embedding_text import BODY_CHARACTERS, readable_name
from capdisc_indexer.frozen import frozen
from capdisc_indexer.types import Descriptor

# Caps found by measuring: a body's 64 weightiest pieces say what all of its first 2,000 characters say.
_NAME, _DESCRIBED, _BODY = 16, 64, 64

Cut = Callable[[str], Sequence[int]]
Weigh = Callable[[int], float]


@frozen
class Bag:
    """Piece ids, no id twice: those of the name, those that the description adds, those that the rest adds."""

    name: tuple[int, ...] = ()
    described: tuple[int, ...] = ()
    body: tuple[int, ...] = ()


def bag(descriptor: Descriptor, cut: Cut, weigh: Weigh) -> Bag:
    """The bag of a capability."""
    d = descriptor
    labels = [d.category, *d.tags, *(p.name for p in d.parameters)]
    rest = [d.usage_hint, *(p.description for p in d.parameters), *d.phrases, d.content[:BODY_CHARACTERS]]
    name = _new(cut(readable_name(d.title or d.name)), ())[:_NAME]
    described = _new(cut(f"{d.description} {' '.join(map(readable_name, labels))}"), name)[:_DESCRIBED]
    body = sorted(_new(cut("\n".join(rest)), (*name, *described)), key=weigh, reverse=True)[:_BODY]
    return Bag(tuple(name), tuple(described), tuple(body))


def packed(full: Bag) -> bytes:
    """The bag as bytes: two lengths, then all ids, 32 bits each."""
    return array("I", (len(full.name), len(full.described), *full.name, *full.described, *full.body)).tobytes()


def unpacked(data: bytes) -> Bag:
    """The bag that was packed; an empty one for no bytes."""
    if not data:
        return Bag()
    first, second, *ids = array("I", data)
    return Bag(tuple(ids[:first]), tuple(ids[first : first + second]), tuple(ids[first + second :]))


def _new(ids: Sequence[int], old: Sequence[int]) -> list[int]:
    known = set(old)
    return [each for each in dict.fromkeys(ids) if each not in known]
