"""Edges between capabilities, from declarations and from what they share."""

from capdisc_indexer.graph import capability_graph as networks
from capdisc_indexer.graph.relations import CapabilityGraph, Relation
from capdisc_indexer.store.snapshot import Index


def edges(network: CapabilityGraph, kind: str = "") -> list[tuple[str, str, float]]:
    return [
        (each.source, each.target, each.weight)
        for each in network.relations
        if kind in ("", each.kind)
    ]


def test_what_is_required_leads_there_from_any_kind_and_what_is_not_there_is_named(
    network,
) -> None:
    """Requirements of any kind are directed edges, and the unresolved ones are named (S177)."""
    found = network(
        {"name": "a", "requires": ["b", "nowhere"]},
        {"name": "b"},
        {"name": "note", "kind": "document", "requires": ["tool:a"]},
    )
    assert edges(found, "REQUIRES") == [
        ("document:note", "tool:a", 1.0),
        ("tool:a", "tool:b", 1.0),
    ]
    assert [(each.source, each.target) for each in found.unresolved] == [("tool:a", "nowhere")]


def test_what_is_used_together_is_one_edge_however_often_it_is_said_and_stays_on_a_second_build(
    network,
) -> None:
    """`composedWith` makes one edge a pair; `related` weighs a half (S178, S279)."""
    given = [
        {"name": "a", "composedWith": ["b"], "related": ["c"]},
        {"name": "b", "composedWith": ["a"]},
        {"name": "c"},
    ]
    first, again = network(*given), network(*given)
    assert edges(first, "COMPOSED_WITH") == [("tool:a", "tool:b", 0.5)]
    assert edges(first, "RELATED") == [("tool:a", "tool:c", 0.5)]
    assert first.relations == again.relations


def test_shared_tags_count_from_two_on_and_are_capped(network) -> None:
    """Two shared tags relate two capabilities, and more add weight up to a limit (S179)."""
    found = network(
        {"name": "a", "tags": ["x", "y", "z", "v"]},
        {"name": "b", "tags": ["X", "y"]},
        {"name": "c", "tags": ["x", "y", "z", "v"]},
        {"name": "d", "tags": ["z"]},
    )
    assert edges(found, "TAGGED_WITH") == [
        ("tool:a", "tool:c", 1.0),
        ("tool:a", "tool:b", 0.6),
        ("tool:b", "tool:c", 0.6),
    ]


def test_a_tag_on_very_many_capabilities_says_nothing_and_is_named(network) -> None:
    """A tag on very many capabilities makes no edge and is named (S179)."""
    found = network(*({"name": f"n{n}", "tags": ["all", "every"]} for n in range(12)))
    assert edges(found, "TAGGED_WITH") == []
    assert found.ignored == ("tag all (12)", "tag every (12)")


def test_small_groups_of_one_kind_and_category_are_neighbours(network) -> None:
    """Eight members make 28 edges, nine make none (S180)."""
    eight = [{"name": f"n{n}", "category": "small"} for n in range(8)]
    others = [
        {"name": "other", "kind": "document", "category": "small"},
        {"name": "plain-1"},
        {"name": "plain-2"},
    ]
    found = network(*eight, *others)
    assert [weight for *_, weight in edges(found, "SAME_CATEGORY")] == [0.1] * 28
    found = network(*eight, {"name": "n8", "category": "small"})
    assert edges(found) == []
    assert found.ignored == ("category small of kind tool (9)",)


def test_a_pair_keeps_all_its_kinds_and_requirements_their_direction(network) -> None:
    """A pair keeps each kind of its edges, and only requirements are directed (S181)."""
    found = network(
        {"name": "b", "requires": ["a"], "related": ["a"], "tags": ["x", "y"]},
        {"name": "a", "tags": ["x", "y"]},
    )
    assert [(each.kind, each.source, each.directed) for each in found.relations] == [
        ("REQUIRES", "tool:b", True),
        ("TAGGED_WITH", "tool:a", False),
        ("RELATED", "tool:a", False),
    ]


