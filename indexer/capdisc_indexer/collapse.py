"""Near copies in a ranking become one hit that names the others."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.likeness import are_copies, opened, shared_part
from capdisc_indexer.types import Hit

_NO_LETTERS = re.compile(r"[\W\d_]+")
_SEPARATORS = re.compile(r"[\W_]+")
# Of one name, two texts that share so much are versions of one: of 822 pairs of public skills with one name, none with
# this share of the description or of the body did another job. Tools without a body have their names from their servers
# (`search`, `list_projects`) and must agree in full.
SAME_NAME_SHARE = 0.5


@frozen
class Look:
    """What copies have in common: the letters of the name, the name with its digits, and the opened signatures of
    description and content."""

    name: str
    exact_name: str
    described: array[int]
    content: array[int] | None


def collapse(hits: Sequence[Hit], heads: Mapping[str, Mapping[str, Any]]) -> list[Hit]:
    """The hits without near copies of better ones; each stands for its copies and names them.

    What another hit requires stays, whatever it is a copy of: it is needed by its own name. What only a copy required
    goes with it.
    """
    kept: list[Hit] = []
    seen: dict[str, list[tuple[int, Look]]] = {}
    gone: set[str] = set()
    for hit in hits:
        look = None if hit.via else _look(heads.get(hit.id, {}))
        alike = seen.setdefault(look.name, []) if look is not None else []
        place = next((at for at, other in alike if look is not None and _are_copies(look, other)), None)
        if hit.via in gone:
            gone.add(hit.id)
        elif place is not None:
            kept[place] = replace(kept[place], copies=(*kept[place].copies, hit.id))
            gone.add(hit.id)
        else:
            if look is not None:
                alike.append((len(kept), look))
            kept.append(hit)
    return kept


def _look(head: Mapping[str, Any]) -> Look | None:
    likeness = str(head.get("likeness", ""))
    return _opened(str(head["name"]), likeness) if likeness else None


@lru_cache(maxsize=20_000)  # 300 bytes each; a server meets the same ones again
def _opened(name: str, likeness: str) -> Look | None:
    described, _, content = likeness.partition(" ")
    if not described:
        return None
    exact_name = _SEPARATORS.sub("", name.lower())
    letters = _NO_LETTERS.sub("", name.lower())
    return Look(letters, exact_name, opened(described), opened(content) if content else None)


def _are_copies(one: Look, two: Look) -> bool:
    if one.exact_name == two.exact_name and one.content is not None and two.content is not None:
        shares = shared_part(one.described, two.described), shared_part(one.content, two.content)
        if max(shares) >= SAME_NAME_SHARE:
            return True
    if not are_copies(one.described, two.described):
        return False
    if one.content is None or two.content is None:
        return one.content is two.content
    return are_copies(one.content, two.content)
