"""Each word of a query is held against each word of a capability."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer import encoders, engines
from capdisc_indexer.bags import Bag, bag, packed, unpacked
from capdisc_indexer.interaction import meet, with_arrays, without_arrays
from capdisc_indexer.types import Descriptor, SourceRef

PIECES = st.integers(0, 93_999)
_SOME = st.lists(PIECES, max_size=7).map(tuple)
BAGS = st.builds(Bag, _SOME, _SOME, _SOME)
IDS = st.lists(st.integers(0, 2**32 - 1), max_size=20).map(tuple)


@pytest.fixture(scope="module")
def encoder():
    return encoders.shipped()


@pytest.fixture(autouse=True, params=["with arrays", "without"])
def _way(request, monkeypatch) -> None:
    """Both ways are taken, whatever this process has imported."""
    monkeypatch.setattr(engines, "numpy_at_hand", lambda: numpy if request.param == "with arrays" else None)


def _bag(encoder, name: str, description: str) -> bytes:
    source = SourceRef(path="x", format="skill")
    made = Descriptor(id=f"tool:{name}", kind="tool", name=name, description=description, source=source)
    return packed(bag(made, encoder.bulk_pieces, encoder.worths.__getitem__))


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
    assert meet(encoder, "weather", {"a": packed(Bag())})["a"].query == 0.0
    assert meet(encoder, "weather", {"a": b"", "b": _bag(encoder, "x", "Tells the weather.")})["a"].query == 0.0
    assert meet(encoder, "weather", {}) == {}


def test_shares_stay_on_0_to_1(encoder) -> None:
    bags = {"a": _bag(encoder, "weather-weather", "weather weather weather 天气 погода")}
    for text in ("weather", "погода в Москве", "weather " * 500, "?!"):
        met = meet(encoder, text, bags)["a"]
        assert all(0 <= share <= 1 + 1e-6 for share in (met.query, met.name, met.described))


@given(st.lists(PIECES, min_size=1, max_size=9, unique=True), st.lists(BAGS, min_size=1, max_size=5))
def test_both_ways_give_the_same_sums(encoder, asked, bags) -> None:
    some = [packed(each) for each in bags if each.name or each.described or each.body]
    plain = without_arrays.sums(encoder, asked, some) if some else []
    swift = with_arrays.sums(encoder, asked, some) if some else []
    assert [tuple(map(tuple, each)) for each in swift] == [tuple(map(tuple, each)) for each in plain]


@given(IDS, IDS, IDS)
def test_a_packed_bag_comes_back(name, described, body) -> None:
    full = Bag(name, described, body)
    assert unpacked(packed(full)) == full
    assert unpacked(b"") == Bag()
