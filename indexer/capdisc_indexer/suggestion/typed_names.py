"""Which capabilities does a turn name? "use executing-plans", "/github-pr-review", "the reviewer skill".

A name of several words joined by signs is taken for one wherever it stands; a name of one word
only behind a slash or beside a word such as "skill".
"""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.store.snapshot import Index

# A person types a name near the beginning; behind that it stands in what was pasted.
_WORDS, _MAX_NAMES = 200, 3
_QUOTES = "`'\"“”‘’«».,;:!?()[]{}<>*"
_NOUNS = frozenset(("skill", "skills", "agent", "subagent", "command", "tool", "workflow"))


def find_typed_names(index: Index, text: str) -> list[CapabilityHeader]:
    """The headers of the capabilities that the text names, in its order."""
    headers: dict[str, CapabilityHeader] = {}
    for name in dict.fromkeys(_list_possible_names(text)):
        matches = [
            header
            for header in index.documents.by_alias(name)
            if header["name"].casefold() == name.casefold() and not header.get("hidden")
        ]
        if matches:
            headers.setdefault(matches[0]["id"], matches[0])
    return list(headers.values())[:_MAX_NAMES]


def _list_possible_names(text: str) -> Iterator[str]:
    words = [word.strip(_QUOTES) for word in text.split()[:_WORDS]]
    for place, word in enumerate(words):
        if not word or "://" in word or "." in word.strip("."):
            continue
        # The plug-in of a client stands before a colon.
        name = word.removeprefix("/").rpartition(":")[2]
        neighbours = {near.lower() for near in words[max(place - 1, 0) : place + 2]}
        is_marked = (
            word.startswith("/")
            or "-" in name
            or "_" in name
            or bool(neighbours & _NOUNS - {word.lower()})
        )
        if is_marked and len(name) > 1 and "/" not in name:
            yield name
