"""The words that names and routes of an API are made of."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]

_NAME_BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
_PLURAL_IDS = re.compile(r"IDs(?![a-z])")
# The singular of other words in -ies ends in -y.
_PLURALS_OF_IE = frozenset("movies cookies calories".split())

_ROUTE = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (?:https?://[^/\s]+)?(/[^\s?#,;()\"'`]*)")
_PARAMETER = re.compile(r"\{(\w+)\}|(?<=/):(\w+)")
# What stands in front of the resources of a route.
_ROUTE_PREFIX = re.compile(r"api|rest|v\d+(?:\.\d+)*|\d+(?:\.\d+)*", re.IGNORECASE)
_FINDING_SEGMENTS = frozenset("search find lookup list query browse discover".split())
_CHANGES = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}


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
