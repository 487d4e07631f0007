"""Each word of a query is held against each word of a capability."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer import encoders
from capdisc_indexer.bags import Bag, bag, packed, unpacked
from capdisc_indexer.interaction import meet
from capdisc_indexer.types import Descriptor, SourceRef

IDS = st.lists(st.integers(0, 2**32 - 1), max_size=20).map(tuple)


@pytest.fixture(scope="module")
def encoder():
    return encoders.shipped()


def _bag(encoder, name: str, description: str) -> Bag:
    source = SourceRef(path="x", format="skill")
    made = Descriptor(id=f"tool:{name}", kind="tool", name=name, description=description, source=source)
    return bag(made, encoder.bulk_pieces, encoder.worths.__getitem__)


def test_the_like_of_each_word_counts_not_only_the_word(encoder) -> None:
    bags = {
        "same": _bag(encoder, "delete-photo", "Deletes a photo."),
        "alike": _bag(encoder, "remove-picture", "Removes a picture."),
        "other": _bag(encoder, "bake-bread", "Bakes a loaf of bread."),
    }
    met = meet(encoder, "delete a photo", bags)
    assert met["same"].query > met["alike"].query > met["other"].query
    assert met["same"].name > met["alike"].name > met["other"].name


def test_what_a_description_says_beyond_the_query_counts_against_it(encoder) -> None:
    bags = {
        "short": _bag(encoder, "weather", "Tells the weather."),
        "long": _bag(encoder, "weather", "Tells the weather, tax rates, chess openings and the history of Peru."),
    }
    met = meet(encoder, "tell me the weather", bags)
    assert met["short"].described > met["long"].described


def test_nothing_meets_where_nothing_is_known(encoder) -> None:
    assert meet(encoder, "", {"a": _bag(encoder, "x", "Tells the weather.")})["a"].query == 0.0
    assert meet(encoder, "weather", {"a": Bag()})["a"].query == 0.0
    assert meet(encoder, "weather", {}) == {}


def test_shares_stay_on_0_to_1(encoder) -> None:
    bags = {"a": _bag(encoder, "weather-weather", "weather weather weather 天气 погода")}
    for text in ("weather", "погода в Москве", "weather " * 500, "?!"):
        met = meet(encoder, text, bags)["a"]
        assert all(0 <= share <= 1 + 1e-6 for share in (met.query, met.name, met.described))


@given(IDS, IDS, IDS)
def test_a_packed_bag_comes_back(name, described, body) -> None:
    full = Bag(name, described, body)
    assert unpacked(packed(full)) == full
    assert unpacked(b"") == Bag()
