"""GraphQL schemas, in the schema language or as the answer to an introspection query: an API, and
an operation for each field of Query, Mutation and Subscription.

The definitions are read one by one and not as a schema, so that an unknown type or directive, as
federated schemas have them, costs nothing. Format: GraphQL specification, October 2021.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os.path import basename
from typing import Any

from capdisc_data.refusals import accept, catch_refusal, refuse, text_of
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    is_wanted,
    merge_drafts,
)
from capdisc_indexer.sources.formats.naming_rules import folder_of, name_in_words, plain_part
from capdisc_indexer.sources.formats.parsed_capability import file_finding
from capdisc_indexer.sources.readers.file_bytes import mark_finding
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

_MAX_TOKENS = 2_000_000
_MAX_OPERATIONS = 5_000
_MAX_INPUT_DEPTH = 4
_MAX_SELECTED = 20
_MAX_JSON_DEPTH = 64
_FILE_ENDINGS = re.compile(r"(\.schema)?\.(graphqls?|gql|json)$", re.IGNORECASE)
_COMMON_NAMES = ("schema.graphql", "schema.graphqls", "schema.gql", "introspection.json")
_ROOTS = ("query", "mutation", "subscription")
_SCALARS = {
    "Int": "integer",
    "Float": "number",
    "Boolean": "boolean",
    "String": "string",
    "ID": "string",
}
_CODE = "graphql-schema"

# A node of graphql-core, which has one class for each of fifty kinds.
_Node = Any


@frozen(kw_only=True)
class _Schema:
    """The definitions of a file: of its types by name, the names of its root types by the kind of
    their operations, and the description of the whole ("": none).
    """

    types: Mapping[str, Sequence[_Node]]
    roots: Mapping[str, str]
    description: str = ""

    def fields_of(self, type_name: str) -> list[_Node]:
        """The fields of a type and of its extensions, in order."""
        nodes = self.types.get(type_name, ())
        return [member for node in nodes for member in getattr(node, "fields", None) or ()]


@catch_refusal
def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The API with its operations, or the finding that says why the text is not a schema."""
    schema = _read_schema(text_of(file, data), file)
    return merge_drafts(_draft_api(file, schema), file, mark_finding(data, file.path))


def _read_schema(text: str, file: FoundFile) -> _Schema:
    graphql = lazy_imports.graphql()
    try:
        if text.lstrip().startswith("{") and file.path.lower().endswith(".json"):
            value = accept(read_json(text, file.path, _MAX_JSON_DEPTH))
            text = graphql.print_schema(graphql.build_client_schema(_introspection(value)))
        document = graphql.parse(text, max_tokens=_MAX_TOKENS)
    except graphql.GraphQLSyntaxError as error:
        line = error.locations[0].line if error.locations else 1
        message = f"not GraphQL: {one_line(error.message, 120)}"
        refuse(file, _CODE, message, "correct the place", line)
    except (TypeError, ValueError, KeyError, AttributeError, graphql.GraphQLError) as error:
        message = f"not an answer to an introspection query: {one_line(str(error), 120)}"
        refuse(file, _CODE, message, "save the whole answer, with data.__schema")
    except RecursionError:
        refuse(file, _CODE, "nested too deep", "make it flatter")
    schema = _as_schema(document)
    if not any(schema.fields_of(root) for root in schema.roots.values()):
        message = "holds no schema: no field of Query, Mutation or Subscription"
        refuse(file, _CODE, message, "write a schema: type Query { ... }")
    return schema


def _introspection(value: Json) -> dict[str, Json]:
    """The value with `__schema`, which may stand in the `data` of an answer."""
    fields = value if isinstance(value, dict) else {}
    inner = fields.get("data")
    return inner if isinstance(inner, dict) else fields


def _as_schema(document: _Node) -> _Schema:
    types: dict[str, list[_Node]] = {}
    roots = {kind: kind.capitalize() for kind in _ROOTS}
    description = ""
    for node in document.definitions:
        if node.kind in ("schema_definition", "schema_extension"):
            written = getattr(node, "description", None)
            description = one_line(written.value, 1_000) if written else description
            roots |= {
                operation.operation.value: operation.type.name.value
                for operation in node.operation_types or ()
            }
        elif node.kind.endswith(("type_definition", "type_extension")):
            types.setdefault(node.name.value, []).append(node)
    return _Schema(types=types, roots=roots, description=description)


def _draft_api(file: FoundFile, schema: _Schema) -> Iterator[CapabilityDraft | Finding]:
    api = _api_name(file)
    operations = [
        (kind, operation)
        for kind, root in schema.roots.items()
        for operation in schema.fields_of(root)
        if not operation.name.value.startswith("__")
    ]
    counts = {kind: sum(kind == other for other, _ in operations) for kind in _ROOTS}
    summary = ", ".join(
        f"{count} {_plural(kind, count)}" for kind, count in counts.items() if count
    )
    url = file.options.get("url")
    yield CapabilityDraft(
        fields={
            "kind": "api",
            "name": api,
            "category": api,
            "description": schema.description or f"The GraphQL API {api}: {summary}.",
        },
        line=1,
        prefix="api:",
        extra={
            "type": "graphql",
            "url": url if isinstance(url, str) else "",
            "operations": len(operations),
        },
    )
    names: set[str] = set()
    for kind, operation in islice(operations, _MAX_OPERATIONS):
        name = operation.name.value
        # A query and a mutation may have one name; ids do not tell capital letters apart.
        name = f"{kind}-{name}" if name.casefold() in names else name
        names.add(name.casefold())
        if is_wanted(name, file.options):
            yield _draft_operation(schema, api, kind, name, operation)
    if len(operations) > _MAX_OPERATIONS:
        message = (
            f"the API has {len(operations):,} operations; the first {_MAX_OPERATIONS:,} are read"
        )
        hint = "declare include = [...]"
        yield file_finding(file, Severity.WARNING, "too-many-items", message, hint)


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 else "queries" if kind == "query" else f"{kind}s"


