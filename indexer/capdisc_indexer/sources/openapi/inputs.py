"""What an operation takes: parameters and body as one schema, and where each part of it goes in a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.openapi.document import Document
from capdisc_indexer.sources.openapi.schemas import Writing
from capdisc_indexer.sources.schema import type_text
from capdisc_indexer.text import one_line

DEPTH, NODES = 6, 600
MAX_PARAMETERS = 100
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_PLACES = ("path", "query", "header", "cookie")
# The description of these is ignored by the specification: other parts of the document say what they hold.
_SAID_ELSEWHERE = frozenset({"accept", "content-type", "authorization"})


@frozen(kw_only=True)
class Input:
    """One argument of an operation, and the part of a request that it goes to."""

    name: str
    place: str
    schema: Mapping[str, Any]
    required: bool


@frozen(kw_only=True)
class Inputs:
    """All arguments; `is_form` says that a body is not JSON but a form."""

    each: tuple[Input, ...]
    is_form: bool = False

    def schema(self) -> dict[str, Any]:
        """One JSON schema over all of them."""
        required = [one.name for one in self.each if one.required]
        properties = {one.name: dict(one.schema) for one in self.each}
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})

    def places(self) -> list[dict[str, Any]]:
        """Name and place of each, as a request needs them."""
        return [{"name": one.name, "in": one.place} for one in self.each]

    def listed(self) -> list[dict[str, Any]]:
        """The same with what a reader wants to know."""
        return [
            {
                "name": one.name,
                "in": one.place,
                "type": type_text(one.schema),
                "required": one.required,
                "description": str(one.schema.get("description", "")),
            }
            for one in self.each
        ]


def inputs_of(document: Document, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Inputs:
    """The arguments of one operation: those of its path, overridden by its own, then its body."""
    writing = Writing(document, DEPTH, NODES, "readOnly")
    declared = _declared(document, item, operation)
    plain = [_parameter(writing, each) for each in declared if each.get("in") in _PLACES]
    taken = {one.name: one for one in reversed(plain)}  # of one name in two places, the first is meant
    first = [one for one in plain if taken[one.name] is one][:MAX_PARAMETERS]
    body, is_form = (
        _swagger_body(document, declared, operation) if document.version == 2 else _body(document, operation)
    )
    return Inputs(each=(*first, *_of_body(writing, body, {one.name for one in first})), is_form=is_form)


def _declared(document: Document, item: Mapping[str, Any], operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    by_place: dict[tuple[str, str], dict[str, Any]] = {}
    for holder in (item, operation):
        listed = holder.get("parameters")
        for each in listed if isinstance(listed, list) else ():
            one = document.followed(each)
            name, where = (one.get("name"), one.get("in")) if one else ("", "")
            said_elsewhere = where == "header" and str(name).lower() in _SAID_ELSEWHERE
            if one and name and isinstance(name, str) and isinstance(where, str) and not said_elsewhere:
                by_place[where, name] = one
    return list(by_place.values())


def _parameter(writing: Writing, one: Mapping[str, Any]) -> Input:
    content = one.get("content")
    media: Any = next(iter(content.values()), {}) if isinstance(content, dict) else {}
    declared = one.get("schema") or (media.get("schema") if isinstance(media, dict) else None)
    schema = writing.schema(declared if declared else {key: each for key, each in one.items() if key != "required"})
    if isinstance(said := one.get("description"), str) and said.strip():
        schema = {**schema, "description": one_line(said, 300)}
    required = one.get("required") in (True, "true") or one.get("in") == "path"
    return Input(name=str(one["name"]), place=str(one["in"]), schema=schema, required=required)


@frozen
class _Body:
    schema: Any
    required: bool
    description: str = ""


def _body(document: Document, operation: Mapping[str, Any]) -> tuple[_Body | None, bool]:
    """The body's schema as JSON where it may be that, else as a form, and whether it is one."""
    declared = document.followed(operation.get("requestBody"))
    content = declared.get("content") if declared else None
    if not declared or not isinstance(content, dict):
        return None, False
    kinds = sorted(content, key=_preference)
    media = content[kinds[0]] if kinds else None
    schema = media.get("schema", {}) if isinstance(media, dict) else {}
    said = declared.get("description")
    body = _Body(schema, declared.get("required") is True, said if isinstance(said, str) else "")
    return body, bool(kinds) and kinds[0].partition(";")[0] in FORMS


def _preference(kind: str) -> int:
    plain = kind.partition(";")[0].strip().lower()
    if plain == "application/json" or plain.endswith("+json"):
        return 0
    return 1 + FORMS.index(plain) if plain in FORMS else 3


def _swagger_body(
    document: Document, declared: Sequence[Mapping[str, Any]], operation: Mapping[str, Any]
) -> tuple[_Body | None, bool]:
    whole = next((each for each in declared if each.get("in") == "body"), None)
    if whole:
        return _Body(whole.get("schema", {}), whole.get("required") is True, str(whole.get("description", ""))), False
    fields = {str(each["name"]): each for each in declared if each.get("in") == "formData"}
    if not fields:
        return None, False
    properties = {name: {key: one for key, one in each.items() if key != "required"} for name, each in fields.items()}
    required = [name for name, each in fields.items() if each.get("required") is True]
    return _Body({"type": "object", "properties": properties, "required": required}, bool(required)), True


def _of_body(writing: Writing, body: _Body | None, taken: set[str]) -> Iterator[Input]:
    """The body's properties one by one where it is an object whose names are free, else all of it as `body`."""
    if body is None:
        return
    schema = writing.schema(body.schema)
    properties = schema.get("properties")
    combined = schema.keys() & {"anyOf", "oneOf", "allOf"}
    if properties and not combined and not properties.keys() & (taken | {"body"}) and len(properties) <= MAX_PARAMETERS:
        needed = schema.get("required") if isinstance(schema.get("required"), list) else []
        for name, each in properties.items():
            yield Input(name=name, place="body", schema=each, required=body.required and name in (needed or ()))
    elif "body" not in taken:
        said = {"description": one_line(body.description, 300)} if body.description else {}
        yield Input(name="body", place="body", schema={**said, **schema}, required=body.required)
