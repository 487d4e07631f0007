"""What an operation takes: parameters and body as one schema, and the place of each in a
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capdisc_data.openapi.api_document import ApiDocument, Operation, SchemaWriter
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.sources.formats.parsed_capability import type_text
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.text.normalization import one_line

DEPTH, NODES = 6, 600
MAX_PARAMETERS = 100
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
_PLACES = ("path", "query", "header", "cookie")
# The specification says to ignore parameters of these names: other parts of the document declare
# them.
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})


@frozen(kw_only=True)
class OperationInput:
    """One argument of an operation, and the part of a request that it goes to."""

    name: str
    place: str
    schema: Mapping[str, Json]
    required: bool


@frozen(kw_only=True)
class OperationInputs:
    """All arguments; with `is_form`, the body is a form and not JSON."""

    inputs: tuple[OperationInput, ...]
    is_form: bool = False

    def schema(self) -> dict[str, Json]:
        """One JSON schema over all arguments."""
        schema: dict[str, Json] = {
            "type": "object",
            "properties": {argument.name: dict(argument.schema) for argument in self.inputs},
        }
        required: list[Json] = [argument.name for argument in self.inputs if argument.required]
        if required:
            schema["required"] = required
        return schema

    def places(self) -> list[Json]:
        """Name and place of each argument, as a request needs them."""
        return [{"name": argument.name, "in": argument.place} for argument in self.inputs]

    def parameter_entries(self) -> list[Json]:
        """Each argument with its name, place, type, whether it is required, and description."""
        return [
            {
                "name": argument.name,
                "in": argument.place,
                "type": type_text(argument.schema),
                "required": argument.required,
                "description": str(argument.schema.get("description", "")),
            }
            for argument in self.inputs
        ]


def read_inputs(document: ApiDocument, operation: Operation) -> OperationInputs:
    """The arguments of an operation: those of its path, overridden by its own, then its body."""
    writer = SchemaWriter(document, DEPTH, NODES, "readOnly")
    declared = _declared_parameters(document, operation)
    by_name: dict[str, OperationInput] = {}  # of one name in two places, the first is taken
    for parameter in declared:
        if parameter.get("in") in _PLACES:
            argument = _read_parameter(writer, parameter)
            by_name.setdefault(argument.name, argument)
    arguments = list(by_name.values())[:MAX_PARAMETERS]
    body, is_form = (
        _swagger_body(declared)
        if document.version == 2
        else _request_body(document, operation.fields)
    )
    names = {argument.name for argument in arguments}
    return OperationInputs(
        inputs=(*arguments, *_body_inputs(writer, body, names)), is_form=is_form
    )


def _declared_parameters(document: ApiDocument, operation: Operation) -> list[dict[str, Json]]:
    by_place: dict[tuple[str, str], dict[str, Json]] = {}
    for fields in (operation.path_item, operation.fields):
        listed = fields.get("parameters")
        for reference in listed if isinstance(listed, list) else ():
            parameter = document.resolve(reference)
            name, place = (parameter.get("name"), parameter.get("in")) if parameter else ("", "")
            if not parameter or not isinstance(name, str) or not isinstance(place, str):
                continue
            if name and not (place == "header" and name.lower() in _IGNORED_HEADERS):
                by_place[place, name] = parameter
    return list(by_place.values())


def _read_parameter(writer: SchemaWriter, parameter: Mapping[str, Json]) -> OperationInput:
    content = parameter.get("content")
    media = next(iter(content.values()), None) if isinstance(content, dict) else None
    declared = parameter.get("schema") or (
        media.get("schema") if isinstance(media, dict) else None
    )
    # Swagger 2 writes the keywords of the schema into the parameter itself.
    schema = writer.schema(declared or _without_required(parameter))
    if isinstance(description := parameter.get("description"), str) and description.strip():
        schema = {**schema, "description": one_line(description, 300)}
    required = parameter.get("required") in (True, "true") or parameter.get("in") == "path"
    return OperationInput(
        name=str(parameter["name"]), place=str(parameter["in"]), schema=schema, required=required
    )


def _without_required(parameter: Mapping[str, Json]) -> dict[str, Json]:
    return {keyword: value for keyword, value in parameter.items() if keyword != "required"}


@frozen
class _Body:
    schema: Json
    required: bool
    description: str = ""


def _request_body(
    document: ApiDocument, operation: Mapping[str, Json]
) -> tuple[_Body | None, bool]:
    """The body's schema, as JSON if that is allowed and else as a form, and whether it is one."""
    declared = document.resolve(operation.get("requestBody"))
    content = declared.get("content") if declared else None
    if not declared or not isinstance(content, dict):
        return None, False
    media_types = sorted(content, key=_preference)
    media = content[media_types[0]] if media_types else None
    schema = media.get("schema", {}) if isinstance(media, dict) else {}
    description = declared.get("description")
    body = _Body(
        schema,
        declared.get("required") is True,
        description if isinstance(description, str) else "",
    )
    return body, bool(media_types) and media_types[0].partition(";")[0] in FORM_TYPES


def _preference(media_type: str) -> int:
    essence = media_type.partition(";")[0].strip().lower()
    if essence == "application/json" or essence.endswith("+json"):
        return 0
    return 1 + FORM_TYPES.index(essence) if essence in FORM_TYPES else 3


def _swagger_body(parameters: Sequence[Mapping[str, Json]]) -> tuple[_Body | None, bool]:
    """The body as Swagger 2 declares it: a parameter in `body`, or several in `formData`."""
    for parameter in parameters:
        if parameter.get("in") == "body":
            required = parameter.get("required") is True
            description = str(parameter.get("description", ""))
            return _Body(parameter.get("schema", {}), required, description), False
    fields = {
        str(parameter["name"]): parameter
        for parameter in parameters
        if parameter.get("in") == "formData"
    }
    if not fields:
        return None, False
    required_names: list[Json] = [
        name for name, parameter in fields.items() if parameter.get("required") is True
    ]
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: _without_required(parameter) for name, parameter in fields.items()},
        "required": required_names,
    }
    return _Body(schema, bool(required_names)), True


def _body_inputs(
    writer: SchemaWriter, body: _Body | None, taken_names: set[str]
) -> Iterator[OperationInput]:
    """The body's properties one by one if it is an object whose names are free, else all of it as
    `body`.
    """
    if body is None:
        return
    schema = writer.schema(body.schema)
    properties = schema.get("properties")
    if (
        isinstance(properties, dict)
        and properties
        and not schema.keys() & {"anyOf", "oneOf", "allOf"}
        and not properties.keys() & (taken_names | {"body"})
        and len(properties) <= MAX_PARAMETERS
    ):
        required = schema.get("required")
        required_names = required if isinstance(required, list) else []
        for name, property_schema in properties.items():
            yield OperationInput(
                name=name,
                place="body",
                schema=property_schema if isinstance(property_schema, dict) else {},
                required=body.required and name in required_names,
            )
    elif "body" not in taken_names:
        if body.description:
            schema = {"description": one_line(body.description, 300), **schema}
        yield OperationInput(name="body", place="body", schema=schema, required=body.required)
