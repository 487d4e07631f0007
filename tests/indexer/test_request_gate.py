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


def test_nothing_found_is_no_request_for_anything_here(index) -> None:
    decision = judge(index, "xyzzy plugh")
    assert (decision.is_request, decision.score) == (False, 0.0)
    assert decision.reason == "unknown-words"


def test_a_decision_says_why_a_turn_gets_nothing(index) -> None:
    assert judge(index, "send the customer an invoice").reason == ""
    assert judge(index, "thanks a lot!").reason == "talk"
    assert judge(index, "knit a green sweater").reason == "unknown-words"


def test_a_request_in_another_language_is_not_one_of_unknown_words(index) -> None:
    """All of its words are unknown here, and its meaning is not."""
    decision = judge(index, "schick dem Kunden eine Rechnung")
    assert decision.is_request and decision.parts["unknown"] == 1


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


LONG_MAIL = (
    "Dear all, please find the minutes of yesterday below. We met at ten and left at noon. " * 60
)
TALK = (
    "THANKS A LOT!!!",
    "thnaks for your help",
    "lol",
    "👍",
    "🎉🎉",
    "...",
    "12",
    "b)",
    "continue",
    "yes, do it",
    "make it shorter",
    "report_v3.docx",
    "src/parser.py:120",
    "/compact",
    "```python\nprint(convert_image('a.png'))\n```",
)
REQUESTS = (
    "MERGE THESE TWO PDF FILES",
    "mereg these two pdf files into one",
    "thanks, now merge the pdfs",
    "ok great! next, send the customer an invoice",
    "/merge-pdfs a.pdf b.pdf",
    "merge-pdfs",
    f"{LONG_MAIL}\n\nTranslate this mail into French",
    f"Translate this mail into French:\n\n{LONG_MAIL}",
    "convert this picture to png\n```\nhttps://example.org/a.jpg\n```",
)


@pytest.mark.parametrize("text", TALK)
def test_what_asks_for_nothing_is_talk_however_it_is_typed(index, text) -> None:
    """Capitals, slips, emoji, a bare file name, a client's own command, code without a word."""
    assert not judge(index, text).is_request


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_is_one_however_it_is_typed_and_whatever_stands_beside_it(index, text) -> None:
    """Behind thanks, above or below a pasted text, in capitals, by the name of a capability."""
    assert judge(index, text).is_request


@pytest.mark.parametrize("text", ["", " ", "?", "\ud800", "x" * 10_000, "好", "\u200b"])
def test_any_text_has_a_logit(text) -> None:
    model, encoder = request_gate.load_gate_model(), load_shipped_encoder()
    assert -100 < request_gate.text_logit(model, encoder, text) < 100
