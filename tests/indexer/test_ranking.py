"""Fusion and ranking, from scores to scores."""

from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval import fusion, late_interaction
from capdisc_indexer.retrieval.late_interaction import SIGNALS, Signal, add_signals
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

SCORES = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(0, 50, allow_nan=False), max_size=8
)
SHARES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1, allow_nan=False), max_size=8)
COSINES = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(-1, 1, allow_nan=False), max_size=8
)


@given(SCORES, COSINES)
def test_fused_scores_stay_on_0_to_1(lexical, vector) -> None:
    fused = fusion.fuse_channels(lexical, vector)
    assert all(0 <= score <= 1 for score in fused.values())


@given(SCORES, COSINES)
def test_fusion_ignores_the_order_of_its_input(lexical, vector) -> None:
    backwards = dict(reversed(lexical.items())), dict(reversed(vector.items()))
    assert fusion.order_scores(fusion.fuse_channels(lexical, vector)) == fusion.order_scores(
        fusion.fuse_channels(*backwards)
    )


def test_what_both_channels_like_comes_first() -> None:
    """Scores are added, not ranks, by which it found less."""
    fused = fusion.fuse_channels({"a": 10.0, "b": 9.0}, {"b": 0.9, "c": 0.8, "a": 0.1})
    assert fusion.order_scores(fused)[0][0] == "b"


def test_words_alone_rank_when_there_are_no_vectors() -> None:
    assert fusion.fuse_channels({"a": 4.0, "b": 2.0}, {}) == {"a": 1.0, "b": 0.5}


def test_equal_scores_come_in_order_of_ids() -> None:
    assert [key for key, _ in fusion.order_scores({"b": 0.5, "a": 0.5})] == ["a", "b"]


@given(st.lists(SCORES, min_size=1, max_size=4))
def test_several_queries_give_scores_on_0_to_1_in_any_order(rankings) -> None:
    scaled = [fusion.scale_by_maximum(scores) for scores in rankings]
    combined = fusion.combine_texts(scaled)
    assert all(0 <= score <= 1 + 1e-9 for score in combined.values())
    assert fusion.order_scores(combined) == fusion.order_scores(fusion.combine_texts(scaled[::-1]))


def test_agreement_of_two_queries_beats_one_alone() -> None:
    combined = fusion.combine_texts([{"a": 0.8, "b": 0.8}, {"a": 0.7}])
    assert combined["a"] > combined["b"]


def test_siblings_of_one_wish_do_not_stand_before_the_answer_to_another() -> None:
    text = {"invoice-1": 0.50, "invoice-2": 0.49, "invoice-3": 0.48, "weather": 0.40}
    ids = [*text, *(f"other-{number}" for number in range(6))]
    scores = dict.fromkeys(ids, 0.1) | text
    invoice = dict.fromkeys(ids, 0.2) | {key: 0.8 for key in text if key != "weather"}
    weather = dict.fromkeys(ids, 0.2) | {"weather": 0.8}
    covered = fusion.cover_clauses(scores, [invoice, weather], ids)
    assert [key for key, _ in fusion.order_scores(covered)[:4]] == [
        "invoice-1", "weather", "invoice-2", "invoice-3",
    ]  # fmt: skip


@given(SCORES, st.lists(SCORES, max_size=4))
def test_covered_scores_stay_on_0_to_1_and_lower_nobody(scores, clauses) -> None:
    scaled = fusion.scale_by_maximum(scores)
    clause_scores = [fusion.scale_by_maximum(clause) for clause in clauses]
    covered = fusion.cover_clauses(scaled, clause_scores, list(scaled))
    assert covered.keys() == scaled.keys()
    assert all(scaled[key] <= covered[key] <= 1 for key in scaled)


def test_coverage_weighs_rare_words_more() -> None:
    weights = {"invoice": 5.0, "send": 1.0}
    assert fusion.coverage(weights, frozenset({"invoice"})) > fusion.coverage(
        weights, frozenset({"send"})
    )


@given(SHARES, st.lists(SHARES, min_size=len(SIGNALS), max_size=len(SIGNALS)))
def test_scores_with_signals_stay_on_0_to_1(scores, values) -> None:
    by_name = {signal.name: shares for signal, shares in zip(SIGNALS, values, strict=True)}
    assert all(0 <= score <= 1 + 1e-9 for score in add_signals(scores, by_name).values())


def test_a_signal_of_weight_0_is_shown_and_changes_no_score(
    hermetic, write_skill, monkeypatch
) -> None:
    for name in ("weather", "calendar", "photos"):
        write_skill(hermetic / "skills", name, f"Looks up the {name} of a day. Use when asked.")
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    query, encoder = Query(texts=("weather of tomorrow",)), encoders.load_encoder()
    new_signal = Signal("is_named", 0.0, lambda compared: compared.header["name"] in compared.text)
    with Index(hermetic / "index") as index:
        before = search_index(index, query, encoder).hits
        monkeypatch.setattr(late_interaction, "SIGNALS", (*SIGNALS, new_signal))
        after = search_index(index, query, encoder).hits
    assert [(hit.id, hit.score, hit.relevance) for hit in after] == [
        (hit.id, hit.score, hit.relevance) for hit in before
    ]
    assert {hit.id: hit.signals.get("is_named") for hit in after}["skill:weather"] == 1
    assert [hit.id for hit in after if "is_named" in hit.signals] == ["skill:weather"]
