"""What edges add to the hits of a query."""

import pytest

from capdisc_indexer.graph import relations
from capdisc_indexer.model.types import ProducerEdge

HEADS = {
    "tool:send": {"id": "tool:send", "name": "send", "requires": ["render"]},
    "tool:render": {"id": "tool:render", "name": "render", "requires": ["tool:read"]},
    "tool:read": {"id": "tool:read", "name": "read", "requires": ["send"]},
    "tool:other": {"id": "tool:other", "name": "other", "composed_with": ["tool:send"]},
    "tool:next": {"id": "tool:next", "name": "next", "related": ["send", "elsewhere"]},
}


def resolve(name):
    return HEADS.get(name) or HEADS.get(f"tool:{name}")


def test_everything_a_hit_needs_comes_along_behind_it() -> None:
    found = relations.requirements([HEADS["tool:send"]], {"tool:send": 1.0}, resolve)
    assert list(found) == ["tool:render", "tool:read"]
    assert 1.0 > found["tool:render"][0] > found["tool:read"][0] > 0.9
    assert found["tool:read"][1] == "tool:render"


def test_a_cycle_of_requirements_ends() -> None:
    found = relations.requirements([HEADS["tool:read"]], {"tool:read": 1.0}, resolve)
    assert "tool:read" not in found


def test_a_name_that_is_not_indexed_is_passed_over() -> None:
    head = {"id": "tool:x", "requires": ["no-such-thing"]}
    assert relations.requirements([head], {"tool:x": 1.0}, resolve) == {}


def test_partners_push_each_other_by_a_share_of_their_own_score() -> None:
    """A partner adds a fixed share of its own score, unless in no-graph mode (S187)."""
    scores = {"tool:send": 0.8, "tool:other": 0.4}
    gains = relations.partners({key: HEADS[key] for key in scores}, scores, resolve)
    assert gains["tool:other"] == relations.PARTNER_SHARE * 0.8
    assert gains["tool:send"] == relations.PARTNER_SHARE * 0.4


def test_an_edge_of_type_requires_counts_as_a_requirement() -> None:
    head = {
        "id": "tool:x",
        "edges": [
            {"kind": "DEPENDS_ON", "target": "a", "weight": 1.0},
            {"kind": "RELATED", "target": "b", "weight": 0.5},
        ],
    }
    assert relations.required_names(head) == {"a": 1.0}


@pytest.mark.parametrize("kind", ["COMPOSED_WITH", "REFERS_TO"])
def test_an_edge_of_use_together_counts_by_its_weight(kind) -> None:
    edge = {"kind": kind, "target": "tool:send", "weight": 0.5}
    heads = {
        "tool:send": HEADS["tool:send"],
        "tool:join": {"id": "tool:join", "name": "join", "edges": [edge]},
    }
    gains = relations.partners(heads, {"tool:send": 0.8, "tool:join": 0.4}, resolve)
    assert gains["tool:join"] == relations.PARTNER_SHARE * 0.5 * 0.8


def test_what_is_related_counts_half_of_what_is_used_together() -> None:
    scores = {"tool:send": 0.8, "tool:next": 0.4}
    gains = relations.partners({key: HEADS[key] for key in scores}, scores, resolve)
    assert gains["tool:next"] == relations.PARTNER_SHARE * 0.5 * 0.8


def test_what_says_see_also_raises_nobody() -> None:
    both = {
        "tool:a": {"id": "tool:a", "name": "a", "kind": "tool", "related": ["b"]},
        "tool:b": {"id": "tool:b", "name": "b", "kind": "tool", "related": ["tool:a"]},
    }
    skill = {
        "tool:a": {"id": "tool:a", "name": "a", "kind": "tool"},
        "tool:b": {"id": "tool:b", "name": "b", "kind": "skill", "related": ["a"]},
    }
    for heads in (both, skill):
        find = {**heads, "a": heads["tool:a"], "b": heads["tool:b"]}.get
        assert relations.partners(heads, {"tool:a": 0.8, "tool:b": 0.4}, find) == {}


def test_only_names_that_a_hit_has_are_looked_up() -> None:
    scores = {"tool:send": 0.8, "tool:next": 0.4}
    looked_up = []
    relations.partners({key: HEADS[key] for key in scores}, scores, looked_up.append)
    assert looked_up == ["send"]


def test_producers_stand_behind_what_needs_them() -> None:
    edges = {
        "tool:send": (ProducerEdge("tool:render", 1.0, "x"),),
        "tool:render": (ProducerEdge("tool:read", 0.8, "x"), ProducerEdge("tool:gone", 1.0, "x")),
    }
    scores = {"tool:send": 0.8, "tool:render": 0.1}
    order = [HEADS["tool:send"]]
    found = relations.producers(order, scores, lambda key: edges.get(key, ()), resolve)
    assert [found[key][1] for key in ("tool:render", "tool:read")] == ["tool:send", "tool:render"]
    assert 0.8 > found["tool:render"][0] > found["tool:read"][0] > 0.5
    assert "tool:gone" not in found


def test_a_producer_that_stands_higher_keeps_its_place() -> None:
    edges = {"tool:send": (ProducerEdge("tool:render", 1.0, "x"),)}
    scores = {"tool:render": 0.9, "tool:send": 0.8}
    order = [HEADS["tool:render"], HEADS["tool:send"]]
    assert relations.producers(order, scores, lambda key: edges.get(key, ()), resolve) == {}
