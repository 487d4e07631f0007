"""Finds parameters of a tool that could carry away more than the tool needs.

A parameter counts when it takes free text (or any object or list) and its name or its description
speaks of what an agent knows: the conversation, notes, files, secrets, or an address to send
things to. `limit: integer`, a choice of words or a page token carry nothing. The first reader of a
tool has seen its parameters; only new ones are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from itertools import pairwise
from typing import Any

from capdisc_guard.changes.orders import normalise
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import compile_late, space_identifiers

MAX_PARAMETERS, MAX_DEPTH = 500, 12
# What is remembered of a parameter, as letters.
FREE, NAMED, DESCRIBED, ADDRESSED, CLOSED = "f", "n", "d", "a", "c"
# Stands for all arguments of an object that its schema does not name.
OTHERS = "*"

# Words that tell of it anywhere in a name, and those that do so at its end: a `message`, and no
# `message_kind`.
_WORDS = frozenset(
    """
    additional analytics apikey attachment attachments bcc cc chat clipboard context contexts
    conversation cookie cookies credential credentials diagnostics dialogue env environ environment
    instructions metadata note notes passphrase passwd password prompt rationale reasoning recipient
    recipients rsa scratchpad secret secrets sidenote sidenotes ssh summary telemetry thinking
    thought thoughts transcript webhook
    """.split()
)
_LAST_WORDS = frozenset(
    """
    audit body callback comment comments content contents data debug dump email emails endpoint
    extra extras feedback forward history host hostname log logs mail memory message messages misc
    payload phone profile proxy redirect remark remarks snapshot token tokens trace upload uri url
    workspace
    """.split()
)
_PAIRS = frozenset(
    """
    access-key api-key file-text forward-to private-key reply-to send-to ssh-key system-prompt user-info
    """.split()
)
# A name that ends so, or holds such a word next to "token", tells of a number, a choice or a place
# in a list.
_HARMLESS_ENDS = frozenset(
    """
    after at before colour color count cursor date enabled flag format height id ids index kind lang language length
    level limit lines max min mode name number offset order page size sort state status time type types uuid version
    width
    """.split()
)
_PAGING = frozenset("continuation cursor next page paging pagination sync".split())
_LISTING = frozenset({"enum", "const"})
_PLAIN_TYPES = frozenset({"boolean", "integer", "null", "number"})
_PLAIN_FORMATS = frozenset("date date-time time duration uuid".split())
_ADDRESS_FORMATS = frozenset("email hostname idn-email iri uri uri-reference url".split())
_DESCRIPTION = compile_late(
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
_ADDRESS = compile_late(
    r"https?://|\b[\w.+-]+@[\w-]+\.\w|(?:~|\$home)/\.|\bid_rsa\b", re.IGNORECASE
)
_COMBINING = ("anyOf", "oneOf", "allOf", "then", "else")
_NESTING = frozenset(
    "properties patternProperties $defs definitions additionalProperties items".split()
).union(_COMBINING)


def parameters_of(schema: JsonSchema) -> dict[str, str]:
    """The letters of each parameter (FREE, NAMED, …), by its path in the schema (`filter.tags[]`),
    at most MAX_PARAMETERS.
    """
    letters_by_path: dict[str, str] = {}
    _add_parameters(schema, "", 0, letters_by_path)
    return letters_by_path


def newly_carries(before: str | None, now: str) -> bool:
    """Whether a parameter with the letters `now` can carry something away that it could not
    `before`; None for a new parameter.

    >>> newly_carries(None, "fn"), newly_carries("n", "fn"), newly_carries("fn", "fn"), newly_carries(None, "f")
    (True, True, False, False)
    """
    old = before or ""
    if _carries(now) and not _carries(old):
        return True
    is_newly_described = DESCRIBED in now and FREE in now and DESCRIBED not in old
    is_newly_addressed = ADDRESSED in now and ADDRESSED not in old
    return is_newly_described or is_newly_addressed


def newly_open_objects(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The paths of the objects that took only what they named and take anything now; "" for the
    arguments themselves.
    """
    paths = []
    for path, letters in before.items():
        if CLOSED in letters and CLOSED not in now.get(path, ""):
            object_path = path.removesuffix(OTHERS).rstrip(".")
            if not object_path or object_path in now:
                paths.append(object_path)
    return tuple(paths)


