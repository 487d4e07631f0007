"""Near copies in a ranking become one hit that names the others."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit
from capdisc_indexer.text.minhash import are_near_duplicates, decode_signature, shared_part

_NON_LETTERS = re.compile(r"[\W\d_]+")
_SEPARATORS = re.compile(r"[\W_]+")
# Of one name, two texts that share so much are versions of one: of 822 pairs of public skills with
# one name, none with this share of the description or of the body did another job. Tools without a
# body have their names from their servers (`search`, `list_projects`) and must agree in full.
SAME_NAME_SHARE = 0.5


@frozen
class DuplicateKey:
    """What copies have in common: the letters of the name, the name with its digits, and the
    opened signatures of description and content.
    """

    name: str
    exact_name: str
    description: array[int]
    content: array[int] | None


def merge_near_duplicates(
    hits: Sequence[Hit], headers: Mapping[str, CapabilityHeader]
) -> list[Hit]:
    """The hits without near copies of better ones; each stands for its copies and names them.

    What another hit requires stays, whatever it is a copy of: it is needed by its own name. What
    only a copy required goes with it.
    """
    unique_hits: list[Hit] = []
    keys_by_name: dict[str, list[tuple[int, DuplicateKey]]] = {}
    dropped_ids: set[str] = set()
    for hit in hits:
        header = None if hit.via else headers.get(hit.id)
        key = _duplicate_key(header) if header is not None else None
        same_name = keys_by_name.setdefault(key.name, []) if key is not None else []
        position = next(
            (
                at
                for at, earlier_key in same_name
                if key is not None and _are_duplicates(key, earlier_key)
            ),
            None,
        )
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
            unique_hits.append(hit)
    return unique_hits


def _duplicate_key(header: CapabilityHeader) -> DuplicateKey | None:
    signatures = str(header.get("likeness", ""))
    return _decode_key(str(header["name"]), signatures) if signatures else None


@lru_cache(maxsize=20_000)  # 300 bytes each; a server meets the same ones again
def _decode_key(name: str, signatures: str) -> DuplicateKey | None:
    described, _, content = signatures.partition(" ")
    if not described:
        return None
    exact_name = _SEPARATORS.sub("", name.lower())
    letters = _NON_LETTERS.sub("", name.lower())
    return DuplicateKey(
        letters,
        exact_name,
        decode_signature(described),
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
