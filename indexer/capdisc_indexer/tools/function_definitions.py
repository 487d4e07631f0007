"""What a model is told of a function: definitions of discovery tools and of capabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.formats.field_table import MAX_EXAMPLES
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_lookup import (
    CONTAINER_KEYS,
    capability_metadata,
    mark_for_review,
    name_without_kind,
    text_value,
)
from capdisc_indexer.tools.tool_types import ANY_KIND, Tool

# A capability of one of these kinds that has no schema is a function without parameters. A kind of
# an author's own is one of them if a part of its name is such a word: `mcp_tool`.
_CALLABLE_WORDS = frozenset({"tool", "function", "operation", "command", "endpoint", "cli"})
# The longest description that every provider takes.
DESCRIPTION_CHARACTERS = 1_024
# With more kinds, the definition of discover_capabilities would pass 80 tokens.
MAX_SHOWN_KINDS = 6
# The tools that run a capability, which nobody offers without leave.
EXECUTE_TOOL, RUN_TOOL = "execute_tool", "run_capability"
RUN_TOOLS = frozenset({EXECUTE_TOOL, RUN_TOOL})
# The tools that run something, or store something next to the index.
WRITING_TOOLS = RUN_TOOLS | {"resolve_fact", "add_fact", "extract_facts_from_text"}
_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
# Keywords of our own schemas that guard us, and tell a model nothing.
_GUARD_KEYWORDS = ("minLength", "maxLength", "minimum")


@frozen(kw_only=True)
class Definition:
    """A function that a model may call, in no provider's form yet.

    `id` is that of a capability, or `capdisc:name` of a discovery tool, whose name no capability
    may take. `schema` and `output_schema` are as their author wrote them, and so are the
    `input_examples`, which need not fit. `container` is the name of the server, API or database
    that it is a part of, "" for none. `annotations` are MCP's hints: names that end in `Hint`,
    each true or false.
    """

    id: str
    name: str
    description: str
    schema: JsonSchema | None
    kind: str
    title: str = ""
    is_available: bool = True
    is_ours: bool = False
    annotations: Mapping[str, bool] = field(default_factory=dict)
    output_schema: JsonSchema | None = None
    input_examples: tuple[JsonObject, ...] = ()
    container: str = ""


def define_tool(
    tool: Tool, kinds: Iterable[str] | None = None, is_available: bool = True
) -> Definition:
    """The definition of a discovery tool. Where it takes a kind, these `kinds` of an index are
    named, if they are few.
    """
    hints = {"readOnlyHint": tool.name not in WRITING_TOOLS}
    return Definition(
        id=f"capdisc:{tool.name}",
        name=tool.name,
        description=tool.description,
        schema=_schema_for_model(tool.input_schema, kinds),
        kind=tool.group,
        is_available=is_available,
        is_ours=True,
        annotations=hints | ({"destructiveHint": True} if tool.name == RUN_TOOL else {}),
    )


def _schema_for_model(schema: JsonSchema, kinds: Iterable[str] | None) -> JsonSchema:
    """One of our own schemas without the keywords that guard us, and tell a model nothing."""
    properties = {
        name: {key: value for key, value in declared.items() if key not in _GUARD_KEYWORDS}
        for name, declared in schema["properties"].items()
    }
    shown_kinds = sorted(kinds or ())
    if "kind" in properties and kinds is not None and len(shown_kinds) <= MAX_SHOWN_KINDS:
        properties["kind"] = {"enum": [ANY_KIND, *shown_kinds]}
    kept_keywords = {key: value for key, value in schema.items() if key != "additionalProperties"}
    return kept_keywords | {"properties": properties}


def is_callable(descriptor: Descriptor) -> bool:
    """Whether a capability can be a function: it has a schema, or is of a kind that is called."""
    words = descriptor.kind.replace("_", "-").split("-")
    return descriptor.schema is not None or not _CALLABLE_WORDS.isdisjoint(words)


def define_capability(descriptor: Descriptor, is_available: bool) -> Definition:
    """The definition of a capability."""
    title = one_line(descriptor.title, 120)
    mark = mark_for_review("", descriptor).lstrip()
    limit = DESCRIPTION_CHARACTERS - len(mark) - 1
    description = _shorten(strip_controls(descriptor.description).strip(), limit)
    return Definition(
        id=descriptor.id,
        name=descriptor.name,
        title="" if title == descriptor.name else title,
        description=f"{description} {mark}".rstrip(),
        schema=capability_schema(descriptor),
        kind=descriptor.kind,
        is_available=is_available,
        annotations=_build_annotations(descriptor),
        output_schema=descriptor.output_schema,
        input_examples=_input_examples(descriptor),
        container=_container(descriptor),
    )


def _input_examples(descriptor: Descriptor) -> tuple[JsonObject, ...]:
    """The examples that the author declared, else those in the schema's own keyword."""
    in_schema = descriptor.schema.get("examples") if descriptor.schema else None
    listed = in_schema if isinstance(in_schema, list) else []
    return descriptor.input_examples or tuple(
        example for example in listed[:MAX_EXAMPLES] if isinstance(example, dict)
    )


def _container(descriptor: Descriptor) -> str:
    metadata = capability_metadata(descriptor)
    owners = (text_value(metadata, key) for key in CONTAINER_KEYS)
    return next((name_without_kind(owner) for owner in owners if owner), "")


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else one_line(text, limit)


def capability_schema(descriptor: Descriptor) -> JsonSchema:
    """The schema that a capability is offered with: its own, else one made of its list of
    parameters.
    """
    if descriptor.schema:
        return descriptor.schema
    properties = {
        parameter.name: _property_schema(parameter.type, parameter.description)
        for parameter in descriptor.parameters
    }
    schema: JsonObject = {"type": "object", "properties": properties}
    required = [parameter.name for parameter in descriptor.parameters if parameter.required]
    return schema | ({"required": required} if required else {})


def _property_schema(type_text: str, description: str) -> JsonSchema:
    kind = type_text.partition("<")[0]
    schema: JsonObject = {"type": kind} if kind in _JSON_TYPES else {}
    return schema | ({"description": one_line(description)} if description else {})


def _build_annotations(descriptor: Descriptor) -> dict[str, bool]:
    """The hints that the author gave; where there are none, what the manifest says of risk."""
    hints = descriptor.extra.get("annotations")
    if isinstance(hints, Mapping):
        return {
            key: value
            for key, value in hints.items()
            if str(key).endswith("Hint") and isinstance(value, bool)
        }
    if descriptor.risk in ("high", "critical") or descriptor.confirm:
        return {"destructiveHint": True}
    return {}
