"""What an operation takes: parameters and body as one schema, and the place of each in a
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capdisc_data.api_document import (
    ApiDocument,
    Operation,
    SchemaWriter,
    list_at,
    table_at,
)
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.sources.formats.manifest_adapter import read_text_field
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
    body = document.resolve(operation.fields.get("requestBody")) or _swagger_body(declared)
    content = table_at(body, "content")
    media_type = min(content, key=_preference, default="")
    if isinstance(body.get("content"), dict):
        names = {argument.name for argument in arguments}
        schema = writer.schema(table_at(content, media_type).get("schema", {}))
        arguments += _body_inputs(body, schema, names)
    is_form = media_type.partition(";")[0] in FORM_TYPES
    return OperationInputs(inputs=tuple(arguments), is_form=is_form)


def _declared_parameters(document: ApiDocument, operation: Operation) -> list[dict[str, Json]]:
    by_place: dict[tuple[str, str], dict[str, Json]] = {}
    for fields in (operation.path_item, operation.fields):
        for reference in list_at(fields, "parameters"):
            parameter = document.resolve(reference) or {}
            name, place = read_text_field(parameter, "name"), parameter.get("in")
            is_ignored = place == "header" and name.lower() in _IGNORED_HEADERS
            if name and isinstance(place, str) and not is_ignored:
                by_place[place, name] = parameter
    return list(by_place.values())


def _read_parameter(writer: SchemaWriter, parameter: Mapping[str, Json]) -> OperationInput:
    media = next(iter(table_at(parameter, "content").values()), None)
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


def _preference(media_type: str) -> int:
    essence = media_type.partition(";")[0].strip().lower()
    if essence == "application/json" or essence.endswith("+json"):
        return 0
    return 1 + FORM_TYPES.index(essence) if essence in FORM_TYPES else 3


def _swagger_body(parameters: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The body that Swagger 2 declares, a parameter in `body` or several in `formData`, as version
    3 writes it; {} for none.
    """
    for parameter in parameters:
        if parameter.get("in") == "body":
            media: dict[str, Json] = {"schema": parameter.get("schema", {})}
            return {**parameter, "content": {"application/json": media}}
    fields = {
        str(parameter["name"]): parameter
        for parameter in parameters
        if parameter.get("in") == "formData"
    }
    required: list[Json] = [
        name for name, parameter in fields.items() if parameter.get("required") is True
    ]
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: _without_required(parameter) for name, parameter in fields.items()},
        "required": required,
    }
    form: dict[str, Json] = {FORM_TYPES[1]: {"schema": schema}}
    return {"required": bool(required), "content": form} if fields else {}


def _body_inputs(
    body: Mapping[str, Json], schema: dict[str, Json], taken_names: set[str]
) -> Iterator[OperationInput]:
    """The properties of the body's schema one by one if it is an object whose names are free, else
    all of it as `body`.
    """
    is_required = body.get("required") is True
    properties = table_at(schema, "properties")
    if (
        properties
        and not schema.keys() & {"anyOf", "oneOf", "allOf"}
        and not properties.keys() & (taken_names | {"body"})
        and len(properties) <= MAX_PARAMETERS
    ):
        required_names = list_at(schema, "required")
        for name in properties:
            yield OperationInput(
                name=name,
                place="body",
                schema=table_at(properties, name),
                required=is_required and name in required_names,
            )
    elif "body" not in taken_names:
        if description := read_text_field(body, "description"):
            schema = {"description": one_line(description, 300), **schema}
        yield OperationInput(name="body", place="body", schema=schema, required=is_required)
