"""Entities that declared rules find in results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_sessions.session_types import MAX_TEXT
from capdisc_sessions.transitions import ExtractionRule, extract_entities, parse_rule

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "items", "type"]), inner)
    ),
    max_leaves=10,
)


def found(declared, result):
    rule = parse_rule(declared)
    assert isinstance(rule, ExtractionRule), rule
    return extract_entities(rule, result, "tool:x")


def named(declared, result):
    return [(each.type, each.id, each.name) for each in found(declared, result).entities]


def test_one_thing_at_a_path() -> None:
    """A rule names path, type, name field and id field (S283)."""
    rule = {"path": "event", "type": "event", "nameField": "title"}
    assert named(rule, {"event": {"id": 7, "title": "Standup"}}) == [("event", "7", "Standup")]
    rule = {"path": "data.row", "type": "row", "nameField": "n", "idField": "key"}
    assert named(rule, {"data": {"row": {"key": "k", "n": "N"}}}) == [("row", "k", "N")]


def test_keys_may_be_written_with_underscores() -> None:
    rule = {
        "path": "tables",
        "type": "table",
        "name_field": "name",
        "id_field": "name",
        "is_array": True,
    }
    assert named(rule, {"tables": [{"name": "users"}]}) == [("table", "users", "users")]


@pytest.mark.parametrize("path", ["$root", "", None])
def test_the_root_is_the_result_itself(path) -> None:
    """An extraction path of `$root`, empty or absent means the result itself (S284)."""
    declared = {"type": "page", "nameField": "name"} | ({"path": path} if path is not None else {})
    assert named(declared, {"id": "p1", "name": "Home"}) == [("page", "p1", "Home")]


def test_of_six_items_five_are_kept_and_it_is_said() -> None:
    """Of six items five are kept, and the reason says so (S284)."""
    rule = {"path": "$root.items", "type": "page", "nameField": "name", "isArray": True}
    items = found(rule, {"items": [{"id": n} for n in range(6)]})
    assert [each.id for each in items.entities] == ["0", "1", "2", "3", "4"]
    assert (items.total, items.why) == (6, "6 items at items, the first 5 are kept")


def test_a_type_beside_the_path_and_names_in_order() -> None:
    """A type may stand beside the matches, and the first name field counts (S285)."""
    rule = {
        "path": "matches",
        "typeField": "type",
        "nameFields": ["name", "slug", "filename"],
        "isArray": True,
    }
    result = {"type": "image", "matches": [{"id": 1, "slug": "a", "filename": "a.png"}, {"id": 2}]}
    assert named(rule, result) == [("image", "1", "a"), ("image", "2", "2")]


def test_a_type_in_each_item_wins_and_a_declared_one_fills_in() -> None:
    """A type in an item wins over the declared one (S285)."""
    rule = {
        "path": "r",
        "typeField": "type",
        "type": "thing",
        "nameFields": ["title"],
        "isArray": True,
    }
    assert named(rule, {"r": [{"id": 1, "type": "post", "title": "T"}, {"id": 2}]}) == [
        ("post", "1", "T"),
        ("thing", "2", "2"),
    ]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"pages": [{"id": 1, "name": "x"}]}, "nothing at items"),
        ({"items": {"id": 1}}, "not a list, but isArray is set"),
        ({"items": ["a"]}, "is not an object"),
        ({"items": [{"name": "x"}]}, "has no id"),
        ({"items": [{"id": {"deep": 1}}]}, "has no id"),
        ({"items": [{"id": True}]}, "has no id"),
        ({"items": [{"id": "\u200b\x1b"}]}, "has no id"),
        ({"items": [{"id": "x" * (MAX_TEXT + 1)}]}, "has no id"),
        ([1, 2], "nothing at items"),
        (None, "nothing at items"),
    ],
)
def test_nothing_is_guessed_and_the_reason_is_given(result, why) -> None:
    """A result that the rule does not fit yields no entity, and the reason is given (S286)."""
    done = found({"path": "items", "type": "page", "nameField": "name", "isArray": True}, result)
    assert done.entities == ()
    assert why in done.why


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"type": 3},
        {"type": "a", "path": ["x"]},
        {"type": "a", "nameFields": [1]},
        {"type": "a", "path": "a." * 40},
    ],
)
def test_a_rule_that_says_nothing_is_said(declared) -> None:
    assert isinstance(parse_rule(declared), str)


@given(JSON, st.booleans())
def test_no_result_breaks_it_and_all_that_comes_out_is_one_line(result, many) -> None:
    done = found(
        {"path": "items", "typeField": "type", "type": "t", "nameField": "name", "isArray": many},
        result,
    )
    for each in done.entities:
        assert all(
            text and "\n" not in text and len(text) <= MAX_TEXT
            for text in (each.type, each.id, each.name)
        )
