"""Drawings of a graph."""

import itertools
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_indexer.graph.drawing import DRAWINGS
from capdisc_indexer.graph.relations import CapabilityGraph, Relation

HOSTILE = [
    'tool:"]; evil [label="x',
    "tool:</title><script>alert(1)</script>",
    "tool:a\\",
    "tool:b\n}\ndigraph",
    "tool:\x1b[31m\u202e\ufffe\x00",
    'tool:n1["x"] --> n2',
    "tool:#quot;%%{init: {}}%%`$",
]


def pair(one: str, two: str, kind: str = "REQUIRES") -> CapabilityGraph:
    relation = Relation(kind=kind, source=one, target=two, weight=0.5)
    return CapabilityGraph(depths={one: 0, two: 1}, relations=(relation,))


def test_dot_has_a_node_a_capability_and_an_edge_a_relation() -> None:
    assert DRAWINGS["dot"](pair("tool:a", "tool:b", "RELATED")) == (
        "digraph capabilities {\n  node [shape=box];\n"
        '  n0 [label="tool:a"];\n  n1 [label="tool:b"];\n'
        '  n0 -> n1 [label="RELATED 0.5", penwidth=1.5, dir=none];\n}\n'
    )


def test_mermaid_tells_directed_edges_from_others() -> None:
    assert DRAWINGS["mermaid"](pair("tool:a", "tool:b")).endswith('  n0 -->|"REQUIRES 0.5"| n1\n')
    assert '---|"RELATED 0.5"|' in DRAWINGS["mermaid"](pair("tool:a", "tool:b", "RELATED"))


@pytest.mark.parametrize("identifier", HOSTILE)
def test_no_id_leaves_its_label(identifier) -> None:
    network = pair(identifier, "tool:plain", kind=identifier.upper())
    dot = DRAWINGS["dot"](network)
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', dot)
    assert outside == re.sub(
        r'"(?:[^"\\]|\\.)*"', '""', DRAWINGS["dot"](pair("tool:b", "tool:plain", "OTHER"))
    )
    mermaid = DRAWINGS["mermaid"](network).splitlines()
    assert len(mermaid) == 4
    assert re.fullmatch(r'  n0\["[\w :./@+#;-]*"\]', mermaid[1])
    assert re.fullmatch(r'  n0 -->\|"[\w :./@+#;-]*"\| n1', mermaid[3])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(st.lists(st.text(max_size=12), min_size=2, max_size=6, unique=True))
def test_every_picture_of_any_ids_is_well_formed(ids) -> None:
    relations = tuple(
        Relation(kind="RELATED", source=one, target=two, weight=0.3)
        for one, two in itertools.pairwise(ids)
    )
    network = CapabilityGraph(
        depths={each: depth for depth, each in enumerate(ids)}, relations=relations
    )
    for draw in DRAWINGS.values():
        assert "\x1b" not in draw(network)
        assert len(draw(network).splitlines()) <= 2 * len(ids) + 2


def test_an_empty_network_is_an_empty_picture() -> None:
    for draw in DRAWINGS.values():
        assert draw(CapabilityGraph(depths={}, relations=()))
