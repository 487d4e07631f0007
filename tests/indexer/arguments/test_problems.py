"""Arguments against schemas: all mistakes at once, in words, and never an endless check."""

import pytest

from capdisc_indexer.validation.arguments import MAX_PROBLEMS, fill_defaults, find_problems
from case_rows import read_rows

TABLE = read_rows(__file__, "table")


def test_every_mistake_is_named_at_once() -> None:
    """Missing, wrongly typed, forbidden and unknown arguments are reported together (S109)."""
    given = {"limit": "many", "order": "sideways", "tabel": "x"}
    assert find_problems(TABLE, given) == [
        "table: is missing",
        "limit: must be an integer, not a string",
        "order: must be one of up, down",
        "tabel: is unknown; did you mean table?",
    ]


def test_arguments_that_fit_have_no_problem() -> None:
    assert find_problems(TABLE, {"table": "tracks", "limit": 3}) == []
    assert find_problems(None, {"anything": 1}) == []


def test_a_name_beside_the_listed_ones_passes_where_the_schema_says_so() -> None:
    assert find_problems(TABLE | {"additionalProperties": True}, {"table": "t", "more": 1}) == []
    assert find_problems(TABLE, {"table": "t", "more": 1}, closed=False) == []
    assert find_problems(TABLE | {"additionalProperties": False}, {"table": "t", "zz": 1}) == [
        "zz: is unknown"
    ]


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
    ("schema", "value", "said"),
    read_rows(__file__, "each_problem_says_where_and_what"),
)
def test_each_problem_says_where_and_what(schema, value, said) -> None:
    found = find_problems({"properties": {"v": schema}}, {"v": value})
    assert len(found) == 1
    assert found[0].startswith(said)


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


def test_a_pattern_that_never_ends_is_ended() -> None:
    found = find_problems({"properties": {"v": {"pattern": "^(a+)+$"}}}, {"v": "a" * 60 + "!"})
    assert found == ["v: must match the pattern ^(a+)+$"]


def test_a_loose_pattern_still_matches() -> None:
    assert find_problems(
        {"properties": {"v": {"pattern": "^[a-z]+(-[a-z]+)*$"}}},
        {"v": "a-long-name-of-words-with-ü"},
    )
    assert (
        find_problems(
            {"properties": {"v": {"pattern": "^[a-z]+(-[a-z]+)*$"}}},
            {"v": "a-long-name-of-many-words"},
        )
        == []
    )


@pytest.mark.parametrize(
    "broken", read_rows(__file__, "a_broken_schema_says_nothing_against_the_arguments")
)
def test_a_broken_schema_says_nothing_against_the_arguments(broken) -> None:
    assert find_problems(broken, {"v": "x"}, closed=False) == []


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


def test_what_is_no_object_is_said() -> None:
    assert find_problems({}, [1]) == ["the arguments: must be an object, not an array"]


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
