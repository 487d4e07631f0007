"""What edges add to the hits of a query."""

from __future__ import annotations

import pytest

from capdisc_indexer import graph
from capdisc_indexer.model.types import ProducerEdge
from case_rows import read_rows

HEADS = {
    key: {"id": key, "kind": key.partition(":")[0], "name": key.partition(":")[2], **head}
    for key, head in read_rows(__file__, "heads").items()
}


def resolve(name):
    return HEADS.get(name) or HEADS.get(f"tool:{name}")


@pytest.mark.parametrize(("hit", "required"), read_rows(__file__, "requirements"))
def test_everything_a_hit_needs_comes_along_behind_it(hit, required) -> None:
    found = graph.requirements([HEADS[hit]], {hit: 1.0}, resolve)
    assert list(found) == required
    scores = [score for score, _ in found.values()]
    assert scores == sorted({*scores}, reverse=True)
    assert all(0.9 < score < 1.0 for score in scores)
    assert [via for _, via in found.values()] == [hit, *required][: len(required)]


@pytest.mark.parametrize(("scores", "shares"), read_rows(__file__, "partners"))
def test_partners_push_each_other_by_a_share_of_their_own_score(scores, shares) -> None:
    """A partner adds a fixed share of its own score, unless in no-graph mode (S187)."""
    gains = graph.partners({key: HEADS[key] for key in scores}, scores, resolve)
    assert gains == {
        key: pytest.approx(graph.PARTNER_SHARE * share) for key, share in shares.items()
    }


def test_only_names_that_a_hit_has_are_looked_up() -> None:
    scores, looked_up = {"tool:send": 0.8, "tool:next": 0.4}, []
    graph.partners({key: HEADS[key] for key in scores}, scores, looked_up.append)
    assert looked_up == ["send"]


def test_producers_stand_behind_what_needs_them_and_keep_a_higher_place() -> None:
    edges = {
        "tool:send": (ProducerEdge("tool:render", 1.0, "x"),),
        "tool:render": (ProducerEdge("tool:read", 0.8, "x"), ProducerEdge("tool:gone", 1.0, "x")),
    }

    def find(**scores: float):
        order = [HEADS[f"tool:{name}"] for name in scores]
        scores = {f"tool:{name}": score for name, score in scores.items()}
        return graph.producers(order, scores, lambda key: edges.get(key, ()), resolve)

    found = find(send=0.8)
    assert {key: via for key, (_, via) in found.items()} == {
        "tool:render": "tool:send",
        "tool:read": "tool:render",
    }
    assert 0.8 > found["tool:render"][0] > found["tool:read"][0] > 0.5
    assert "tool:render" not in find(render=0.9, send=0.8)
