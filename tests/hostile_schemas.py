"""Schemas that an attacker or a careless program might write, for tests that print code from them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

WORDS = (
    "a", "title", "userId", "__proto__", "constructor", "new", "class", "from", "None", "list", "str", "type", "Any",
    "call_tool", "callTool", "*/", '"""', "'''", "\\", "\\\"\"\"", "\n", "a\nb", "\r", "\u2028", "\u202e", "é", "日本",
    "😀", "1", "1.0", "-", "--", " ", "", "filter[name]", "a.b", "a-b", "$ref", "@type", "#", "/*", "//", "${x}", "{", "}",
    "`", "\x00", "\ud800", "T", "FArguments", "Arguments", "_", "__x", "__", "async", "await", "x" * 300, "# type: ignore",
    "// @ts-nocheck", "{{", "%s", "\t", "keys", "Promise", "object", "int", "print", "arguments", "eval", "default",
)  # fmt: skip
NAMES = st.sampled_from(WORDS) | st.text(max_size=8)
POINTERS = st.sampled_from(
    [
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/$defs/c d",
        "#/$defs/class",
        "#/properties/a",
        "https://x/y",
        "#anchor",
        "#/",
        5,
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | NAMES
    | st.sampled_from([2**70, -1, 1e300])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2)
)
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "null", "array", "object", "any", "", 5, None]
)


def _extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(inner, max_size=3)
    members = st.dictionaries(NAMES, inner, max_size=5)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, max_size=3),
            "description": NAMES
            | st.lists(NAMES, min_size=2, max_size=5).map("".join)
            | st.integers(),
            "default": VALUES,
            "format": NAMES,
            "enum": st.lists(VALUES, max_size=4) | VALUES,
            "const": VALUES,
            "nullable": st.booleans(),
            "properties": members | VALUES,
            "required": st.lists(NAMES, max_size=4) | VALUES,
            "additionalProperties": inner | st.booleans(),
            "patternProperties": members,
            "items": inner | listed | st.booleans(),
            "prefixItems": listed,
            "minItems": st.integers(0, 3) | VALUES,
            "anyOf": listed,
            "oneOf": listed | VALUES,
            "allOf": listed,
            "$ref": POINTERS,
        },
    )


PARTS = st.recursive(
    st.just({}) | st.booleans() | POINTERS.map(lambda to: {"$ref": to}) | VALUES,
    _extend,
    max_leaves=12,
)
SCHEMAS = st.builds(
    lambda root, definitions: {**root, "$defs": definitions},
    _extend(PARTS),
    st.fixed_dictionaries({"a": PARTS, "b": PARTS, "c d": PARTS, "class": PARTS}),
)