def _carries(letters: str) -> bool:
    return ADDRESSED in letters or (FREE in letters and (NAMED in letters or DESCRIBED in letters))


def _add_parameters(schema: Any, prefix: str, depth: int, found: dict[str, str]) -> None:
    """Add every parameter at any depth, also those of definitions, which references lead to."""
    if depth > MAX_DEPTH or not isinstance(schema, dict) or _NESTING.isdisjoint(schema):
        return
    # The caller chooses the names of a pattern, so that any of them may tell something.
    for key, named in (("properties", ""), ("patternProperties", NAMED)):
        for name, inner in _members(schema, key):
            letters = named + _parameter_letters("" if named else str(name), inner)
            _add_letters(found, f"{prefix}{name}", letters)
            _add_parameters(inner, f"{prefix}{name}.", depth + 1, found)
    for key in ("$defs", "definitions"):
        for name, inner in _members(schema, key):
            _add_parameters(inner, f"#{name}.", depth + 1, found)
    additional = schema.get("additionalProperties")
    if additional is False:
        _add_letters(found, f"{prefix}{OTHERS}", CLOSED)
    _add_parameters(additional, f"{prefix}{OTHERS}.", depth + 1, found)
    _add_parameters(schema.get("items"), f"{prefix.removesuffix('.')}[].", depth + 1, found)
    for key in _COMBINING:
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list) else [branches]:
            _add_parameters(branch, prefix, depth + 1, found)


def _members(schema: JsonSchema, key: str) -> Iterable[tuple[Any, Any]]:
    members = schema.get(key)
    return members.items() if isinstance(members, dict) else ()


def _add_letters(found: dict[str, str], path: str, letters: str) -> None:
    old = found.get(path)
    if old is None and len(found) < MAX_PARAMETERS:
        found[path] = letters
    elif old is not None and old != letters:
        found[path] = "".join(sorted({*old, *letters}))


def _parameter_letters(name: str, schema: Any) -> str:
    letters = FREE if _is_free(schema, 0) else ""
    if not isinstance(schema, dict):
        return letters + (NAMED if _is_carrier_name(name) else "")
    if _is_carrier_name(name) or _text_or_empty(schema.get("format")) in _ADDRESS_FORMATS:
        letters += NAMED
    elif letters and _is_telling(schema.get("description")):
        letters += DESCRIBED
    if any(_ADDRESS.search(str(schema[key])) for key in ("default", "const") if key in schema):
        letters += ADDRESSED
    return letters


def _is_free(schema: Any, depth: int) -> bool:
    """Whether it takes text, or anything else, beyond a list of values."""
    if not isinstance(schema, dict):
        return schema is not False
    if not _LISTING.isdisjoint(schema) or _text_or_empty(schema.get("format")) in _PLAIN_FORMATS:
        return False
    branches = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(branches, list) and depth < MAX_DEPTH:
        return any(_is_free(branch, depth + 1) for branch in branches)
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared == "string" or _is_free_kind(schema, {declared}, depth)
    types = {_text_or_empty(kind) for kind in declared} if isinstance(declared, list) else set()
    return not types or _is_free_kind(schema, types, depth)


def _is_free_kind(schema: JsonSchema, types: Set[str], depth: int) -> bool:
    rich_types = types - _PLAIN_TYPES
    if rich_types == {"array"} and depth < MAX_DEPTH:
        return _is_free(schema.get("items", True), depth + 1)
    if rich_types == {"object"}:
        return not schema.get("properties") or bool(schema.get("additionalProperties"))
    return bool(rich_types)


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_telling(description: Any) -> bool:
    return isinstance(description, str) and bool(_DESCRIPTION.search(normalise(description)))


@lru_cache(maxsize=4_096)
def _is_carrier_name(name: str) -> bool:
    words = [word for word in re.split(r"[\W_]+", space_identifiers(name).lower()) if word]
    if not words or words[-1] in _HARMLESS_ENDS:
        return False
    if words[-1] in ("token", "tokens") and _PAGING.intersection(words):
        return False
    pairs = {f"{first}-{second}" for first, second in pairwise(words)}
    return words[-1] in _LAST_WORDS or bool(_WORDS.intersection(words) or _PAIRS & pairs)
