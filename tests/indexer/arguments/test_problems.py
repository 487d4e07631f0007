"""Arguments against schemas: all mistakes at once, in words, and never an endless check."""

import pytest

from capdisc_indexer.validation.arguments import MAX_PROBLEMS, fill_defaults, find_problems
from case_rows import read_rows

TABLE = read_rows(__file__, "table")


@pytest.mark.parametrize("case", read_rows(__file__, "cases"), ids=lambda case: case["shows"])
def test_each_mistake_is_named_with_its_place(case) -> None:
    schema, arguments = case.get("schema"), case.get("arguments")
    if "table" in case:
        schema = TABLE | case["table"]
    if "value" in case:
        schema, arguments = {"properties": {"v": schema}}, {"v": case["value"]}
    found = find_problems(schema, arguments, closed=case.get("closed", True))
    assert found == case.get("problems", [])


def test_defaults_are_filled_in_and_keep_their_type() -> None:
    """Defaults are filled in at every depth and keep their JSON type (S97, S247)."""
    assert fill_defaults(TABLE, {"table": "t", "where": {}}) == {
        "table": "t", "limit": 10, "order": "up", "where": {"deep": False},
    }  # fmt: skip


def test_a_default_behind_a_reference_is_filled_in() -> None:
    schema = {
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer", "default": 4}},
    }
    assert fill_defaults(schema, {}) == {"n": 4}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"v": {"$ref": "#/properties/v"}}},
        {"$defs": {"d": {"anyOf": [{"$ref": "#/$defs/d"}] * 9}}, "$ref": "#/$defs/d"},
        {
            "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 9} for n in range(30)},
            "$ref": "#/$defs/d0",
        },
    ],
)
def test_a_schema_without_an_end_is_a_problem_and_no_hang(schema) -> None:
    assert find_problems(schema, {"v": 1}) == [
        "the arguments: cannot be checked, the schema is too complex"
    ]


def test_more_problems_than_anyone_reads_are_counted() -> None:
    schema = {"properties": {f"n{i}": {"type": "string"} for i in range(50)}}
    found = find_problems(schema, {f"n{i}": i for i in range(50)})
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "and 30 more problems"


def test_arguments_nested_too_deeply_are_refused() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    assert find_problems({}, {"v": deep}) == ["the arguments: are nested more than 32 levels deep"]


def test_a_name_cannot_forge_a_line() -> None:
    assert "\n" not in find_problems(TABLE, {"table": "t", "x\nerror: y": 1})[0]


def test_a_long_list_against_long_lists_of_names_is_no_hang() -> None:
    """Each item costs the names that its schema has, not one step."""
    names = [f"n{number}" for number in range(20_000)]
    schema = {"properties": {"v": {"items": {"required": names}}}}
    assert find_problems(schema, {"v": [{}] * 50_000}) == [
        "the arguments: cannot be checked, the schema is too complex"
    ]


def test_a_long_list_against_many_choices_is_checked() -> None:
    schema = {"properties": {"v": {"items": {"enum": [f"c{number}" for number in range(400)]}}}}
    values = [f"c{number % 400}" for number in range(2_000)]
    assert find_problems(schema, {"v": values}) == []
    assert find_problems(schema, {"v": [*values, "other"]})[0].startswith(
        "v[2000]: must be one of"
    )
