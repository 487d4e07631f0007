"""Which parameters of a tool could carry away more than the tool is for.

A parameter counts when it takes free text (or any object or list) and its name or its description speaks of what an
agent knows: the conversation, notes, files, secrets, or an address to send things to. `limit: integer`, a choice of
words or a page token carry nothing. The first reader of a tool has seen its parameters; only new ones are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from capdisc_indexer.check.changes.orders import normalise
from capdisc_indexer.text import spaced_identifiers

MAX_PARAMETERS, MAX_DEPTH = 500, 12
# What is remembered of a parameter, as letters.
FREE, NAMED, DESCRIBED, ADDRESSED, CLOSED = "f", "n", "d", "a", "c"
# Stands for all arguments of an object that its schema does not name.
OTHERS = "*"

_WORDS = frozenset(
    """
    additional analytics apikey attachment attachments audit bcc body callback cc chat clipboard
    comment comments content contents context contexts conversation cookie cookies credential
    credentials data debug destination diagnostics dialogue dump email emails endpoint env environ
    environment extra extras feedback forward history host hostname instructions log logs mail
    memory message messages metadata misc note notes passphrase passwd password payload phone
    profile prompt proxy rationale reasoning recipient recipients redirect remark remarks scratchpad
    secret secrets sidenote sidenotes snapshot summary telemetry thinking thought thoughts token
    tokens trace transcript upload uri url webhook workspace
    """.split()
)
_PAIRS = frozenset(
    """
    access-key api-key file-text forward-to private-key reply-to send-to ssh-key system-prompt user-info
    """.split()
)
# A name that ends so, or holds such a word beside "token", tells of a number, a choice or a place in a list.
_HARMLESS_ENDS = frozenset(
    """
    after at before colour color count cursor date enabled flag format height id ids index kind lang language length
    level limit lines max min mode name number offset order page size sort state status time type types uuid version
    width
    """.split()
)
_PAGING = frozenset("continuation cursor next page paging pagination sync".split())
_PLAIN_TYPES = frozenset({"boolean", "integer", "null", "number"})
_PLAIN_FORMATS = frozenset("date date-time time duration uuid".split())
_ADDRESS_FORMATS = frozenset("email hostname idn-email iri uri uri-reference url".split())
_DESCRIPTION = re.compile(
    r"conversation|chat (?:history|log|transcript)|transcript|(?:previous|prior|earlier|recent) messages"
    r"|message history|system prompt|file contents?|contents? of|environment variables?|credentials?"
    r"|api keys?|secrets?\b|passwords?|private key|everything|context (?:of|from)"
    r"|(?:full|complete|entire|whole|additional|extra|background|current) context"
    r"|what the user (?:said|asked|wants|wrote)|your (?:reasoning|thoughts|instructions|memory|tools|prompt)"
    r"|user'?s (?:original |full |last )?(?:request|query|message|prompt|question|data|files)"
    r"|call-?back|webhook|e-?mail address|\bbcc\b|recipient|side ?note|\burls?\b"
    r"|(?:where|whom) to (?:send|post|upload|report|forward)"
    r"|for (?:audit|auditing|analytics|telemetry|logging|debugging|quality|compliance|verification)\b"
)
_ADDRESS = re.compile(r"https?://|\b[\w.+-]+@[\w-]+\.\w|(?:~|\$home)/\.|\bid_rsa\b", re.IGNORECASE)
_COMBINING = ("anyOf", "oneOf", "allOf", "then", "else")


def parameters_of(schema: Mapping[str, Any]) -> dict[str, str]:
    """What could leave by each parameter, as letters, by its path in the schema (`filter.tags[]`), at most 500."""
    traits: dict[str, str] = {}
    for path, letters in _parameters(schema, "", 0):
        if len(traits) >= MAX_PARAMETERS:
            break
        traits[path] = "".join(sorted({*traits.get(path, ""), *letters}))
    return traits


def newly_carries(before: str | None, now: str) -> bool:
    """Whether a parameter can carry something away now that it could not before; None: there was no such parameter.

    >>> newly_carries(None, "fn"), newly_carries("n", "fn"), newly_carries("fn", "fn"), newly_carries(None, "f")
    (True, True, False, False)
    """
    known = before or ""
    if _carries(now) and not _carries(known):
        return True
    return (DESCRIBED in now and FREE in now and DESCRIBED not in known) or (
        ADDRESSED in now and ADDRESSED not in known
    )


def opened(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The paths of the objects that took only what they named and take anything now ("": the arguments themselves)."""
    closed = [path for path, letters in before.items() if CLOSED in letters]
    return tuple(
        path.removesuffix(OTHERS).rstrip(".")
        for path in closed
        if CLOSED not in now.get(path, "") and _still_there(path.removesuffix(OTHERS).rstrip("."), now)
    )


