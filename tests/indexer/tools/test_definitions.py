"""Definitions in each provider's form, with names and schemas that it accepts."""

import json
import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.tools import tool_table
from capdisc_indexer.tools.function_definitions import Definition
from capdisc_indexer.tools.gemini_schema import gemini_schema
from capdisc_indexer.tools.parameter_schema import object_schema, restore_names
from capdisc_indexer.tools.provider_formats import (
    DEFINITION_FORMATS,
    encode_definitions,
    parameter_renames,
)
from capdisc_indexer.validation.arguments import find_problems
from case_rows import read_rows
from forms_of_providers import FORMS as SHAPES

TREE = read_rows(__file__, "tree")
CHOICE = read_rows(__file__, "choice")


def defined(*pairs: tuple[str, str], schema: object = None, **more: object) -> list[Definition]:
    return [
        Definition(
            id=identifier, name=name, description="Does it.", schema=schema, kind="tool", **more
        )
        for identifier, name in pairs
    ]


def checked(form: str, definitions: list[Definition]) -> tuple[object, dict[str, str]]:
    value, names = encode_definitions(form, definitions)
    jsonschema.validate(value, SHAPES[form])
    json.dumps(value, allow_nan=False)
    return value, names


@pytest.mark.parametrize("form", DEFINITION_FORMATS)
def test_everything_there_is_has_the_shape_of_each_form(desk, form) -> None:
    """Every definition satisfies the schema of each provider's form (S16, S218, S222)."""
    definitions = [
        *tool_table.discovery_definitions(desk, hidden=True),
        *tool_table.capability_definitions(desk),
    ]
    _, names = checked(form, definitions)
    assert len(names) == len(definitions) == len(set(names.values()))


@pytest.mark.parametrize("form", DEFINITION_FORMATS)
@pytest.mark.parametrize("schema", read_rows(__file__, "any_schema_gets_the_shape_of_each_form"))
def test_any_schema_gets_the_shape_of_each_form(form, schema) -> None:
    """Any input schema, however odd, becomes one that each form accepts (S16)."""
    checked(form, defined(("tool:x", "x"), schema=schema))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type properties items anyOf allOf enum const $ref required format".split()
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "$defs", "required"]), JSON),
    st.text(max_size=90),
)
def test_nonsense_gets_the_shape_of_each_form(schema, name) -> None:
    for form in DEFINITION_FORMATS:
        checked(form, defined(("tool:x", name), schema=schema))


def test_a_choice_at_the_root_becomes_one_object() -> None:
    """A choice at the root of a schema becomes one object with all properties (S16)."""
    made = object_schema(CHOICE)
    assert set(made["properties"]) == {"id", "x", "y"}
    assert made["required"] == ["id"]


def test_gemini_gets_its_own_types_and_no_references() -> None:
    """Gemini's form has its own type names, no references and plain choices (S16)."""
    made = gemini_schema(TREE)
    properties = made["properties"]
    assert made["type"] == "OBJECT"
    assert made["required"] == ["root"]
    assert properties["root"]["properties"]["n"] == {"type": "INTEGER"}
    assert properties["level"] == {"type": "INTEGER", "description": "One of 1, 2, 3. Default: 2."}
    assert properties["mode"] == {"type": "STRING", "nullable": True, "enum": ["fast"]}
    assert properties["when"] == {"type": "STRING", "nullable": True, "format": "date-time"}
    assert properties["list"] == {"type": "ARRAY", "items": {"type": "STRING"}}
    assert "$ref" not in json.dumps(made)


