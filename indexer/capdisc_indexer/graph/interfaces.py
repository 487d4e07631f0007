"""Which capability gives what another one needs: edges from parameters to the tools that look
their values up.

`cancel_order` requires an `order_id` that nobody says aloud; `find_order_id_by_email` gives it.
Only required parameters that identify something count, and only tools of one source and category:
names like `user_id` mean something else in another API. Precision comes before recall. The edges
are found while an index is built, from the interfaces that `describe_interface` takes from each
capability; a catalogue without parameters has none.

Measured on requests with several right answers: where the tool with the parameter is one of them,
so is the producer in 212 of 212 (one set) and in 37 of 78 cases (another, which has two tools for
the same id) by its name; in 4 of 5 by a list or search; in 85 of 149 by what its description says
that it includes; in 54 of 101 where a tool is read before it is changed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityInterface
from capdisc_indexer.model.types import Descriptor, Parameter, ProducerEdge

# The kinds that a catalogue of tools has beside tools; skills and documents have no parameters.
KINDS_WITHOUT_INTERFACE = frozenset({"skill", "document"})
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

_IDENTIFYING = frozenset("id identifier uuid guid token code slug handle sku key".split())
_READING_VERBS = frozenset(
    "get find search lookup list fetch retrieve query resolve show read look browse check convert "
    "view enumerate discover generate obtain".split()
)
_LISTING_VERBS = frozenset(
    "find search lookup list query browse enumerate discover look fetch".split()
)
_SHOWING_VERBS = frozenset("get show read retrieve fetch view check describe".split())
_HTTP_METHODS = frozenset("get post put patch delete".split())
# What stands behind the noun in the name of a tool that shows one thing (`get_order_details`).
_DETAIL_WORDS = frozenset("detail info information data profile record by id".split())
# What stands before the noun in the name of a parameter (`new_item_id`).
_QUALIFIERS = frozenset(
    "new old target source current origin destination from to parent the list".split()
)
_NAME_BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
_PLURAL_IDS = re.compile(r"IDs(?![a-z])")
_PLURALS = re.compile(
    r"\b(?:list|all|including|includes|their|its|of|any)\s(?:[a-z]+\s){0,3}?([a-z]+s)\b",
    re.IGNORECASE,
)
_LOOKUP_WORDS = re.compile(
    r"\b(?:look(?:ed)? up|obtain|retriev|extract|return|fetch|found|find|from|via|us(?:e|ing)|call"
    r"|see|get)",
    re.IGNORECASE,
)
_TOOL_NOUNS = ("api", "tool", "endpoint", "function", "method", "operation", "command")
_MAX_HINT, _MAX_DESCRIPTION, _MAX_YIELDS, _MAX_DEPTH = 200, 300, 32, 5

Words: TypeAlias = tuple[str, ...]


@frozen
class InterfaceOwner:
    """A capability as the rules see it: its id, its name in words, and its interface."""

    identifier: str
    name: str
    interface: CapabilityInterface

    @property
    def words(self) -> Words:
        """The words of the name, without an HTTP method in front of another verb."""
        words = name_words(self.name)
        if len(words) > 2 and words[0] in _HTTP_METHODS and words[1] in _READING_VERBS:
            return words[1:]
        return words


def name_words(name: str) -> Words:
    """The words of an identifier in lower case, each in the singular.

    >>> name_words("listUserIDs")
    ('list', 'user', 'id')
    """
    parts = _NAME_BREAKS.split(_PLURAL_IDS.sub("Ids", name))
    return tuple(_singular(part.lower()) for part in parts if part)


def _singular(word: str) -> str:
    if word == "ids":
        return "id"
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def describe_interface(descriptor: Descriptor) -> CapabilityInterface:
    """What the rules need of a capability, empty where they would find nothing."""
    if descriptor.kind in KINDS_WITHOUT_INTERFACE:
        return {}
    required = [parameter for parameter in descriptor.parameters if parameter.required]
    needs = {
        parameter.name: " ".join(words)
        for parameter in required
        if (words := _identified_words(parameter.name, descriptor.name))
    }
    hints = [
        [parameter.name, parameter.description[:_MAX_HINT]]
        for parameter in required
        if _LOOKUP_WORDS.search(parameter.description)
    ]
    interface: CapabilityInterface = {}
    if needs:
        interface["needs"] = needs
    if hints:
        interface["hints"] = hints
    if required:
        interface["inputs"] = _input_words(required)
    words = name_words(descriptor.name)
    if _READING_VERBS.intersection(words[:2]):
        found = _PLURALS.findall(descriptor.description[:_MAX_DESCRIPTION])
        if lists := list(dict.fromkeys(_singular(noun.lower()) for noun in found)):
            interface["lists"] = lists
        if descriptor.output_schema and (yields := _yielded_words(descriptor.output_schema)):
            interface["yields"] = yields
    if interface and descriptor.source.format == "openapi":
        interface["is_api"] = True
    return interface


def _input_words(required: Sequence[Parameter]) -> list[str]:
    return [" ".join(name_words(parameter.name)) for parameter in required]


def _identified_words(parameter: str, tool: str) -> Words:
    """What a parameter identifies and by what (`("order", "id")`); empty where it identifies
    nothing. A bare `id` is that of what the tool's name is about.
    """
    words = name_words(parameter)
    while len(words) > 2 and words[0] in _QUALIFIERS:
        words = words[1:]
    if words == ("id",):
        words = (*_object_words(name_words(tool)), "id")
    return words if len(words) > 1 and words[-1] in _IDENTIFYING else ()


def _object_words(words: Words) -> Words:
    """The words of a tool's name behind its verb, up to a preposition."""
    rest = words[1:]
    for place, word in enumerate(rest):
        if word in ("by", "for", "from", "with", "in", "to"):
            return rest[:place]
    return rest


