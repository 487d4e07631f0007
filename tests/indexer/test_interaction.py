"""Late interaction: each word of a query is compared with each word of a capability."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.encoders.word_pieces import TokenBag, build_token_bag, decode_bag, encode_bag
from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.retrieval import late_interaction
from capdisc_indexer.retrieval.late_interaction import max_sim_of_parts

PIECES = st.integers(0, 93_999)
_SOME = st.lists(PIECES, max_size=7).map(tuple)
BAGS = st.builds(TokenBag, _SOME, _SOME, _SOME)
IDS = st.lists(st.integers(0, 2**32 - 1), max_size=20).map(tuple)


@pytest.fixture(scope="module")
def encoder():
    return encoders.load_shipped_encoder()


@pytest.fixture(autouse=True, params=["with arrays", "without"])
def _way(request, monkeypatch) -> None:
    """Both ways are taken, whatever this process has imported."""
    monkeypatch.setattr(
        lazy_imports, "numpy_if_loaded", lambda: numpy if request.param == "with arrays" else None
    )


def max_sim(encoder, text, bags):
    """How one text matches each bag."""
    return max_sim_of_parts(encoder, [text], bags)[0]


def _bag(encoder, name: str, description: str) -> bytes:
    source = SourceRef(path="x", format="skill")
    descriptor = Descriptor(
        id=f"tool:{name}", kind="tool", name=name, description=description, source=source
    )
    return encode_bag(
        build_token_bag(descriptor, encoder.token_ids, encoder.token_weights.__getitem__)
    )


def test_the_like_of_each_word_counts_not_only_the_word(encoder) -> None:
    bags = {
        "same": _bag(encoder, "delete-photo", "Deletes a photo."),
        "alike": _bag(encoder, "remove-picture", "Removes a picture."),
        "other": _bag(encoder, "bake-bread", "Bakes a loaf of bread."),
    }
    scores = max_sim(encoder, "delete a photo", bags)
    assert scores["same"].query > scores["alike"].query > scores["other"].query
    assert scores["same"].name > scores["alike"].name > scores["other"].name


def test_what_a_description_says_beyond_the_query_counts_against_it(encoder) -> None:
    bags = {
        "short": _bag(encoder, "weather", "Tells the weather."),
        "long": _bag(
            encoder,
            "weather",
            "Tells the weather, tax rates, chess openings and the history of Peru.",
        ),
    }
    scores = max_sim(encoder, "tell me the weather", bags)
    assert scores["short"].description > scores["long"].description


def test_nothing_meets_where_nothing_is_known(encoder) -> None:
    assert max_sim(encoder, "", {"a": _bag(encoder, "x", "Tells the weather.")})["a"].query == 0.0
    assert max_sim(encoder, "weather", {"a": encode_bag(TokenBag())})["a"].query == 0.0
    assert (
        max_sim(encoder, "weather", {"a": b"", "b": _bag(encoder, "x", "Tells the weather.")})[
            "a"
        ].query
        == 0.0
    )
    assert max_sim(encoder, "weather", {}) == {}


def test_shares_stay_on_0_to_1(encoder) -> None:
    bags = {"a": _bag(encoder, "weather-weather", "weather weather weather 天气 погода")}
    for text in ("weather", "погода в Москве", "weather " * 500, "?!"):
        scores = max_sim(encoder, text, bags)["a"]
        assert all(
            0 <= share <= 1 + 1e-6 for share in (scores.query, scores.name, scores.description)
        )


@given(
    st.lists(PIECES, min_size=1, max_size=9, unique=True),
    st.lists(BAGS, min_size=1, max_size=5),
    st.lists(st.lists(st.integers(0, 8), max_size=9, unique=True), min_size=1, max_size=3),
)
def test_both_ways_give_the_same_sums(encoder, query_ids, bags, parts) -> None:
    encoded = [encode_bag(bag) for bag in bags if bag.name or bag.description or bag.body]
    places = [[at for at in part if at < len(query_ids)] for part in parts]
    ways = late_interaction.python_sums, late_interaction.numpy_sums
    from_lists, from_arrays = (
        [
            [tuple(map(tuple, sums)) for sums in sums_of_part]
            for sums_of_part in compute(encoder, query_ids, encoded, places)
        ]
        if encoded
        else []
        for compute in ways
    )
    assert from_arrays == from_lists


def test_a_clause_is_compared_as_if_it_were_asked_alone(encoder) -> None:
    bags = {
        "photo": _bag(encoder, "delete-photo", "Deletes a photo."),
        "bread": _bag(encoder, "bake-bread", "Bakes a loaf of bread."),
    }
    clauses = ["delete the photo", "bake some bread"]
    of_parts = max_sim_of_parts(encoder, [" and ".join(clauses), *clauses], bags)
    assert of_parts[1:] == [max_sim(encoder, clause, bags) for clause in clauses]


@given(IDS, IDS, IDS)
def test_an_encoded_bag_comes_back(name, description, body) -> None:
    bag = TokenBag(name, description, body)
    assert decode_bag(encode_bag(bag)) == bag
    assert decode_bag(b"") == TokenBag()