def test_a_schema_that_doubles_at_every_reference_stays_small() -> None:
    node = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/node"} for n in range(12)}}
    made = gemini_schema(
        {"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    )
    assert len(json.dumps(made)) < 200_000
    assert "root" in made["properties"]


@pytest.mark.parametrize("form", DEFINITION_FORMATS)
def test_names_that_are_refused_are_changed_and_found_again(form) -> None:
    """A changed name leads back to one id (S16)."""
    pairs = [
        ("tool:a.Summarize Detection", "Summarize Detection"),
        ("tool:b", "数据"),
        ("tool:c", "9lives"),
        ("tool:d", "x" * 200),
        ("tool:e", "x" * 199 + "y"),
        ("tool:left.search", "search"),
        ("tool:right.search", "search"),
        ("tool:f", "a.b"),
    ]
    _, names = checked(form, defined(*pairs))
    assert len(set(names.values())) == len(pairs)
    assert (names["tool:left.search"], names["tool:right.search"]) in [
        ("left_search", "right_search"),
        ("left.search", "right.search"),
    ]
    assert names["tool:a.Summarize Detection"] == "Summarize_Detection"


ODD = read_rows(__file__, "odd")


def test_parameters_that_a_provider_refuses_get_other_names_and_are_found_again() -> None:
    """`filter[name]`, for which Anthropic refuses a whole request, is renamed (S16)."""
    definitions = defined(("tool:x", "x"), schema=ODD)
    value, _ = checked("anthropic", definitions)
    taken = value[0]["input_schema"]
    assert all(re.fullmatch("[a-zA-Z0-9_.-]{1,64}", name) for name in taken["properties"])
    assert (len(taken["properties"]), taken["required"]) == (6, ["page_size", "ok"])
    back = parameter_renames("anthropic", definitions)["tool:x"]
    assert back["page_size"] == "page[size]"
    assert restore_names(ODD, dict.fromkeys(taken["properties"])) == dict.fromkeys(
        ODD["properties"]
    )
    assert parameter_renames("openai", definitions) == {}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    read_rows(__file__, "a_name_that_is_known_stands_for_itself"),
)
def test_a_name_that_is_known_stands_for_itself(schema, arguments) -> None:
    assert restore_names(schema, arguments) == arguments


def test_a_name_does_not_depend_on_the_order() -> None:
    pairs = [(f"tool:{side}.search", "search") for side in ("left", "right")]
    pairs += [("tool:z", "z z"), ("tool:y", "z_z")]
    names = [encode_definitions("openai", defined(*each))[1] for each in (pairs, pairs[::-1])]
    assert names[0] == names[1]


def test_a_capability_cannot_take_the_name_of_a_discovery_tool() -> None:
    ours = defined(("capdisc:search_tool", "search_tool"), is_ours=True)
    _, names = encode_definitions(
        "anthropic", [*defined(("tool:search_tool", "search_tool")), *ours]
    )
    assert names["capdisc:search_tool"] == "search_tool"
    assert names["tool:search_tool"] != "search_tool"


# `json` is for programs: ids and kinds stand beside each definition, and no model pays for it.
@pytest.mark.parametrize("form", [form for form in DEFINITION_FORMATS if form != "json"])
def test_discover_capabilities_costs_at_most_80_tokens(desk, form) -> None:
    """The definition of discover_capabilities costs at most 80 tokens to any provider (S196)."""
    from capdisc_indexer.lazy_imports import load_token_counter

    [one] = tool_table.definitions_by_name(desk, ["discover_capabilities"])
    value, _ = encode_definitions(form, [one])
    assert load_token_counter()(json.dumps(value, separators=(",", ":"))) <= 80


def test_the_kinds_are_those_of_the_index(capdisc, small) -> None:
    """The kinds offered are those of the index (S195)."""
    [one] = capdisc("tools", "--only", "discover_capabilities").json["tools"]
    kinds = one["input_schema"]["properties"]["kind"]["enum"]
    assert kinds == ["any", "channel", "extension", "skill", "term", "tool"]


def test_a_definition_takes_what_its_tool_takes(desk) -> None:
    definitions = tool_table.discovery_definitions(desk, hidden=True)
    assert definitions
    for each in definitions:
        assert find_problems(each.schema, {"nonsense": 1}) != []


def test_mcp_hints_come_from_the_author_the_risk_and_what_a_tool_keeps_or_runs(desk) -> None:
    named = tool_table.definitions_by_name(desk, ["wipe_disk", "list_apis"])
    ours = tool_table.discovery_definitions(desk, hidden=True)
    hints = [
        {each["name"]: each["annotations"] for each in encode_definitions("mcp", one)[0]["tools"]}
        for one in (named, ours)
    ]
    assert hints[0] == {
        "wipe_disk": {"destructiveHint": True},
        "list_apis": {"readOnlyHint": True},
    }
    changing = {name for name, hint in hints[1].items() if not hint["readOnlyHint"]}
    assert changing == {"execute_tool", "resolve_fact", "add_fact", "extract_facts_from_text"}
