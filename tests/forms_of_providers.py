"""JSON schemas of the tool lists that each provider takes, from their documentation."""

_NAME = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
_PARAMETERS = {
    "type": "object",
    "required": ["type", "properties"],
    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
    # None of them takes a choice at the root.
    "not": {
        "anyOf": [
            {"required": [word]} for word in ("anyOf", "oneOf", "allOf", "not", "enum", "$ref")
        ]
    },
}
_FUNCTION = {
    "name": _NAME,
    "description": {"type": "string", "maxLength": 1024},
    "parameters": _PARAMETERS,
    "strict": {"const": False},
}

_GEMINI = {
    "type": "object",
    "required": ["type"],
    "additionalProperties": False,
    "properties": {
        "type": {"enum": ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"]},
        "format": {"enum": ["date-time", "float", "double", "int32", "int64"]},
        "description": {"type": "string"},
        "nullable": {"type": "boolean"},
        "enum": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
        "properties": {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/schema"}},
        "required": {"type": "array", "items": {"type": "string"}},
        "items": {"$ref": "#/$defs/schema"},
        "minItems": {}, "maxItems": {}, "minLength": {}, "maxLength": {}, "pattern": {"type": "string"},
        "minimum": {"type": "number"}, "maximum": {"type": "number"}, "minProperties": {}, "maxProperties": {},
    },
    "allOf": [
        {"if": {"properties": {"type": {"const": "ARRAY"}}}, "then": {"required": ["items"]}},
        {"if": {"required": ["enum"]}, "then": {"properties": {"type": {"const": "STRING"}}}},
    ],
}  # fmt: skip

FORMS = {
    "json": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name", "id", "kind", "description", "input_schema", "available"],
            "properties": {
                "name": _NAME, "id": {"type": "string"}, "kind": {"type": "string"}, "description": {"type": "string"},
                "input_schema": _PARAMETERS, "available": {"type": "boolean"},
            },
        },
    },
    "openai": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["type", "function"],
            "properties": {
                "type": {"const": "function"},
                "function": {
                    "type": "object", "additionalProperties": False, "required": ["name", "description", "parameters"],
                    "properties": _FUNCTION,
                },
            },
        },
    },
    "openai-responses": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["type", "name", "parameters", "strict"],
            "properties": {"type": {"const": "function"}, **_FUNCTION},
        },
    },
    "anthropic": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name", "description", "input_schema"],
            "properties": {
                "name": _NAME, "description": {"type": "string"}, "input_schema": _PARAMETERS,
                "input_examples": {"type": "array", "minItems": 1, "items": {"type": "object"}},
            },
        },
    },
    "gemini": {
        "type": "array",
        "maxItems": 1,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["functionDeclarations"],
            "properties": {
                "functionDeclarations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["name", "description"],
                        "properties": {
                            "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},
                            "description": {"type": "string"},
                            "parameters": {"allOf": [{"$ref": "#/$defs/schema"}, {"required": ["properties"]}]},
                        },
                    },
                }
            },
        },
        "$defs": {"schema": _GEMINI},
    },
    "mcp": {
        "type": "object",
        "additionalProperties": False,
        "required": ["tools"],
        "properties": {
            "tools": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "description", "inputSchema"],
                    "properties": {
                        "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"},
                        "title": {"type": "string"},
                        "description": {"type": "string"},
                        "inputSchema": _PARAMETERS,
                        "annotations": {"type": "object", "additionalProperties": {"type": "boolean"}},
                    },
                },
            }
        },
    },
}  # fmt: skip

_DEFERRED = {"defer_loading": {"const": True}}
_ANTHROPIC_TOOL = FORMS["anthropic"]["items"]
_RESPONSES_TOOL = FORMS["openai-responses"]["items"]
_DEFERRED_FUNCTION = {
    **_RESPONSES_TOOL,
    "properties": {**_RESPONSES_TOOL["properties"], **_DEFERRED},
}
_NAMESPACE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "name", "description", "tools"],
    "properties": {
        "type": {"const": "namespace"}, "name": _NAME, "description": {"type": "string", "minLength": 1},
        "tools": {"type": "array", "minItems": 1, "items": _DEFERRED_FUNCTION},
    },
}  # fmt: skip
_FUNCTIONS = {"type": "array", "items": {"anyOf": [_NAMESPACE, _DEFERRED_FUNCTION]}}

# A list of tools of which some load when a search finds them. Anthropic refuses examples there.
DEFERRED = {
    "anthropic": {
        "type": "array",
        "prefixItems": [
            {
                "anyOf": [
                    _ANTHROPIC_TOOL,
                    {"const": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}},
                ]
            }
        ],
        "items": {
            **_ANTHROPIC_TOOL,
            "properties": {
                **{key: value for key, value in _ANTHROPIC_TOOL["properties"].items() if key != "input_examples"},
                **_DEFERRED,
            },
        },
    },
    "openai-responses": {
        "type": "array",
        "items": {
            "anyOf": [
                _NAMESPACE,
                _DEFERRED_FUNCTION,
                {"const": {"type": "tool_search"}},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["type", "execution", "description", "parameters"],
                    "properties": {
                        "type": {"const": "tool_search"}, "execution": {"const": "client"},
                        "description": {"type": "string"}, "parameters": _PARAMETERS,
                    },
                },
            ]
        },
        "contains": {"properties": {"type": {"const": "tool_search"}}},
    },
}  # fmt: skip

# The message that answers a tool search which the caller runs.
SEARCH_ANSWERS = {
    "anthropic": {
        "type": "object",
        "additionalProperties": False,
        "required": ["type", "content"],
        "properties": {
            "type": {"const": "tool_result"},
            "tool_use_id": {"type": "string"},
            "content": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "anyOf": [
                        {
                            "type": "object", "additionalProperties": False, "required": ["type", "tool_name"],
                            "properties": {"type": {"const": "tool_reference"}, "tool_name": _NAME},
                        },
                        {
                            "type": "object", "additionalProperties": False, "required": ["type", "text"],
                            "properties": {"type": {"const": "text"}, "text": {"type": "string", "minLength": 1}},
                        },
                    ]
                },
            },
        },
    },
    "openai-responses": {
        "type": "object",
        "additionalProperties": False,
        "required": ["type", "execution", "status", "tools"],
        "properties": {
            "type": {"const": "tool_search_output"}, "call_id": {"type": "string"}, "execution": {"const": "client"},
            "status": {"const": "completed"}, "tools": _FUNCTIONS,
        },
    },
}  # fmt: skip
