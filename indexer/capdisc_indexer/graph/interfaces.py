"""What a capability needs, and what its name, route and texts say that it gives: all that the
rules of `producer_edges` know of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityInterface
from capdisc_indexer.model.types import Descriptor

Words: TypeAlias = tuple[str, ...]

_NAME_BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
_PLURAL_IDS = re.compile(r"IDs(?![a-z])")
# The singular of other words in -ies ends in -y.
_PLURALS_OF_IE = frozenset("movies cookies calories".split())

_ROUTE = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (?:https?://[^/\s]+)?(/[^\s?#,;()\"'`]*)")
_PARAMETER = re.compile(r"\{(\w+)\}|(?<=/):(\w+)")
# The prefixes of a route, before its resources.
_ROUTE_PREFIX = re.compile(r"api|rest|v\d+(?:\.\d+)*|\d+(?:\.\d+)*", re.IGNORECASE)
_FINDING_SEGMENTS = frozenset("search find lookup list query browse discover".split())
_CHANGES = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}

# Kinds without parameters that a catalogue of tools may hold, too.
KINDS_WITHOUT_INTERFACE = frozenset({"skill", "document"})
_IDENTIFYING = frozenset("id identifier uuid guid token code slug handle sku key".split())
READING_VERBS = frozenset(
    "get find search lookup list fetch retrieve query resolve show read look browse check convert "
    "view enumerate discover generate obtain".split()
)
LISTING_VERBS = frozenset(
    "find search lookup list query browse enumerate discover look fetch".split()
)
SHOWING_VERBS = frozenset("get show read retrieve fetch view check describe".split())
_HTTP_METHODS = frozenset("get post put patch delete".split())
# What stands behind the noun in the name of a tool that shows one thing (`get_order_details`).
DETAIL_WORDS = frozenset("detail info information data profile record by id".split())
# What stands before the noun in the name of a parameter (`new_item_id`).
_QUALIFIERS = frozenset(
    "new old target source current origin destination from to parent the list".split()
)
_CHANGING_VERBS = frozenset(
    "update delete cancel edit modify rename archive close reopen activate deactivate enable "
    "disable restart pause resume".split()
)
_VERBS = READING_VERBS | _CHANGING_VERBS
_ONE_THING = re.compile(r"\b(?:specific|particular|single|by (?:\w+ )?id)\b", re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r"[^.!?\n]{,200}\bfirst\b[^.!?\n]{,200}")
_MOST_HINT = 4_000
_PLURALS = re.compile(
    r"\b(?:list|all|including|includes|their|its|of|any)\s(?:[a-z]+\s){0,3}?([a-z]+s)\b",
    re.IGNORECASE,
)
_ANY_PLURALS = re.compile(r"\b([a-z]{2,}s)\b", re.IGNORECASE)
_SEARCH_WORDS = LISTING_VERBS | frozenset("get post all any multi item everything".split())
_LOOKUP_WORDS = re.compile(
    r"\b(?:look(?:ed)? up|obtain|retriev|extract|return|fetch|found|find|from|via|us(?:e|ing)|call"
    r"|see|get)",
    re.IGNORECASE,
)
_MAX_HINT, _MAX_DESCRIPTION, _MAX_YIELDS, _MAX_DEPTH = 200, 300, 32, 5


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
        if len(words) > 2 and words[0] in _HTTP_METHODS and words[1] in READING_VERBS:
            return words[1:]
        return words

    @property
    def phrases(self) -> tuple[Words, ...]:
        """The words of the name, and those of the route where there is one; these alone where the
        route is the name.
        """
        if route := self.interface.get("route"):
            return (route_words(route),) if "/" in self.name else (self.words, route_words(route))
        return (self.words,)


def describe_interface(descriptor: Descriptor) -> CapabilityInterface:
    """What the rules need of a capability, empty where they would find nothing."""
    if descriptor.kind in KINDS_WITHOUT_INTERFACE:
        return {}
    # A name is stored without braces; the title is as written.
    route = find_route(descriptor.title, descriptor.usage_hint, descriptor.description)
    required = [parameter for parameter in descriptor.parameters if parameter.required]
    declared = {parameter.name for parameter in descriptor.parameters}
    names = [parameter.name for parameter in required]
    names += [
        name
        for name in route_parameters(f"{route} {descriptor.title} {descriptor.description}")
        if name not in declared
    ]
    needs = {
        name: " ".join(words)
        for name in dict.fromkeys(names)
        if (words := _identified_words(name, descriptor.name, route))
    }
    if not required and not route:
        needs |= _needs_of_name(descriptor)
    hints = [
        [parameter.name, parameter.description[:_MAX_HINT]]
        for parameter in required
        if _LOOKUP_WORDS.search(parameter.description)
    ]
    if "first" in descriptor.description:
        hints += [
            ["", text] for text in _FIRST_SENTENCE.findall(descriptor.description[:_MOST_HINT])
        ]
    interface: CapabilityInterface = {}
    if route:
        interface["route"] = route
    if needs:
        interface["needs"] = needs
    if hints:
        interface["hints"] = hints
    if names:
        interface["inputs"] = [" ".join(name_words(name)) for name in names]
    words = name_words(descriptor.name)
    if READING_VERBS.intersection(words[:2]):
        pattern = _ANY_PLURALS if is_general_search(words) else _PLURALS
        found = pattern.findall(descriptor.description[:_MAX_DESCRIPTION])
        if lists := list(dict.fromkeys(singular(noun.lower()) for noun in found)):
            interface["lists"] = lists
        if descriptor.output_schema and (yields := _yielded_words(descriptor.output_schema)):
            interface["yields"] = yields
    if interface and descriptor.source.format == "openapi":
        interface["is_api"] = True
    return interface


def _needs_of_name(descriptor: Descriptor) -> dict[str, str]:
    """What a tool whose parameters nobody declares needs to know: which thing it changes, or shows
    where its description speaks of one thing.
    """
    words = name_words(descriptor.name)
    if len(words) > 2 and words[0] not in _VERBS and words[1] in _VERBS:
        words = words[1:]
    noun = object_words(words)
    is_about_one = words[:1] and (
        words[0] in _CHANGING_VERBS
        or (words[0] in SHOWING_VERBS and _ONE_THING.search(descriptor.description))
    )
    # `get_user_by_email` needs something else.
    if words[1 + len(noun) :] not in ((), ("by", "id")):
        is_about_one = False
    while noun and noun[-1] in DETAIL_WORDS:
        noun = noun[:-1]
    if not noun or not is_about_one or re.search(rf"(?i:{noun[-1]})e?s(?![a-z])", descriptor.name):
        return {}
    return {"_".join((*noun, "id")): " ".join((*noun, "id"))}


def is_general_search(words: Words) -> bool:
    """Whether a name says that a tool searches, and not for what."""
    return _SEARCH_WORDS.issuperset(words) and not LISTING_VERBS.isdisjoint(words)


def _identified_words(parameter: str, tool: str, route: str) -> Words:
    """What a parameter identifies and by what (`("order", "id")`); empty where it identifies
    nothing. A bare `id` is that of the resource in front of it in the route, or of what the tool's
    name is about.
    """
    words = name_words(parameter)
    resource = resource_before(route, parameter)
    if words in (resource, ("session",)):
        words = (*words, "id")
    if words == ("token",):
        words = ("access", "token")
    while len(words) > 2 and words[0] in _QUALIFIERS:
        words = words[1:]
    if words == ("id",):
        if not resource and route:
            resource = route_words(route)[-1:]
        words = (*(resource or object_words(name_words(tool))), "id")
    return words if len(words) > 1 and words[-1] in _IDENTIFYING else ()


def object_words(words: Words) -> Words:
    """The words of a tool's name behind its verb, up to a preposition."""
    rest = words[1:]
    for place, word in enumerate(rest):
        if word in ("by", "for", "from", "with", "in", "to"):
            return rest[:place]
    return rest


