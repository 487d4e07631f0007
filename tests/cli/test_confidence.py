"""The confidence that search prints: how likely the first hit is right, for any kind of request."""

import pytest

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.retrieval import confidence

SURE = (
    "put two PDF files into one",
    "send the customer an invoice",
    "undo the last rollout",
    "how many euros are 200 dollars",
)
# Nothing here does these, though their words occur ("file", "customer", "table").
LACKING = (
    "book a table for two at an Italian restaurant",
    "what should I file my taxes as",
    "play some jazz in the kitchen",
    "is my customer allowed to smoke in a hotel room",
)
IN_OTHER_LANGUAGES = {
    "schick dem Kunden eine Rechnung": "tool:send-invoice",
    "traduis ce contrat en anglais": "skill:translate-document",
    "cambiar el tamaño de estas fotos": "skill:resize-images",
    "перезапусти сервис nginx": "tool:restart-service",
}


def read_confidence(capdisc, text: str) -> float:
    return capdisc("search", text, "--json").json["confidence"]


@pytest.mark.parametrize("text", SURE)
def test_a_clear_request_is_sure(capdisc, small, text) -> None:
    assert read_confidence(capdisc, text) > 0.7


def test_what_the_catalogue_lacks_is_less_sure_than_what_it_has(capdisc, small) -> None:
    """Shared words do not make an answer likely."""
    lacking = [read_confidence(capdisc, text) for text in LACKING]
    assert max(lacking) < 0.35
    assert max(lacking) < min(read_confidence(capdisc, text) for text in SURE)


@pytest.mark.parametrize("text", IN_OTHER_LANGUAGES)
def test_a_request_in_another_language_is_answered(capdisc, small, text) -> None:
    """No word of it matches, and that is no reason to refuse it."""
    found = capdisc("search", text, "--json").json
    assert found["hits"][0]["id"] == IN_OTHER_LANGUAGES[text]
    assert found["confidence"] > 0.2


def test_explain_prints_the_confidence_of_json(capdisc, small) -> None:
    value = read_confidence(capdisc, SURE[0])
    assert f"confidence {value:.2f}" in capdisc("search", SURE[0], "--explain").err


def test_made_up_words_are_refused(capdisc, small) -> None:
    for text in ("zorble frimp", "brabb skiftz", "quuxly"):
        found = capdisc("search", text, "--json")
        assert (found.code, found.json["hits"], found.json["confidence"]) == (1, [], 0)


def test_several_phrasings_are_as_sure_as_the_best(capdisc, small) -> None:
    several = capdisc("search", SURE[0], "--also", "join PDFs", "--json").json["confidence"]
    assert several > 0.7


def test_words_alone_have_a_confidence_too(capdisc, small) -> None:
    found = capdisc("search", SURE[0], "--mode", "lexical", "--json").json
    assert 0 < found["confidence"] <= 1


def test_the_calibration_is_small_and_fitted_to_the_shipped_table() -> None:
    """Another table needs another fit: tools/training/fit_calibration.py."""
    calibration = confidence.load_calibration()
    encoder = load_shipped_encoder()
    assert len(calibration.cohort) <= 200_000
    assert calibration.encoder == encoder.fingerprint
    assert calibration.weights.keys() == set(confidence.SIGNS)
    assert len(calibration.cohort) % encoder.dim == 0


def test_a_damaged_calibration_names_the_way_out(tmp_path) -> None:
    broken = tmp_path / "calibration.json"
    broken.write_text('{"format": 1}')
    with pytest.raises(EncoderError) as raised:
        confidence.load_calibration(broken)
    assert "reinstall" in raised.value.hint
