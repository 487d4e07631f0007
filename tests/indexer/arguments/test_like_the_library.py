"""Our validator agrees with the jsonschema library on every schema of the keywords we read."""

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.validation.arguments import find_problems

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-4, 4),
    st.sampled_from([0.5, 1.0, 2.5, -1.5]),
    st.sampled_from(["", "a", "ab", "b"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SIZES = st.integers(0, 3)
REFERENCES = st.sampled_from(["#/$defs/one", "#/$defs/two"])


def _schemas(inner: st.SearchStrategy) -> st.SearchStrategy:
    members = st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=2)
    several = st.lists(inner, min_size=1, max_size=3)
    names = st.lists(st.sampled_from(["a", "b", "ab"]), unique=True, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "minimum": st.integers(-2, 2),
            "maximum": st.integers(-2, 2),
            "exclusiveMinimum": st.integers(-2, 2),
            "exclusiveMaximum": st.integers(-2, 2),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": SIZES,
            "maxLength": SIZES,
            "pattern": st.sampled_from(["^a", "b$", "^$"]),
            "minItems": SIZES,
            "maxItems": SIZES,
            "uniqueItems": st.booleans(),
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "minContains": SIZES,
            "properties": members,
            "required": names,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
            "propertyNames": inner,
            "minProperties": SIZES,
            "maxProperties": SIZES,
            "dependentRequired": st.dictionaries(st.sampled_from(["a", "b"]), names, max_size=2),
            "dependentSchemas": members,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": REFERENCES,
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=5)
# What references lead to holds none, so that every schema ends.
ENDS = st.sampled_from(
    [True, {"type": "string"}, {"type": ["array", "object"]}, {"minimum": 0, "minLength": 1}]
)


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, ENDS, ENDS, VALUES)
def test_the_same_arguments_fit(schema, one, two, value) -> None:
    whole = {"properties": {"v": schema}, "$defs": {"one": one, "two": two}}
    expected = jsonschema.Draft202012Validator(whole).is_valid({"v": value})
    assert (find_problems(whole, {"v": value}, closed=False) == []) == expected