def _yielded_words(schema: Mapping[str, Any], depth: int = 0) -> list[str]:
    """The properties of an output schema that identify something, in words."""
    names: list[str] = []
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        words = name_words(str(name))
        if len(words) > 1 and words[-1] in _IDENTIFYING:
            names.append(" ".join(words))
        if isinstance(part, Mapping) and depth < _MAX_DEPTH:
            names += _yielded_words(part, depth + 1)
    items = schema.get("items")
    if isinstance(items, Mapping) and depth < _MAX_DEPTH:
        names += _yielded_words(items, depth + 1)
    return list(dict.fromkeys(names))[:_MAX_YIELDS]


# The words that names and routes of an API are made of.


@lru_cache(maxsize=4096)
def name_words(name: str) -> Words:
    """The words of an identifier in lower case, each in the singular.

    >>> name_words("listUserIDs")
    ('list', 'user', 'id')
    """
    parts = _NAME_BREAKS.split(_PLURAL_IDS.sub("Ids", name))
    return tuple(singular(part.lower()) for part in parts if part)


def singular(word: str) -> str:
    """The singular of an English word in lower case, as far as its ending tells.

    >>> singular("categories"), singular("movies"), singular("databases"), singular("status")
    ('category', 'movie', 'database', 'status')
    """
    if word == "ids":
        return "id"
    if len(word) > 4 and word.endswith("ies") and word not in _PLURALS_OF_IE:
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "tuses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=4096)
def route_words(route: str) -> Words:
    """A route as the name of a tool that does the same: a verb, and what it is about.

    >>> route_words("GET /search/movie"), route_words("GET /v1/users/{user_id}/playlists")
    (('search', 'movie'), ('list', 'user', 'playlist'))
    >>> route_words("DELETE /albums/{id}"), route_words("GET /me/albums")
    (('delete', 'album'), ('list', 'album'))
    """
    method, _, path = route.partition(" ")
    segments = [part for part in path.split("/") if part and not _ROUTE_PREFIX.fullmatch(part)]
    fixed = [part for part in segments if not _PARAMETER.search(f"/{part}")]
    words = [word for part in fixed if part not in ("me", "my") for word in name_words(part)]
    for place in (0, -1):
        if words and words[place] in _FINDING_SEGMENTS and method in ("GET", "POST"):
            verb = words.pop(place)
            return (verb, *words)
    if method != "GET":
        return (_CHANGES[method], *words)
    is_plural = bool(words) and not segments[-1].lower().endswith(words[-1])
    return ("list" if is_plural and segments[-1] == fixed[-1] else "get", *words)


def find_route(*texts: str) -> str:
    """The route that one of the texts begins with, as "GET /path"; "" where none does."""
    for text in texts:
        if match := _ROUTE.match(text):
            return f"{match[1]} {match[2]}"
    return ""


def route_parameters(text: str) -> list[str]:
    """The names of the parameters that stand in a text as in a route: `{name}`, or `:name`."""
    return list(dict.fromkeys(match[1] or match[2] for match in _PARAMETER.finditer(text)))


def resource_before(route: str, parameter: str) -> Words:
    """The words of the part of a route in front of a parameter: of what it tells which."""
    name = re.escape(parameter)
    before = re.split(rf"/(?:\{{{name}\}}|:{name})(?!\w)", route)[0]
    segment = before.rpartition("/")[2]
    return () if before == route or _PARAMETER.search(f"/{segment}") else name_words(segment)
