"""Merges near copies in a ranking into one hit that names the others."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit
from capdisc_indexer.text.embedding_text import are_near_duplicates, decode_signature, shared_part

_NON_LETTERS = re.compile(r"[\W\d_]+")
_SEPARATORS = re.compile(r"[\W_]+")
# Two capabilities of one name that share so much text are versions of one: of 822 pairs of public
# skills with one name, none with this share of the description or of the body did another job.
# Tools without a body have their names from their servers (`search`, `list_projects`) and must
# agree in full.
SAME_NAME_SHARE = 0.5


@frozen
class DuplicateKey:
    """The fields that decide whether two capabilities are copies.

    `name` holds only the letters of the name, `exact_name` its letters and digits, `words` its
    words; `description` and `content` are decoded MinHash signatures.
    """

    name: str
    exact_name: str
    words: frozenset[str]
    description: array[int]
    content: array[int] | None


def merge_near_duplicates(
    hits: Sequence[Hit], headers: Mapping[str, CapabilityHeader]
) -> list[Hit]:
    """The hits without near copies of better ones; a hit names its copies.

    A hit that another one requires stays, even if it is a copy: it is required by its own name. A
    hit that only a copy requires is dropped with the copy.
    """
    unique_hits: list[Hit] = []
    keys_by_name: dict[str, list[tuple[int, DuplicateKey]]] = {}
    keys_with_content: list[tuple[int, DuplicateKey]] = []
    dropped_ids: set[str] = set()
    for hit in hits:
        header = None if hit.via else headers.get(hit.id)
        key = _duplicate_key(header) if header is not None else None
        same_name = keys_by_name.setdefault(key.name, []) if key is not None else []
        position = _find_original(key, same_name) if key is not None else None
        if position is None and key is not None:
            position = _find_renamed(key, keys_with_content)
        if hit.via in dropped_ids:
            dropped_ids.add(hit.id)
        elif position is not None:
            unique_hits[position] = replace(
                unique_hits[position], copies=(*unique_hits[position].copies, hit.id)
            )
            dropped_ids.add(hit.id)
        else:
            if key is not None:
                same_name.append((len(unique_hits), key))
                keys_with_content += [(len(unique_hits), key)] if key.content is not None else []
            unique_hits.append(hit)
    return unique_hits


def _find_original(key: DuplicateKey, same_name: Sequence[tuple[int, DuplicateKey]]) -> int | None:
    """The position of the first hit that this one is a copy of."""
    for position, earlier_key in same_name:
        if _are_duplicates(key, earlier_key):
            return position
    return None


def _find_renamed(key: DuplicateKey, earlier: Sequence[tuple[int, DuplicateKey]]) -> int | None:
    """The position of the first hit with the same description and body under a longer or shorter
    name, as collections rename what they copy (`pdf`, `pdf-official`). What has no body may differ
    in its name alone.
    """
    if key.content is None:
        return None
    for position, earlier_key in earlier:
        is_renamed = key.words < earlier_key.words or key.words > earlier_key.words
        if is_renamed and _are_duplicates(key, earlier_key):
            return position
    return None


def _duplicate_key(header: CapabilityHeader) -> DuplicateKey | None:
    signatures = str(header.get("likeness", ""))
    return _decode_key(str(header["name"]), signatures) if signatures else None


@lru_cache(maxsize=20_000)  # 300 bytes each; a server decodes the same ones again and again
def _decode_key(name: str, signatures: str) -> DuplicateKey | None:
    description, _, content = signatures.partition(" ")
    if not description:
        return None
    exact_name = _SEPARATORS.sub("", name.lower())
    letters = _NON_LETTERS.sub("", name.lower())
    return DuplicateKey(
        letters,
        exact_name,
        frozenset(_SEPARATORS.split(name.lower())),
        decode_signature(description),
        decode_signature(content) if content else None,
    )


def _are_duplicates(left: DuplicateKey, right: DuplicateKey) -> bool:
    if (
        left.exact_name == right.exact_name
        and left.content is not None
        and right.content is not None
    ):
        shares = (
            shared_part(left.description, right.description),
            shared_part(left.content, right.content),
        )
        if max(shares) >= SAME_NAME_SHARE:
            return True
    if not are_near_duplicates(left.description, right.description):
        return False
    if left.content is None or right.content is None:
        return left.content is right.content
    return are_near_duplicates(left.content, right.content)