def _api_name(file: FoundFile) -> str:
    base = basename(file.path)
    own_name = "" if base.lower() in _COMMON_NAMES else _FILE_ENDINGS.sub("", base)
    return plain_part(file.name) or plain_part(own_name) or folder_of(file)


def _draft_operation(
    schema: _Schema, api: str, kind: str, name: str, operation: _Node
) -> CapabilityDraft:
    arguments = list(operation.arguments or ())
    result = _type_text(operation.type)
    described = operation.description.value.strip() if operation.description else ""
    words = name_in_words(operation.name.value).capitalize()
    short, content = split_lead(described or f"{words}: gives {result}.")
    tags: list[Json] = ["deprecated"] if _is_deprecated(operation) else []
    changes = kind == "mutation"
    request = _request_text(schema, kind, operation, arguments)
    fields: dict[str, Json] = {
        "kind": "operation",
        "name": name,
        "category": api,
        "description": short,
        "tags": tags,
        "usageHint": f"GraphQL {kind} of the API {api}",
        "content": "\n\n".join(filter(None, [content, f"```graphql\n{request}\n```"])),
        "inputSchema": _arguments_schema(schema, arguments, 0),
        "riskLevel": "medium" if changes else "low",
        "hasSideEffects": changes,
    }
    extra: dict[str, Json] = {
        "api": api,
        "type": kind,
        "field": operation.name.value,
        "result": result,
    }
    line = operation.loc.start_token.line if operation.loc else 1
    return CapabilityDraft(fields=fields, line=line, prefix=f"operation:{api}.", extra=extra)


def _is_deprecated(node: _Node) -> bool:
    return any(directive.name.value == "deprecated" for directive in node.directives or ())


def _type_text(node: _Node) -> str:
    """The type as the schema language writes it, such as `[Book!]!`."""
    if node.kind == "non_null_type":
        return f"{_type_text(node.type)}!"
    if node.kind == "list_type":
        return f"[{_type_text(node.type)}]"
    return str(node.name.value)


def _named_type(node: _Node) -> str:
    while node.kind in ("non_null_type", "list_type"):
        node = node.type
    return str(node.name.value)


def _arguments_schema(schema: _Schema, arguments: Sequence[_Node], depth: int) -> dict[str, Json]:
    """The JSON schema of arguments, or of the fields of an input type."""
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for argument in arguments:
        name = argument.name.value
        described = argument.description.value if argument.description else ""
        note: dict[str, Json] = {"description": one_line(described, 300)} if described else {}
        properties[name] = {**_value_schema(schema, argument.type, depth), **note}
        if argument.type.kind == "non_null_type" and argument.default_value is None:
            required.append(name)
    written: dict[str, Json] = {"type": "object", "properties": properties}
    return {**written, "required": required} if required else written


def _value_schema(schema: _Schema, node: _Node, depth: int) -> dict[str, Json]:
    if node.kind == "non_null_type":
        return _value_schema(schema, node.type, depth)
    if node.kind == "list_type":
        return {"type": "array", "items": _value_schema(schema, node.type, depth)}
    name = str(node.name.value)
    if name in _SCALARS:
        return {"type": _SCALARS[name]}
    return _declared_schema(schema, name, depth)


def _declared_schema(schema: _Schema, name: str, depth: int) -> dict[str, Json]:
    """The JSON schema of an enum, an input type or a scalar that the schema declares."""
    choices: list[Json] = [
        value.name.value
        for definition in schema.types.get(name, ())
        for value in getattr(definition, "values", None) or ()
    ]
    if choices:
        return {"type": "string", "enum": choices}
    members = schema.fields_of(name)
    if members and depth < _MAX_INPUT_DEPTH:
        return _arguments_schema(schema, members, depth + 1)
    return {"type": "object", "title": name} if members else {"title": name}


def _request_text(schema: _Schema, kind: str, operation: _Node, arguments: Sequence[_Node]) -> str:
    """A request of this operation with all its arguments as variables, and the plain fields of its
    result.
    """
    declared = ", ".join(f"${a.name.value}: {_type_text(a.type)}" for a in arguments)
    passed = ", ".join(f"{a.name.value}: ${a.name.value}" for a in arguments)
    name = operation.name.value
    plain_fields = [
        member.name.value
        for member in schema.fields_of(_named_type(operation.type))
        if not schema.fields_of(_named_type(member.type)) and not _needs_arguments(member)
    ]
    is_object = any(
        definition.kind.startswith(("object", "interface", "union"))
        for definition in schema.types.get(_named_type(operation.type), ())
    )
    selected = " ".join(plain_fields[:_MAX_SELECTED]) or ("__typename" if is_object else "")
    head = f"{kind} {name}({declared})" if declared else f"{kind} {name}"
    call = f"{name}({passed})" if passed else name
    return f"{head} {{ {call} {{ {selected} }} }}" if selected else f"{head} {{ {call} }}"


def _needs_arguments(member: _Node) -> bool:
    return any(
        argument.type.kind == "non_null_type" and argument.default_value is None
        for argument in getattr(member, "arguments", None) or ()
    )
