"""What an operation takes: parameters and body as one schema, and where each part of it goes in a
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.sources.formats.input_parameters import type_text
from capdisc_indexer.sources.formats.openapi.api import ApiDocument
from capdisc_indexer.sources.formats.openapi.referenced_schemas import SchemaWriter
from capdisc_indexer.text.normalization import one_line

DEPTH, NODES = 6, 600
MAX_PARAMETERS = 100
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_PLACES = ("path", "query", "header", "cookie")
# The description of these is ignored by the specification: other parts of the document say what
# they hold.
_SAID_ELSEWHERE = frozenset({"accept", "content-type", "authorization"})


@frozen(kw_only=True)
class OperationInput:
    """One argument of an operation, and the part of a request that it goes to."""

    name: str
    place: str
    schema: JsonSchema
    required: bool


@frozen(kw_only=True)
class OperationInputs:
    """All arguments; `is_form` says that a body is not JSON but a form."""

    inputs: tuple[OperationInput, ...]
    is_form: bool = False

    def schema(self) -> dict[str, Any]:
        """One JSON schema over all of them."""
        required = [parameter.name for parameter in self.inputs if parameter.required]
        properties = {parameter.name: dict(parameter.schema) for parameter in self.inputs}
        return {"type": "object", "properties": properties} | (
            {"required": required} if required else {}
        )

    def places(self) -> list[dict[str, Any]]:
        """Name and place of each, as a request needs them."""
        return [{"name": parameter.name, "in": parameter.place} for parameter in self.inputs]

    def parameter_entries(self) -> list[dict[str, Any]]:
        """The same with what a reader wants to know."""
        return [
            {
                "name": parameter.name,
                "in": parameter.place,
                "type": type_text(parameter.schema),
                "required": parameter.required,
                "description": str(parameter.schema.get("description", "")),
            }
            for parameter in self.inputs
        ]


def inputs_of(
    document: ApiDocument, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> OperationInputs:
    """The arguments of one operation: those of its path, overridden by its own, then its body."""
    writing = SchemaWriter(document, DEPTH, NODES, "readOnly")
    declared = _declared_parameters(document, item, operation)
    plain = [
        _parameter(writing, parameter) for parameter in declared if parameter.get("in") in _PLACES
    ]
    taken = {
        parameter.name: parameter for parameter in reversed(plain)
    }  # of one name in two places, the first is meant
    first = [parameter for parameter in plain if taken[parameter.name] is parameter][
        :MAX_PARAMETERS
    ]
    body, is_form = (
        _swagger_body(document, declared, operation)
        if document.version == 2
        else _body(document, operation)
    )
    return OperationInputs(
        inputs=(*first, *_of_body(writing, body, {parameter.name for parameter in first})),
        is_form=is_form,
    )


def _declared_parameters(
    document: ApiDocument, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> list[dict[str, Any]]:
    by_place: dict[tuple[str, str], dict[str, Any]] = {}
    for holder in (item, operation):
        listed = holder.get("parameters")
        for reference in listed if isinstance(listed, list) else ():
            parameter = document.resolve(reference)
            name, where = (parameter.get("name"), parameter.get("in")) if parameter else ("", "")
            said_elsewhere = where == "header" and str(name).lower() in _SAID_ELSEWHERE
            if (
                parameter
                and name
                and isinstance(name, str)
                and isinstance(where, str)
                and not said_elsewhere
            ):
                by_place[where, name] = parameter
    return list(by_place.values())


def _parameter(writing: SchemaWriter, parameter: Mapping[str, Any]) -> OperationInput:
    content = parameter.get("content")
    media: Any = next(iter(content.values()), {}) if isinstance(content, dict) else {}
    declared = parameter.get("schema") or (media.get("schema") if isinstance(media, dict) else None)
    schema = writing.schema(
        declared
        if declared
        else {key: keyword_value for key, keyword_value in parameter.items() if key != "required"}
    )
    if isinstance(description := parameter.get("description"), str) and description.strip():
        schema = {**schema, "description": one_line(description, 300)}
    required = parameter.get("required") in (True, "true") or parameter.get("in") == "path"
    return OperationInput(
        name=str(parameter["name"]), place=str(parameter["in"]), schema=schema, required=required
    )


@frozen
class _Body:
    schema: Any
    required: bool
    description: str = ""


def _body(document: ApiDocument, operation: Mapping[str, Any]) -> tuple[_Body | None, bool]:
    """The body's schema as JSON where it may be that, else as a form, and whether it is one."""
    declared = document.resolve(operation.get("requestBody"))
    content = declared.get("content") if declared else None
    if not declared or not isinstance(content, dict):
        return None, False
    kinds = sorted(content, key=_preference)
    media = content[kinds[0]] if kinds else None
    schema = media.get("schema", {}) if isinstance(media, dict) else {}
    description = declared.get("description")
    body = _Body(
        schema,
        declared.get("required") is True,
        description if isinstance(description, str) else "",
    )
    return body, bool(kinds) and kinds[0].partition(";")[0] in FORM_TYPES


def _preference(kind: str) -> int:
    plain = kind.partition(";")[0].strip().lower()
    if plain == "application/json" or plain.endswith("+json"):
        return 0
    return 1 + FORM_TYPES.index(plain) if plain in FORM_TYPES else 3


def _swagger_body(
    document: ApiDocument, declared: Sequence[Mapping[str, Any]], operation: Mapping[str, Any]
) -> tuple[_Body | None, bool]:
    body_parameter = next(
        (parameter for parameter in declared if parameter.get("in") == "body"), None
    )
    if body_parameter:
        return _Body(
            body_parameter.get("schema", {}),
            body_parameter.get("required") is True,
            str(body_parameter.get("description", "")),
        ), False
    fields = {
        str(parameter["name"]): parameter
        for parameter in declared
        if parameter.get("in") == "formData"
    }
    if not fields:
        return None, False
    properties = {
        name: {key: keyword_value for key, keyword_value in parameter.items() if key != "required"}
        for name, parameter in fields.items()
    }
    required = [name for name, parameter in fields.items() if parameter.get("required") is True]
    return _Body(
        {"type": "object", "properties": properties, "required": required}, bool(required)
    ), True


def _of_body(
    writing: SchemaWriter, body: _Body | None, taken: set[str]
) -> Iterator[OperationInput]:
    """The body's properties one by one where it is an object whose names are free, else all of it
    as `body`.
    """
    if body is None:
        return
    schema = writing.schema(body.schema)
    properties = schema.get("properties")
    combined = schema.keys() & {"anyOf", "oneOf", "allOf"}
    if (
        properties
        and not combined
        and not properties.keys() & (taken | {"body"})
        and len(properties) <= MAX_PARAMETERS
    ):
        needed = schema.get("required") if isinstance(schema.get("required"), list) else []
        for name, property_schema in properties.items():
            yield OperationInput(
                name=name,
                place="body",
                schema=property_schema,
                required=body.required and name in (needed or ()),
            )
    elif "body" not in taken:
        description = {"description": one_line(body.description, 300)} if body.description else {}
        yield OperationInput(
            name="body", place="body", schema={**description, **schema}, required=body.required
        )
