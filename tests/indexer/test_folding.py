"""Catalogues in other languages than English: a word is found with other endings."""

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.embedding_text import is_english
from case_rows import read_rows

SKILLS = {
    "rechnung": "Erstellt eine Rechnung und verschickt sie an den Kunden.",
    "wetter": "Sagt die Vorhersage für morgen und die nächsten Tage.",
    "faktury": "Wystawia fakturę dla klienta i wysyła ją pocztą.",
    "pogoda": "Prognoza pogody na jutro oraz na kolejne dni.",
    "schet": "Создаёт счёт для заказчика и отправляет его по почте.",
    "invoices": "Creates the invoice for an order and mails it to the customer.",
}


@pytest.fixture
def catalogue(hermetic, write_skill):
    for name, description in SKILLS.items():
        write_skill(hermetic / "skills", name, description)
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    return hermetic / "index"


@pytest.mark.parametrize(
    ("query", "expected"),
    read_rows(__file__, "another_ending_finds_the_word_by_words_alone"),
)
def test_another_ending_finds_the_word_by_words_alone(catalogue, query, expected) -> None:
    """A word with another ending finds by words alone, in four languages (S260)."""
    with Index(catalogue) as index:
        assert (
            search_index(index, Query(texts=(query,)), None, "lexical").hits[0].id
            == f"skill:{expected}"
        )


@pytest.mark.parametrize("text", [*list(SKILLS.values())[:5]])
def test_other_languages_are_told_from_english(text) -> None:
    assert not is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Creates the invoice for an order.",
        "PDF to text",
        "",
        "Retrieve live giveaways from the GamerPower API",
        "Look up a café menu in the naïve way and show it to the user",
        "El Niño forecasts for the next season, by region",
    ],
)
def test_english_and_names_are_left_alone(text) -> None:
    assert is_english(text)


def test_a_name_is_found_in_both_languages(hermetic, write_skill) -> None:
    write_skill(
        hermetic / "skills",
        "bote",
        "Schickt eine Nachricht über Telegram an die Gruppe und den Chef.",
    )
    write_skill(
        hermetic / "skills",
        "notifier",
        "Sends a message by Telegram to the group and to the boss.",
    )
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    with Index(hermetic / "index") as index:
        ranking = search_index(index, Query(texts=("telegram",)), None, "lexical")
    assert {hit.id for hit in ranking.hits} == {"skill:bote", "skill:notifier"}


def test_an_unknown_english_word_is_not_folded_onto_another(catalogue) -> None:
    with Index(catalogue) as index:
        assert search_index(index, Query(texts=("invoiceless",)), None, "lexical").unmatched == (
            "invoiceless",
        )