def _yielded_words(schema: Mapping[str, Any], depth: int = 0) -> list[str]:
    """The properties of an output schema that identify something, in words."""
    found: list[str] = []
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        words = name_words(str(name))
        if len(words) > 1 and words[-1] in _IDENTIFYING:
            found.append(" ".join(words))
        if isinstance(part, Mapping) and depth < _MAX_DEPTH:
            found += _yielded_words(part, depth + 1)
    items = schema.get("items")
    if isinstance(items, Mapping) and depth < _MAX_DEPTH:
        found += _yielded_words(items, depth + 1)
    return list(dict.fromkeys(found))[:_MAX_YIELDS]


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
    return {*owner.words, *interface.get("lists", ()), *yielded}


def _edges_of(
    owner: InterfaceOwner, owners_of_word: Mapping[str, Sequence[InterfaceOwner]]
) -> Iterator[ProducerEdge]:
    interface = owner.interface
    for parameter, text in interface.get("needs", {}).items():
        needed = tuple(text.split())
        others = {
            other.identifier: other
            for other in owners_of_word.get(needed[-2], ())
            if other.identifier != owner.identifier
        }
        edges = [
            edge
            for other in others.values()
            if (edge := _rate_producer(parameter, needed, other)) is not None
        ]
        surest = max((edge.weight for edge in edges), default=0.0)
        edges = [edge for edge in edges if edge.weight == surest]
        if len(edges) <= _MAX_ALTERNATIVES:
            yield from edges
        yield from _find_reader(owner, parameter, needed, others.values())
    for parameter, description in interface.get("hints", ()):
        yield from _find_named(owner, parameter, description, owners_of_word)


def _rate_producer(parameter: str, needed: Words, other: InterfaceOwner) -> ProducerEdge | None:
    """The edge to a tool that gives the parameter, where it does and needs no such value itself."""
    words, interface = other.words, other.interface
    if not words or words[0] not in _READING_VERBS or _requires(other, needed):
        return None
    noun = needed[:-1]
    if _contains(words, needed):
        return ProducerEdge(other.identifier, SURE_WEIGHT, f"its name gives {parameter}")
    if " ".join(needed) in interface.get("yields", ()):
        return ProducerEdge(other.identifier, SURE_WEIGHT, f"its output holds {parameter}")
    listed = _object_words(words) if words[0] in _LISTING_VERBS else ()
    if listed[-len(noun) :] == noun:
        weight = LISTING_WEIGHT if listed == noun else NARROW_LISTING_WEIGHT
        return ProducerEdge(other.identifier, weight, f"it finds {parameter}")
    if len(noun) == 1 and noun[0] in interface.get("lists", ()):
        return ProducerEdge(other.identifier, INCLUDING_WEIGHT, f"it includes {parameter}")
    return None


def _requires(other: InterfaceOwner, needed: Words) -> bool:
    inputs = other.interface.get("inputs", ())
    return " ".join(needed) in inputs or " ".join(needed) in (
        other.interface.get("needs", {}).values()
    )


def _find_reader(
    owner: InterfaceOwner, parameter: str, needed: Words, others: Iterable[InterfaceOwner]
) -> Iterator[ProducerEdge]:
    """The tool that shows what this one changes: who changes an order looks at it first."""
    if not owner.words or owner.words[0] in _READING_VERBS:
        return
    noun = needed[:-1]
    for other in others:
        words = other.words
        is_reader = (
            words[0] in _SHOWING_VERBS
            and words[1 : 1 + len(noun)] == noun
            and _DETAIL_WORDS.issuperset(words[1 + len(noun) :])
        )
        if is_reader and list(other.interface.get("needs", {}).values()) == [" ".join(needed)]:
            yield ProducerEdge(other.identifier, READING_WEIGHT, f"it shows what {parameter} is")


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
            is_named = " " not in other.name and re.search(
                rf"(?<!\w){re.escape(other.name)}(?!\w)", description
            )
            if is_named or any(_contains(described, (*words, noun)) for noun in _TOOL_NOUNS):
                why = f"the description of {parameter} names it"
                yield ProducerEdge(other.identifier, SURE_WEIGHT, why)


def _contains(words: Words, part: Words) -> bool:
    """Whether the part stands in the words, one behind the other."""
    return bool(part) and any(
        words[start : start + len(part)] == part for start in range(len(words) - len(part) + 1)
    )
