"""JSON schemas of the tool lists that each provider takes, from their documentation."""

from typing import Any


def _closed(required: str, /, **properties: Any) -> dict[str, Any]:
    """The schema of an object with these members and no others."""
    return {
        "type": "object", "additionalProperties": False, "required": required.split(), "properties": properties,
    }  # fmt: skip


def _list_of(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _without(schema: dict[str, Any], *names: str, **added: Any) -> dict[str, Any]:
    """The schema of an object without these members, and with the added ones."""
    properties = {key: value for key, value in schema["properties"].items() if key not in names}
    return {**schema, "properties": {**properties, **added}}


_TEXT = {"type": "string"}
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
_PARAMETERS = {
    "type": "object",
    "required": ["type", "properties"],
    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
    # None of them takes a choice at the root.
    "not": {"anyOf": [{"required": [word]} for word in ("anyOf", "oneOf", "allOf", "not", "enum", "$ref")]},
}  # fmt: skip
_FUNCTION = {
    "name": _NAME,
    "description": {"type": "string", "maxLength": 1024},
    "parameters": _PARAMETERS,
    "strict": {"const": False},
}
_IS_FUNCTION = {"const": "function"}

_GEMINI = {
    **_closed(
        "type",
        type={"enum": ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"]},
        format={"enum": ["date-time", "float", "double", "int32", "int64"]},
        description=_TEXT,
        nullable={"type": "boolean"},
        enum=_list_of({"type": "string", "minLength": 1}, minItems=1),
        properties={
            "type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/schema"},
        },
        required=_list_of(_TEXT),
        items={"$ref": "#/$defs/schema"},
        pattern=_TEXT,
        minimum={"type": "number"},
        maximum={"type": "number"},
        **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"), True),
    ),
    "allOf": [
        {"if": {"properties": {"type": {"const": "ARRAY"}}}, "then": {"required": ["items"]}},
        {"if": {"required": ["enum"]}, "then": {"properties": {"type": {"const": "STRING"}}}},
    ],
}  # fmt: skip
_GEMINI_FUNCTION = _closed(
    "name description",
    name={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},
    description=_TEXT,
    parameters={"allOf": [{"$ref": "#/$defs/schema"}, {"required": ["properties"]}]},
)
_MCP_TOOL = _closed(
    "name description inputSchema",
    name={"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"},
    title=_TEXT,
    description=_TEXT,
    inputSchema=_PARAMETERS,
    annotations={"type": "object", "additionalProperties": {"type": "boolean"}},
)
_ANTHROPIC_TOOL = _closed(
    "name description input_schema",
    name=_NAME,
    description=_TEXT,
    input_schema=_PARAMETERS,
    input_examples=_list_of({"type": "object"}, minItems=1),
)
_RESPONSES_TOOL = _closed("type name parameters strict", type=_IS_FUNCTION, **_FUNCTION)

FORMS = {
    "json": _list_of(
        _closed(
            "name id kind description input_schema available",
            name=_NAME,
            id=_TEXT,
            kind=_TEXT,
            description=_TEXT,
            input_schema=_PARAMETERS,
            available={"type": "boolean"},
        )
    ),
    "openai": _list_of(
        _closed(
            "type function",
            type=_IS_FUNCTION,
            function=_closed("name description parameters strict", **_FUNCTION),
        )
    ),
    "openai-responses": _list_of(_RESPONSES_TOOL),
    "anthropic": _list_of(_ANTHROPIC_TOOL),
    "gemini": {
        **_list_of(
            _closed("functionDeclarations", functionDeclarations=_list_of(_GEMINI_FUNCTION)),
            maxItems=1,
        ),
        "$defs": {"schema": _GEMINI},
    },
    "mcp": _closed("tools", tools=_list_of(_MCP_TOOL)),
}

_DEFERRED = {"defer_loading": {"const": True}}
_DEFERRED_FUNCTION = _without(_RESPONSES_TOOL, **_DEFERRED)
_NAMESPACE = _closed(
    "type name description tools",
    type={"const": "namespace"},
    name=_NAME,
    description={"type": "string", "minLength": 1},
    tools=_list_of(_DEFERRED_FUNCTION, minItems=1),
)
_CLIENT_SEARCH = _closed(
    "type execution description parameters",
    type={"const": "tool_search"},
    execution={"const": "client"},
    description=_TEXT,
    parameters=_PARAMETERS,
)
_HOSTED_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}

# A list of tools of which some load when a search finds them. Anthropic refuses examples there.
DEFERRED = {
    "anthropic": _list_of(
        _without(_ANTHROPIC_TOOL, "input_examples", **_DEFERRED),
        prefixItems=[{"anyOf": [_ANTHROPIC_TOOL, {"const": _HOSTED_SEARCH}]}],
    ),
    "openai-responses": _list_of(
        {
            "anyOf": [
                _NAMESPACE,
                _DEFERRED_FUNCTION,
                {"const": {"type": "tool_search"}},
                _CLIENT_SEARCH,
            ]
        },
        contains={"properties": {"type": {"const": "tool_search"}}},
    ),
}

# The message that answers a tool search which the caller runs.
SEARCH_ANSWERS = {
    "anthropic": _closed(
        "type content",
        type={"const": "tool_result"},
        tool_use_id=_TEXT,
        content=_list_of(
            {
                "anyOf": [
                    _closed("type tool_name", type={"const": "tool_reference"}, tool_name=_NAME),
                    _closed(
                        "type text",
                        type={"const": "text"},
                        text={"type": "string", "minLength": 1},
                    ),
                ]
            },
            minItems=1,
        ),
    ),
    "openai-responses": _closed(
        "type execution status tools",
        type={"const": "tool_search_output"},
        call_id=_TEXT,
        execution={"const": "client"},
        status={"const": "completed"},
        tools=_list_of({"anyOf": [_NAMESPACE, _DEFERRED_FUNCTION]}),
    ),
}