def _still_there(path: str, now: Mapping[str, str]) -> bool:
    return not path or path in now


def _carries(letters: str) -> bool:
    return ADDRESSED in letters or (FREE in letters and (NAMED in letters or DESCRIBED in letters))


def _parameters(schema: Any, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every parameter at any depth, those of definitions that references lead to among them."""
    if depth > MAX_DEPTH or not isinstance(schema, Mapping):
        return
    for table, start in (("properties", prefix), ("$defs", "#"), ("definitions", "#"), ("patternProperties", prefix)):
        members = schema.get(table)
        for name, inner in members.items() if isinstance(members, Mapping) else ():
            path = f"{start}{name}"
            if table == "properties":
                yield path, _traits(str(name), inner)
            elif table == "patternProperties":  # which lets the caller choose the names
                yield path, NAMED + _traits("", inner)
            yield from _parameters(inner, f"{path}.", depth + 1)
    others = schema.get("additionalProperties")
    if others is False:
        yield f"{prefix}{OTHERS}", CLOSED
    elif isinstance(others, Mapping):
        yield from _parameters(others, f"{prefix}{OTHERS}.", depth + 1)
    items = schema.get("items")
    yield from _parameters(items, f"{prefix.removesuffix('.')}[].", depth + 1)
    for key in _COMBINING:
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list) else [branches]:
            yield from _parameters(branch, prefix, depth + 1)


def _traits(name: str, schema: Any) -> str:
    table: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    letters = FREE if _is_free(schema, 0) else ""
    if _is_carrier_name(name) or table.get("format") in _ADDRESS_FORMATS:
        letters += NAMED
    said = table.get("description")
    if isinstance(said, str) and _DESCRIPTION.search(normalise(said)):
        letters += DESCRIBED
    if any(_ADDRESS.search(str(table[key])) for key in ("default", "const") if key in table):
        letters += ADDRESSED
    return letters


def _is_free(schema: Any, depth: int) -> bool:
    """Whether it takes text, or anything, that its schema does not list."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if depth > MAX_DEPTH or "enum" in schema or "const" in schema or schema.get("format") in _PLAIN_FORMATS:
        return False
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(key), list):
            return any(_is_free(branch, depth + 1) for branch in branches)
    declared = schema.get("type")
    types = set(declared) if isinstance(declared, list) else {declared} if isinstance(declared, str) else set()
    others = types - _PLAIN_TYPES
    if others == {"array"}:
        return _is_free(schema.get("items", True), depth + 1)
    if others == {"object"}:
        return not schema.get("properties") or bool(schema.get("additionalProperties"))
    return bool(others) or not types


@lru_cache(maxsize=4_096)
def _is_carrier_name(name: str) -> bool:
    words = [word for word in re.split(r"[\W_]+", spaced_identifiers(name).lower()) if word]
    if not words or words[-1] in _HARMLESS_ENDS:
        return False
    if words[-1] in ("token", "tokens") and _PAGING.intersection(words):
        return False
    pairs = {f"{first}-{second}" for first, second in pairwise(words)}
    return bool(_WORDS.intersection(words) or _PAIRS & pairs)