def test_tools_that_a_skill_may_use_are_edges_of_half_weight(network) -> None:
    """Allowed tools are edges of half weight, and unknown ones are named (S54)."""
    found = network({"name": "shell"}, skills={"fix": "allowed-tools: shell(git:*) Read"})
    assert edges(found) == [("skill:fix", "tool:shell", 0.5)]
    assert [each.target for each in found.unresolved] == ["Read"]


def test_dependencies_of_a_skill_are_requirements(network) -> None:
    """`dependencies` count at the top and below metadata (S65)."""
    skills = {
        "one": "dependencies: [two, shell]",
        "two": 'metadata:\n  dependencies: "shell, gone"',
    }
    found = network({"name": "shell"}, skills=skills)
    assert edges(found) == [
        ("skill:one", "skill:two", 1.0),
        ("skill:one", "tool:shell", 1.0),
        ("skill:two", "tool:shell", 1.0),
    ]
    assert [each.target for each in found.unresolved] == ["gone"]


def test_typed_edges_keep_their_weight_and_the_heavier_of_two_wins(network) -> None:
    found = network(
        {
            "name": "a",
            "composedWith": ["b"],
            "edges": [{"target": "b", "type": "composed-with", "weight": 0.8}],
        },
        {"name": "b"},
    )
    assert edges(found) == [("tool:a", "tool:b", 0.8)]


CHAIN = CapabilityGraph(
    depths=dict.fromkeys("abcde", 0),
    relations=tuple(
        Relation(kind="REQUIRES", source=one, target=two, weight=weight)
        for one, two, weight in (
            ("a", "b", 1.0),
            ("b", "c", 0.9),
            ("c", "d", 0.5),
            ("d", "b", 0.2),
        )
    ),
)


def test_around_one_are_its_relations_by_weight_and_further_ones_by_depth() -> None:
    """Neighbours come by weight, further ones by depth (S182)."""
    near = networks.select_neighbourhood(CHAIN, ["b"], 1)
    assert edges(near) == [("a", "b", 1.0), ("b", "c", 0.9), ("d", "b", 0.2)]
    far = networks.select_neighbourhood(CHAIN, ["a"], 2)
    assert dict(far.depths) == {"a": 0, "b": 1, "c": 2, "d": 2}
    assert edges(far) == edges(CHAIN)


def test_a_limit_keeps_the_nearest_and_counts_what_it_leaves_out() -> None:
    shown = networks.limit_graph(networks.select_neighbourhood(CHAIN, ["a"], 3), 3, 1)
    assert list(shown.depths) == ["a", "b", "c"]
    assert edges(shown) == [("a", "b", 1.0)]
    assert shown.left_out == {"capabilities": 1, "edges": 3, "unresolved": 0}


def test_kinds_and_weights_filter() -> None:
    assert edges(networks.filter_edges(CHAIN, {"RELATED"}, 0)) == []
    assert edges(networks.filter_edges(CHAIN, set(), 0.9)) == [("a", "b", 1.0), ("b", "c", 0.9)]


def test_stats_count_capabilities_edges_and_pairs() -> None:
    """Statistics count capabilities, edges, pairs and the unconnected (S182)."""
    facts = networks.graph_stats(CHAIN)
    assert (facts["capabilities"], facts["edges"], facts["pairs"], facts["alone"]) == (5, 4, 4, 1)
    assert facts["kinds"] == {"REQUIRES": 4}
    assert facts["most_connected"][0] == {"id": "b", "neighbours": 3}


def test_the_order_of_the_files_does_not_matter(indexed, tmp_path) -> None:
    """The order of the files does not change the graph that is shown (S186)."""
    given = [{"name": n, "tags": ["x", "y"], "related": ["a"], "category": "k"} for n in "abcd"]
    with Index(indexed(*given)) as index:
        first = networks.build_graph(index)
    with Index(indexed(*reversed(given))) as index:
        assert networks.build_graph(index).relations == first.relations
