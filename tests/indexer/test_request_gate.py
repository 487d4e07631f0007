"""The gate's model belongs to the shipped encoder, is small, and fails towards answering."""

import pytest

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER, StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval import request_gate, verdict
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from case_rows import read_rows


@pytest.fixture
def index(small):
    with Index(small) as opened:
        yield opened


def judge(index, *texts, encoder=None):
    used = encoder or load_shipped_encoder()
    return search_index(index, Query(texts=texts), used).gate


def test_the_model_is_small_and_fitted_to_the_shipped_table() -> None:
    """Another table needs another fit: tools/training/fit_gate.py."""
    assert request_gate.MODEL_FILE.stat().st_size <= 100_000
    assert request_gate.load_gate_model().encoder == load_shipped_encoder().fingerprint


def test_a_request_beside_talk_is_a_request(index) -> None:
    """Several texts are one turn: one of them that asks for something is enough."""
    assert judge(index, "send the customer an invoice").is_request
    assert judge(index, "ok", "send the customer an invoice").is_request


@pytest.mark.parametrize(
    "text", ["send the customer an invoice", "thanks!", "pdf", "ok go on " * 40]
)
def test_a_process_with_numpy_decides_as_one_without(index, monkeypatch, text) -> None:
    lazy_imports.numpy()
    parts = judge(index, text, encoder=StaticEncoder(MODEL_FOLDER)).parts
    monkeypatch.setattr(lazy_imports, "numpy_if_loaded", lambda: None)
    assert judge(index, text, encoder=StaticEncoder(MODEL_FOLDER)).parts == parts


def test_the_parts_of_a_decision_have_names(index) -> None:
    parts = judge(index, "send the customer an invoice").parts
    assert {"text", "cosine", "coverage", "relevance", "confidence", "lead"} <= set(parts)
    assert 0 <= parts["text"] <= 1


def test_without_the_shipped_encoder_everything_found_is_answered(index, monkeypatch) -> None:
    def fail() -> None:
        raise EncoderError("gone", "")

    monkeypatch.setattr(verdict, "load_shipped_encoder", fail)
    ranking = search_index(index, Query(texts=("thanks for the invoice",)), None)
    assert ranking.hits and ranking.gate.is_request


def test_a_damaged_model_says_so(tmp_path) -> None:
    path = tmp_path / "gate.json"
    path.write_text("{}")
    with pytest.raises(EncoderError, match="damaged"):
        request_gate.load_gate_model(path)


@pytest.mark.parametrize("text", ["", " ", "?", "\ud800", "x" * 10_000, "好", "\u200b"])
def test_any_text_has_a_logit(text) -> None:
    model, encoder = request_gate.load_gate_model(), load_shipped_encoder()
    assert -100 < request_gate.text_logit(model, encoder, text) < 100


@pytest.mark.parametrize(("text", "is_request"), read_rows(__file__, "pasted"))
def test_a_request_is_one_whatever_is_pasted_beside_it(index, text, is_request) -> None:
    """Above or below a mail, before a block of code, and code without a word. Others: talk.txt."""
    assert judge(index, text).is_request is is_request
