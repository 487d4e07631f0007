"""Which capability gives what another one needs: edges from parameters to the tools that look
their values up.

`cancel_order` requires an `order_id` that nobody says aloud; `find_order_id_by_email` gives it.
Only required parameters that identify something count, and only tools of one source and category:
names like `user_id` mean something else in another API. Precision comes before recall. The edges
are found while an index is built, from the interfaces that `describe_interface` takes from each
capability.

Measured on requests with several right answers: where the tool with the parameter is one of them,
so is the producer in 212 of 212 (one set) and in 37 of 78 cases (another, which has two tools for
the same id) by its name; in 4 of 5 by a list or search; in 85 of 149 by what its description says
that it includes; in 54 of 101 where a tool is read before it is changed. Of 58 edges that only a
name or a text gives in lists of real MCP servers, read one by one, 56 are right. Where only routes
say what is required, R@10 of 40 requests that the rules were not written with rises from 50 to 61.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from capdisc_indexer.graph.interfaces import (
    DETAIL_WORDS,
    LISTING_VERBS,
    READING_VERBS,
    SHOWING_VERBS,
    InterfaceOwner,
    Words,
    is_general_search,
    name_words,
    object_words,
    resource_before,
)
from capdisc_indexer.model.types import ProducerEdge

# A larger group is a collection of many APIs, in which equal names mean different things.
MAX_GROUP = 1_000
MAX_PRODUCERS = 3
# A parameter that more tools give than this says little about any of them.
_MAX_ALTERNATIVES = 3
# How sure an edge is: the producer's name or its output schema holds the parameter, or the
# parameter's description names the producer; the producer lists or searches what the parameter
# identifies, or a narrower sort of it; its description says that it includes those; it shows what
# the consumer changes.
SURE_WEIGHT, LISTING_WEIGHT, NARROW_LISTING_WEIGHT = 1.0, 0.95, 0.93
INCLUDING_WEIGHT, READING_WEIGHT = 0.92, 0.92

# Who is logged in, and what such a tool gives.
_CURRENT_USER = re.compile(
    r"\b(?:me|whoami|who am i|(?:current|authenticated) user|my (?:profile|account))"
    r"(?: (?:profile|detail|info|account|id))?$"
)
_PERSONS = frozenset("user account member profile".split())
# What stands for a login among the words of a tool.
_ACCESS = "log in"
_ACCESS_WORDS = frozenset("token access auth session bearer login user authentication jwt".split())
_LOGINS = frozenset([("login",), ("signin",), ("authenticate",), ("log", "in"), ("sign", "in")])
_MAKING_VERBS = frozenset("create get generate obtain request start open fetch issue".split())
_TOOL_NOUNS = ("api", "tool", "endpoint", "function", "method", "operation", "command")


def find_producers(
    groups: Iterable[Sequence[InterfaceOwner]],
) -> dict[str, tuple[ProducerEdge, ...]]:
    """By id, the producers of what each capability needs, surest first, 3 at most.

    A group holds the capabilities of one source and category; one of more than 1,000 is skipped.
    """
    edges_of_id: dict[str, tuple[ProducerEdge, ...]] = {}
    for group in groups:
        if len(group) > MAX_GROUP or not any(
            owner.interface.get("needs") or owner.interface.get("hints") for owner in group
        ):
            continue
        owners_of_word: dict[str, list[InterfaceOwner]] = defaultdict(list)
        for owner in group:
            for word in _searchable_words(owner):
                owners_of_word[word].append(owner)
        for owner in group:
            edges: dict[str, ProducerEdge] = {}
            for edge in _edges_of(owner, owners_of_word):
                known = edges.get(edge.producer)
                if known is None or edge.weight > known.weight:
                    edges[edge.producer] = edge
            if edges:
                order = sorted(edges.values(), key=lambda edge: (-edge.weight, edge.producer))
                edges_of_id[owner.identifier] = tuple(order[:MAX_PRODUCERS])
    return edges_of_id


def _searchable_words(owner: InterfaceOwner) -> set[str]:
    interface = owner.interface
    yielded = (word for words in interface.get("yields", ()) for word in words.split())
    words = {word for phrase in owner.phrases for word in phrase}
    if _gives_access(owner):
        words.add(_ACCESS)
    if _tells_user(owner):
        words.update(_PERSONS)
    return {*words, *interface.get("lists", ()), *yielded}


def _edges_of(
    owner: InterfaceOwner, owners_of_word: Mapping[str, Sequence[InterfaceOwner]]
) -> Iterator[ProducerEdge]:
    interface = owner.interface
    for parameter, text in interface.get("needs", {}).items():
        needed = tuple(text.split())
        others = {
            other.identifier: other
            for word in (needed[-2], *([_ACCESS] if _is_access(needed) else ()))
            for other in owners_of_word.get(word, ())
            if other.identifier != owner.identifier
        }
        edges = [
            edge
            for other in others.values()
            if not _requires(other, needed)
            and (edge := _rate_producer(owner, parameter, needed, other)) is not None
        ]
        surest = max((edge.weight for edge in edges), default=0.0)
        edges = [edge for edge in edges if edge.weight == surest]
        if len(edges) <= _MAX_ALTERNATIVES:
            yield from edges
        yield from _find_reader(owner, parameter, needed, others.values())
    for parameter, description in interface.get("hints", ()):
        yield from _find_named(owner, parameter, description, owners_of_word)


def _rate_producer(
    owner: InterfaceOwner, parameter: str, needed: Words, other: InterfaceOwner
) -> ProducerEdge | None:
    """The edge to a tool that gives the parameter, where it does."""
    identifier, noun = other.identifier, needed[:-1]
    if _is_access(needed) and _gives_access(other):
        return ProducerEdge(identifier, SURE_WEIGHT, f"it logs in and gives {parameter}")
    path = owner.interface.get("route", "").partition(" ")[2]
    collection = re.split(rf"/[{{:]{re.escape(parameter)}\b", path)[0]
    if collection != path and other.interface.get("route") == f"GET {collection}":
        return ProducerEdge(identifier, LISTING_WEIGHT, f"it finds {parameter}")
    phrases, words = other.phrases, other.words
    # Behind the name of a vendor that both begin with.
    if words[1:2] and words[1] in LISTING_VERBS and words[:1] == owner.words[:1]:
        phrases = (*phrases, words[1:])
    edges = [
        edge
        for words in phrases
        if (edge := _rate_words(parameter, needed, words, other)) is not None
    ]
    if edges:
        return max(edges, key=lambda edge: edge.weight)
    if noun[-1] in _PERSONS and _tells_user(other):
        return ProducerEdge(identifier, READING_WEIGHT, f"it tells {parameter}")
    return None


def _rate_words(
    parameter: str, needed: Words, words: Words, other: InterfaceOwner
) -> ProducerEdge | None:
    if not words or words[0] not in READING_VERBS:
        return None
    interface, noun = other.interface, needed[:-1]
    if _contains(words, needed):
        return ProducerEdge(other.identifier, SURE_WEIGHT, f"its name gives {parameter}")
    if " ".join(needed) in interface.get("yields", ()):
        return ProducerEdge(other.identifier, SURE_WEIGHT, f"its output holds {parameter}")
    listed = object_words(words) if words[0] in LISTING_VERBS else ()
    is_included = len(noun) == 1 and noun[0] in interface.get("lists", ())
    if listed[-len(noun) :] == noun or (is_included and is_general_search(words)):
        weight = NARROW_LISTING_WEIGHT if listed[: -len(noun)] else LISTING_WEIGHT
        return ProducerEdge(other.identifier, weight, f"it finds {parameter}")
    if is_included:
        return ProducerEdge(other.identifier, INCLUDING_WEIGHT, f"it includes {parameter}")
    return None


def _is_access(needed: Words) -> bool:
    return needed == ("session", "id") or (needed[-1] == "token" and needed[0] in _ACCESS_WORDS)


def _gives_access(other: InterfaceOwner) -> bool:
    """Whether a tool logs in: by its name, or since it makes a token or session."""
    for phrase in other.phrases:
        words = tuple(word for word in phrase if word != "new")
        if words[:1] in _LOGINS or words[:2] in _LOGINS:
            return True
        is_reading = words[:1] and words[0] in READING_VERBS
        if words[-1:] in _LOGINS and not is_reading:
            return True
        if len(words) > 1 and words[0] in _MAKING_VERBS and words[-1] in ("token", "session"):
            return True
    return False


def _tells_user(other: InterfaceOwner) -> bool:
    """Whether a tool tells who is asking, as `GET /me` does."""
    names = (other.name, other.interface.get("route", ""))
    return any(_CURRENT_USER.search(" ".join(name_words(name))) for name in names)


def _requires(other: InterfaceOwner, needed: Words) -> bool:
    inputs = other.interface.get("inputs", ())
    return " ".join(needed) in inputs or " ".join(needed) in (
        other.interface.get("needs", {}).values()
    )


def _find_reader(
    owner: InterfaceOwner, parameter: str, needed: Words, others: Collection[InterfaceOwner]
) -> Iterator[ProducerEdge]:
    """The tool that shows what this one changes: who changes an order looks at it first."""
    method, _, path = owner.interface.get("route", "").partition(" ")
    is_change = owner.words[:1] and owner.words[0] not in READING_VERBS
    same: list[InterfaceOwner] = []
    if path:
        is_change = method in ("PUT", "PATCH", "DELETE") and resource_before(path, parameter)
        same = [other for other in others if other.interface.get("route") == f"GET {path}"]
    readers = same or [other for other in others if _shows(other, needed)]
    for other in readers if is_change else ():
        yield ProducerEdge(other.identifier, READING_WEIGHT, f"it shows what {parameter} is")


def _shows(other: InterfaceOwner, needed: Words) -> bool:
    """Whether a tool shows one thing, and needs to know only which."""
    noun = needed[:-1]
    return list(other.interface.get("needs", {}).values()) == [" ".join(needed)] and any(
        words[:1]
        and words[0] in SHOWING_VERBS
        and words[1 : 1 + len(noun)] == noun
        and DETAIL_WORDS.issuperset(words[1 + len(noun) :])
        for words in other.phrases
    )


def _find_named(
    owner: InterfaceOwner,
    parameter: str,
    description: str,
    owners_of_word: Mapping[str, Sequence[InterfaceOwner]],
) -> Iterator[ProducerEdge]:
    """The tools that the description of a parameter names: as an identifier of several words, or
    in words before "API" or "tool".
    """
    described = name_words(description)
    for word in dict.fromkeys(described):
        for other in owners_of_word.get(word, ()):
            words = other.words
            if other.identifier == owner.identifier or len(words) < 2 or word != words[0]:
                continue
            # The expression is another one for each name: 800 of them took half a minute.
            is_named = (
                " " not in other.name
                and other.name in description
                and re.search(rf"(?<!\w){re.escape(other.name)}(?!\w)", description)
            )
            if is_named or any(_contains(described, (*words, noun)) for noun in _TOOL_NOUNS):
                where = f"the description of {parameter}" if parameter else "its description"
                why = f"{where} names it"
                yield ProducerEdge(other.identifier, SURE_WEIGHT, why)


def _contains(words: Words, part: Words) -> bool:
    """Whether the part stands in the words, one behind the other."""
    return bool(part) and any(
        words[start : start + len(part)] == part for start in range(len(words) - len(part) + 1)
    )
