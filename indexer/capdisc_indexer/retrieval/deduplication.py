"""Keeps a ranking from repeating itself: near copies become one hit that names the others, and one
source does not fill the first places while others fit as well.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit
from capdisc_indexer.text.embedding_text import are_near_duplicates, decode_signature, shared_part
from capdisc_indexer.text.normalization import STOP_WORDS, unique_words

_NON_LETTERS = re.compile(r"[\W\d_]+")
_SEPARATORS = re.compile(r"[\W_]+")
# Two capabilities of one name that share this much text are versions of one: of 822 pairs of public
# skills with one name, none with this share of the description or of the body did another job.
# Tools without a body have their names from their servers (`search`, `list_projects`) and must
# agree in full.
SAME_NAME_SHARE = 0.5
# The same holds for two descriptions with this share of the shorter one's words in common: of the
# 138 other pairs of public skills with one name, those that did another job (`init`, `status`)
# shared at most 0.17, and all but 12 of the others 0.35 or more. Fewer words say too little.
_SAME_TOPIC_SHARE, _MIN_TOPIC_WORDS = 0.35, 4
# Words that collections add to the name of what they copy.
_LABELS = frozenset(
    "anthropic backup copy fork legacy new official old original plugin skill updated".split()
)
_VERSION = re.compile(r"v\d+")
# Words of descriptions that say nothing about the job, and the length of a stem.
_FILLERS = frozenset("skill skills tool tools user users used using whenever".split()) | STOP_WORDS
_STEM_CHARACTERS = 5
# How many of the first hits one source may have where a hit of another one has this share of the
# score and relevance of the hit that it displaces. With categories instead of sources, no judged
# set lost more than 0.09 nDCG@10 and one gained 0.10; without the share, one lost 1.8.
FIRST_HITS, MAX_OF_SOURCE, EQUAL_SHARE = 5, 3, 0.9
# The folders of a plugin that hold what it brings; the plugin is the folder around them.
_PART_FOLDERS = frozenset({"skills", "capabilities", "commands", "agents", "tools"})


@frozen
class DuplicateKey:
    """The fields that decide whether two capabilities are copies.

    `name` holds only the letters of the name, `exact_name` its letters and digits, both without
    labels such as `official`; `words` its words; `description` and `content` are decoded MinHash
    signatures, `text` is the description itself.
    """

    name: str
    exact_name: str
    words: frozenset[str]
    description: array[int]
    content: array[int] | None
    text: str = ""


# A key with the position of its hit among those that are kept.
PlacedKey: TypeAlias = tuple[int, DuplicateKey]


def merge_near_duplicates(
    hits: Sequence[Hit], headers: Mapping[str, CapabilityHeader]
) -> list[Hit]:
    """The hits without near copies of better ones; a hit names its copies.

    A hit that another one requires stays, even if it is a copy: it is required by its own name. A
    hit that only a copy requires is dropped with the copy.
    """
    unique_hits: list[Hit] = []
    keys_by_name: dict[str, list[PlacedKey]] = {}
    keys_by_word: dict[str, list[PlacedKey]] = {}
    dropped_ids: set[str] = set()
    for hit in hits:
        header = None if hit.via else headers.get(hit.id)
        key = _duplicate_key(header) if header is not None else None
        same_name = keys_by_name.setdefault(key.name, []) if key is not None else []
        position = _find_original(key, same_name, keys_by_word) if key is not None else None
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
                for word in key.words if key.content is not None else ():
                    keys_by_word.setdefault(word, []).append((len(unique_hits), key))
            unique_hits.append(hit)
    return unique_hits


def _find_original(
    key: DuplicateKey,
    same_name: Iterable[PlacedKey],
    keys_by_word: Mapping[str, Sequence[PlacedKey]],
) -> int | None:
    """The position of the first hit that this one is a copy of: under its name, else under a
    longer or shorter one, as collections rename what they copy. What has no body may differ in its
    name alone: it is not among `keys_by_word`.
    """
    renamed = (
        (position, earlier_key)
        for word in key.words
        for position, earlier_key in keys_by_word.get(word, ())
        if key.words < earlier_key.words or key.words > earlier_key.words
    )
    for keys in (same_name, renamed):
        if positions := [
            place for place, earlier_key in keys if _are_duplicates(key, earlier_key)
        ]:
            return min(positions)
    return None


def _duplicate_key(header: CapabilityHeader) -> DuplicateKey | None:
    signatures = str(header.get("likeness", ""))
    if not signatures:
        return None
    return _decode_key(str(header["name"]), signatures, header["description"])


@lru_cache(maxsize=20_000)  # 300 bytes each; a server decodes the same ones again and again
def _decode_key(name: str, signatures: str, text: str) -> DuplicateKey | None:
    description, _, content = signatures.partition(" ")
    if not description:
        return None
    words = _SEPARATORS.split(name.lower())
    job = [word for word in words if word not in _LABELS and not _VERSION.fullmatch(word)] or words
    return DuplicateKey(
        _NON_LETTERS.sub("", "".join(job)),
        "".join(job),
        frozenset(words),
        decode_signature(description),
        decode_signature(content) if content else None,
        text,
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
        if max(shares) >= SAME_NAME_SHARE or _have_same_topic(left.text, right.text):
            return True
    if not are_near_duplicates(left.description, right.description):
        return False
    if left.content is None or right.content is None:
        return left.content is right.content
    return are_near_duplicates(left.content, right.content)


def _have_same_topic(left: str, right: str) -> bool:
    """Whether two descriptions share many of their words.

    >>> _have_same_topic("Extracts tables and merges PDF files.", "PDF files: merging, tables, forms.")
    True
    """
    words, other_words = _topic_words(left), _topic_words(right)
    shorter = min(len(words), len(other_words))
    if shorter < _MIN_TOPIC_WORDS:
        return False
    return len(words & other_words) >= _SAME_TOPIC_SHARE * shorter


@lru_cache(maxsize=4_096)
def _topic_words(text: str) -> frozenset[str]:
    return frozenset(
        word[:_STEM_CHARACTERS]
        for word in unique_words(text)
        if word not in _FILLERS and (len(word) > 2 or not word.isascii())
    )


def limit_sources(hits: Sequence[Hit], headers: Mapping[str, CapabilityHeader]) -> list[Hit]:
    """The hits with at most MAX_OF_SOURCE of one source (a server, a file with several
    capabilities, a plugin) among the first, as long as hits of other sources fit as well. A hit
    that moves takes the score of its new neighbours.

    Hits that require others, and those that are required, keep their places.
    """
    ordered = list(hits)
    tied_ids = {hit.via for hit in hits if hit.via} | {hit.id for hit in hits if hit.via}
    counts: Counter[str] = Counter()
    for position in range(min(FIRST_HITS, len(ordered))):
        hit = ordered[position]
        if counts[_find_source(hit, headers)] >= MAX_OF_SOURCE and hit.id not in tied_ids:
            others = range(position + 1, len(ordered))
            for other in others:
                if (
                    ordered[other].id not in tied_ids
                    and counts[_find_source(ordered[other], headers)] < MAX_OF_SOURCE
                    and ordered[other].score >= EQUAL_SHARE * hit.score
                    and ordered[other].relevance >= EQUAL_SHARE * hit.relevance
                ):
                    ordered.insert(position, ordered.pop(other))
                    break
        counts[_find_source(ordered[position], headers)] += 1
    if ordered == list(hits):
        return ordered
    scores = accumulate((hit.score for hit in ordered), min)
    return [replace(hit, score=score) for hit, score in zip(ordered, scores, strict=True)]


def _find_source(hit: Hit, headers: Mapping[str, CapabilityHeader]) -> str:
    """What a capability belongs to; the id of one that is a source by itself."""
    header = headers.get(hit.id)
    if header is None:
        return hit.id
    source = header["source"]
    if source["format"] not in ("skill", "capability"):
        container, dot, _ = hit.id.partition(":")[2].partition(".")
        return f"{source['path']}#{container if dot else ''}"
    folders = source["path"].removeprefix(source["root"]).strip("/").split("/")[:-1]
    for depth in range(len(folders) - 1, 0, -1):
        if folders[depth].lower() in _PART_FOLDERS:
            return "/".join((source["root"], *folders[:depth]))
    return hit.id
