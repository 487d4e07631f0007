"""Which tool gives what another one needs, as their names, parameters and schemas say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from capdisc_indexer.graph.interfaces import InterfaceOwner, describe_interface, name_words
from capdisc_indexer.graph.producer_edges import MAX_GROUP, find_producers
from capdisc_indexer.model.types import Descriptor, Parameter, SourceRef
from case_rows import read_rows


@pytest.mark.parametrize(("name", "words"), read_rows(__file__, "words_of_a_name"))
def test_words_of_a_name(name, words) -> None:
    assert name_words(name) == tuple(words)


def _owner(
    name: str, *required: str, described: Mapping[str, str], **fields: Any
) -> InterfaceOwner:
    """A tool with these required parameters."""
    given = {"kind": "tool", "description": f"Does {name}."} | fields
    parameters = tuple(
        Parameter(name=key, required=True, description=described.get(key, "")) for key in required
    )
    source = SourceRef(path="x", format="tool-list")
    descriptor = Descriptor(
        id=f"tool:{name}", name=name, source=source, parameters=parameters, **given
    )
    return InterfaceOwner(descriptor.id, name, describe_interface(descriptor))


@pytest.mark.parametrize(
    "catalogue", read_rows(__file__, "catalogues"), ids=lambda catalogue: catalogue["shows"]
)
def test_what_gives_a_parameter_goes_with_what_requires_it(catalogue) -> None:
    described, fields = catalogue.get("described", {}), catalogue.get("fields", {})
    owners = [
        _owner(*tool, described=described, **fields.get(tool[0], {}))
        for tool in catalogue["tools"]
    ]
    found = {
        key.removeprefix("tool:"): [edge.producer.removeprefix("tool:") for edge in edges]
        for key, edges in find_producers([owners]).items()
    }
    wanted = {key: sorted(edges) for key, edges in catalogue.get("edges", {}).items()}
    assert {key: sorted(edges) for key, edges in found.items()} == wanted


def test_skills_have_no_interface() -> None:
    source = SourceRef(path="x", format="skill")
    skill = Descriptor(
        id="skill:x", kind="skill", name="x", description="Lists all orders.", source=source
    )
    assert describe_interface(skill) == {}


def test_other_sources_and_heaps_of_many_apis_are_left_alone() -> None:
    consumer, producer, *heap = (
        _owner(*words, described={})
        for words in (
            ("cancel_order", "order_id"),
            ("list_orders",),
            *((f"tool_{number}",) for number in range(MAX_GROUP)),
        )
    )
    assert find_producers([[consumer], [producer]]) == {}
    assert find_producers([[consumer, producer, *heap]]) == {}
