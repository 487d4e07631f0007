"""Which tool gives what another one needs, as their names, parameters and schemas say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from capdisc_indexer.graph.interfaces import InterfaceOwner, describe_interface, name_words
from capdisc_indexer.graph.producer_edges import MAX_GROUP, find_producers
from capdisc_indexer.model.types import Descriptor, Parameter, SourceRef
from case_rows import read_rows


def _owner(
    name: str, *required: str, output: Mapping[str, Any] | None = None, **fields: Any
) -> InterfaceOwner:
    """A tool with these required parameters; `fields` may hold `described`, by parameter."""
    described = fields.pop("described", {})
    descriptor = Descriptor(
        id=f"tool:{name}",
        kind=fields.pop("kind", "tool"),
        name=name,
        description=fields.pop("description", f"Does {name}."),
        source=SourceRef(path="x", format=fields.pop("format", "tool-list")),
        parameters=tuple(
            Parameter(name=key, required=True, description=described.get(key, ""))
            for key in required
        ),
        output_schema=output,
    )
    return InterfaceOwner(descriptor.id, name, describe_interface(descriptor))


def _edges(*owners: InterfaceOwner) -> dict[str, list[str]]:
    found = find_producers([owners])
    return {key[5:]: [edge.producer[5:] for edge in edges] for key, edges in found.items()}


@pytest.mark.parametrize(
    ("name", "words"),
    read_rows(__file__, "words_of_a_name"),
)
def test_words_of_a_name(name, words) -> None:
    assert name_words(name) == tuple(words)


@pytest.mark.parametrize(
    "producer",
    [
        _owner("find_order_id_by_email", "email"),
        _owner("list_orders"),
        _owner("GET_search_orders", "query"),
        _owner("getAccount", "email", output={"properties": {"orderId": {"type": "string"}}}),
        _owner(
            "getAccount",
            output={"type": "array", "items": {"properties": {"order_id": {"type": "string"}}}},
        ),
        _owner("get_customer", "email", description="Get a customer, including their orders."),
        _owner("get_order_details", "order_id"),
    ],
    ids=lambda owner: f"{owner.name} {sorted(owner.interface)}",
)
def test_what_gives_a_parameter_goes_with_what_requires_it(producer) -> None:
    consumer = _owner("cancel_order", "order_id", "reason")
    assert _edges(consumer, producer, _owner("list_invoices"), _owner("send_mail", "address")) == {
        "cancel_order": [producer.name]
    }


@pytest.mark.parametrize(
    "other",
    [
        _owner("create_order", "basket"),
        _owner("find_order_id_by_code", "order_id"),
        _owner("get_order_history", "order_id"),
        _owner("list_order_templates"),
        _owner("delete_orders"),
        _owner("get_orders_guide", kind="skill"),
    ],
    ids=lambda owner: owner.name,
)
def test_what_only_sounds_alike_does_not(other) -> None:
    assert "cancel_order" not in _edges(_owner("cancel_order", "order_id"), other)


def test_a_bare_id_is_that_of_what_the_tool_is_about() -> None:
    assert _edges(_owner("deleteInvoice", "id"), _owner("listInvoices")) == {
        "deleteInvoice": ["listInvoices"]
    }


def test_the_description_of_a_parameter_may_name_the_tool() -> None:
    hint = {"where": "Coordinates, as returned by geocode_address."}
    consumer = _owner("get_forecast", "where", described=hint)
    assert _edges(consumer, _owner("geocode_address", "address"), _owner("get_address")) == {
        "get_forecast": ["geocode_address"]
    }
    words = {"country": "The country to geocode address data from."}
    assert _edges(_owner("get_tax", "country", described=words), _owner("geocode_address")) == {}


def test_a_parameter_that_many_tools_give_says_nothing() -> None:
    many = [_owner(f"find_user_id_by_{word}", word) for word in ("mail", "name", "phone", "zip")]
    assert _edges(_owner("send_letter", "user_id"), *many) == {}
    assert len(_edges(_owner("send_letter", "user_id"), *many[:3])["send_letter"]) == 3


def test_the_surest_producers_win() -> None:
    sure, vague = _owner("find_order_id_by_email", "email"), _owner("search_orders")
    assert _edges(_owner("cancel_order", "order_id"), vague, sure) == {
        "cancel_order": ["find_order_id_by_email"]
    }


def test_a_list_of_all_wins_over_one_of_some() -> None:
    lists = _owner("list_orders"), _owner("list_pending_orders")
    assert _edges(_owner("cancel_order", "order_id"), *lists) == {"cancel_order": ["list_orders"]}
    assert _edges(_owner("cancel_order", "order_id"), lists[1]) == {
        "cancel_order": ["list_pending_orders"]
    }


def test_skills_and_tools_that_need_nothing_have_no_edges() -> None:
    assert _edges(_owner("count_orders"), _owner("list_orders"), _owner("get_order")) == {}
    assert (
        describe_interface(
            Descriptor(
                id="skill:x",
                kind="skill",
                name="x",
                description="Lists all orders.",
                source=SourceRef(path="x", format="skill"),
            )
        )
        == {}
    )


def test_other_sources_and_heaps_of_many_apis_are_left_alone() -> None:
    consumer, producer = _owner("cancel_order", "order_id"), _owner("list_orders")
    assert find_producers([[consumer], [producer]]) == {}
    heap = [_owner(f"tool_{number}") for number in range(MAX_GROUP)]
    assert find_producers([[consumer, producer, *heap]]) == {}
