"""What a line of a catalogue writes otherwise than a CAPABILITY.yaml, brought into the manifest's shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.sources import manifest_fields
from capdisc_indexer.sources.fields import Fields
from capdisc_indexer.sources.naming import clean_name, is_plain_name
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.text import one_line

# `content` is the text itself here, never the name of a file: a generated text may look like one.
FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType({**manifest_fields.FIELDS, "text": ("content",)})

# Ids are printed one a line and typed after `capdisc show`: no blanks at the ends, nothing hidden, no markup, no flag.
_ID = re.compile(r"\w[^<>`\"]{0,255}")
_NO_NAME = re.compile(r"[^\w./ -]+|\.\.+")
LEAD_CHARACTERS = 240  # of a content, in the place of a description that is missing
_OF_PARAMETER = ("type", "description", "enum", "items", "default")


def shaped(value: Json) -> Json:
    """The line as a manifest would say it; what is no object stays as it is."""
    if not isinstance(value, dict):
        return value
    changed = {key: item for key, item in value.items() if key != "id"}
    if isinstance(listed := value.get("parameters"), list):
        changed["parameters"] = schema_of(listed)
    return _spoken(_described(_titled(changed)))


def identity(value: Json, fields: Fields) -> str:
    """The id as the line gives it; "" with a warning where it cannot be one, so that kind and name make it."""
    given = value.get("id") if isinstance(value, dict) else None
    text = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
    if _ID.fullmatch(text) and text.isprintable() and text == one_line(text):
        return text
    if given is not None:
        hint = "write up to 256 letters, digits and signs on one line"
        fields.warn("id", "field-value", "the id is none that can be typed; kind and name take its place", hint)
    return ""


def schema_of(listed: list[Json]) -> Json:
    """A flat list of parameters as a JSON schema; items without a name are no parameters.

    >>> schema_of([{"name": "to", "type": "string", "required": True}])
    {'type': 'object', 'properties': {'to': {'type': 'string'}}, 'required': ['to']}
    """
    named = {str(each["name"]): each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)}
    properties: dict[str, Json] = {
        name: {key: each[key] for key in _OF_PARAMETER if key in each} for name, each in named.items()
    }
    required: list[Json] = [name for name, each in named.items() if each.get("required") is True]
    return {"type": "object", "properties": properties, "required": required}


def _titled(value: dict[str, Json]) -> dict[str, Json]:
    """A name that no manifest could have becomes the title, and what can be kept of it the name."""
    name = value.get("name")
    if not isinstance(name, str) or is_plain_name(clean_name(name)):
        return value
    plain = clean_name(_NO_NAME.sub(" ", clean_name(name))).lstrip("./ ")
    if name.strip().lstrip("~./ ") == plain:
        return value  # a path that climbs is refused, lest it take the place of the name that it ends in
    titled = value if value.keys() & {"title", "displayName", "display_name"} else {"title": name, **value}
    return {**titled, "name": plain} if plain else value


def _described(value: dict[str, Json]) -> dict[str, Json]:
    """Without a description, the content begins with what there is to say."""
    content, given = value.get("content"), value.get("description")
    if not isinstance(content, str) or (given is not None and given != ""):
        return value
    return {**value, "description": one_line(content, LEAD_CHARACTERS)}


def _spoken(value: dict[str, Json]) -> dict[str, Json]:
    """What people say, one sentence a line, is the content of an intent: each becomes a phrase."""
    content, examples = value.get("content"), value.get("examples", [])
    if value.get("kind") != "intent" or not isinstance(content, str) or not isinstance(examples, list):
        return value
    said: list[Json] = [line for line in content.splitlines() if line.strip()]
    return {key: item for key, item in value.items() if key != "content"} | {"examples": [*examples, *said]}
