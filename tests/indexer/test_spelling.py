"""Misspelt and joined words find the words that the catalogue has."""

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.query_analysis import content_clauses, remove_payload
from capdisc_indexer.store.snapshot import Index
from case_rows import read_rows


@pytest.fixture
def catalogue(hermetic, write_skill):
    skills = {
        "merge-pdf": "Joins several documents into one.",
        "kubernetes-rollout": "Deploys a container image to a cluster.",
        "invoice-archive": "Files bills by customer.",
        "weather-forecast": "Tells tomorrow's rain and wind.",
    }
    for name, description in skills.items():
        write_skill(hermetic / "skills", name, f"{description} Use when asked.")
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    return hermetic / "index"


@pytest.mark.parametrize(
    ("typed", "expected"),
    read_rows(__file__, "a_slip_of_the_finger_and_a_squeezed_name_still_find_it"),
)
def test_a_slip_of_the_finger_and_a_squeezed_name_still_find_it(
    catalogue, typed, expected
) -> None:
    with Index(catalogue) as index:
        by_words = search_index(index, Query(texts=(typed,)), None, "lexical")
        both = search_index(index, Query(texts=(typed,)), encoders.load_encoder())
    assert by_words.hits[0].id == both.hits[0].id == f"skill:{expected}"
    assert by_words.unmatched == ()


def test_a_word_like_no_other_stays_unmatched(catalogue) -> None:
    with Index(catalogue) as index:
        assert search_index(index, Query(texts=("xylophone",)), None, "lexical").unmatched == (
            "xylophone",
        )


def test_a_known_word_is_never_read_as_another_one(catalogue, hermetic, write_skill) -> None:
    write_skill(
        hermetic / "skills", "rains-log", "Counts rainy days. Use when asked about drains."
    )
    build_index([hermetic / "skills"], catalogue, BuildOptions())
    with Index(catalogue) as index:
        ranking = search_index(index, Query(texts=("drains",)), None, "lexical")
    assert [hit.id for hit in ranking.hits] == ["skill:rains-log"]


@pytest.mark.parametrize(
    ("text", "parts"),
    read_rows(__file__, "clauses"),
)
def test_clauses(text, parts) -> None:
    assert content_clauses(text) == tuple(parts)


@pytest.mark.parametrize(
    ("payload", "kind"),
    read_rows(__file__, "what_a_long_request_hands_over_is_left_out"),
)
def test_what_a_long_request_hands_over_is_left_out(payload, kind) -> None:
    request = f"please read what I paste here, {payload} and tell me in a few words what to do"
    assert remove_payload(request).split() == request.replace(payload, " ").split()
    assert payload in remove_payload(f"what is {payload}")


def test_a_request_that_is_all_payload_stays_as_it_is() -> None:
    request = '"one two three four five six seven eight nine ten eleven twelve thirteen"'
    assert remove_payload(request) == request


def test_twelve_clauses_are_read_and_no_more() -> None:
    names = "one two three four five six seven eight nine ten eleven twelve thirteen".split()
    clauses = content_clauses(". ".join(f"water plant {name}" for name in names))
    assert len(clauses) == 12
    assert clauses[-1] == "water plant twelve"


def test_each_of_two_wishes_finds_its_own(catalogue) -> None:
    """Each part of a two-part query finds its own, at every size (S271)."""
    with Index(catalogue) as index:
        wish = "put the papers into one file, and also tell me whether I need an umbrella because of rain"
        ranking = search_index(index, Query(texts=(wish,)), encoders.load_encoder())
    assert {hit.id for hit in ranking.hits[:2]} == {"skill:merge-pdf", "skill:weather-forecast"}


def test_scripts_that_write_vowels_as_marks_are_found_by_words_alone(
    catalogue, hermetic, write_skill
) -> None:
    write_skill(hermetic / "skills", "mausam", "कल के मौसम की जानकारी देता है।")
    build_index([hermetic / "skills"], catalogue, BuildOptions())
    with Index(catalogue) as index:
        ranking = search_index(index, Query(texts=("मौसम की जानकारी",)), None, "lexical")
    assert ranking.hits[0].id == "skill:mausam"
    assert ranking.unmatched == ()


def test_blanks_and_dots_without_end_cost_nothing() -> None:
    for run in (" ", ".", ",", "\n", "! "):
        assert len(content_clauses("merge these" + run * 200_000 + "send them")) <= 2


def test_a_typo_finds_its_word_beside_a_text_in_another_language(
    catalogue, hermetic, write_skill
) -> None:
    write_skill(
        hermetic / "skills",
        "ausrollen",
        "Spielt ein Abbild auf Kubernetes und in den Verbund ein.",
    )
    build_index([hermetic / "skills"], catalogue, BuildOptions())
    with Index(catalogue) as index:
        ranking = search_index(index, Query(texts=("kubernetse",)), None, "lexical")
    assert {hit.id for hit in ranking.hits} == {"skill:kubernetes-rollout", "skill:ausrollen"}


def test_short_names_are_not_taken_for_made_up_words() -> None:
    encoder = encoders.load_shipped_encoder()
    assert encoder.has_known_word("CI/CD")
    assert encoder.has_known_word("UI")
    assert not encoder.has_known_word("zorbl frimq")


@pytest.mark.parametrize(
    ("typed", "expected", "corrections"),
    read_rows(__file__, "words_and_meaning_are_searched_for_what_a_mistyped_word_means"),
)
def test_words_and_meaning_are_searched_for_what_a_mistyped_word_means(
    catalogue, typed, expected, corrections
) -> None:
    with Index(catalogue) as index:
        ranking = search_index(index, Query(texts=(typed,)), encoders.load_encoder())
    assert ranking.hits[0].id == f"skill:{expected}"
    assert corrections.items() <= ranking.corrections.items()
    assert not set(corrections) & set(ranking.unmatched)


@pytest.mark.parametrize(
    "text",
    [
        "sue the customer",  # words that the catalogue lacks and the encoder knows
        "files of the playwright",
        "tell EDDF and the KLAX of rain",  # codes
        "documents in src/clsuter or clsuter.py",  # paths
        "xyzzy plugh",
        "wie wird das wetter morgen in hamburg",
        "ajouter un formulaire de contact",
        "ajouter les ventes de mars dans la facture pour un client",
        "write an invoice for Mrs Schmid",  # a name
    ],
)
def test_what_may_be_a_word_is_not_read_as_another_one(catalogue, text) -> None:
    with Index(catalogue) as index:
        ranking = search_index(index, Query(texts=(text,)), encoders.load_encoder())
    assert ranking.corrections == {}
    assert ranking.query.texts == (text,)


def test_code_in_a_request_is_left_alone(catalogue) -> None:
    code = "```\ndef proc(fname, lsts, nums, rslt, strm, weathr, invoce, clstr, dcmnts):\n    pass\n```"
    typed = f"please look at this function:\n{code}\nand then write the invoice for the custmer, as told"
    with Index(catalogue) as index:
        ranking = search_index(index, Query(texts=(typed,)), encoders.load_encoder())
    assert ranking.corrections == {"custmer": "customer"}
