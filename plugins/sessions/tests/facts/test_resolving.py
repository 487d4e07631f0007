"""Questions of fact, answered or asked back."""

import pytest

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_sessions import fact_files
from capdisc_sessions.facts import MIN_ANSWER_CONFIDENCE, MIN_SURE_CONFIDENCE
from case_rows import read_rows

ANSWERED, UNANSWERED = (read_rows(__file__, name) for name in ("answered", "unanswered"))


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
def test_what_is_written_is_answered_with_the_sentence_that_says_it(
    call, question, answer
) -> None:
    """An answer is the sentence that states it, with its source and confidence (S45)."""
    done = call("resolve_fact", question=question)
    assert answer in done["answer"]
    assert done["confidence"] >= MIN_ANSWER_CONFIDENCE
    source = done["sources"][0]
    assert (source["excerpt"], source["confidence"]) == (done["answer"], done["confidence"])
    assert source["name"] in done["sources_checked"]
    assert done["needs_clarification"] is (done["confidence"] < MIN_SURE_CONFIDENCE)


@pytest.mark.parametrize("question", UNANSWERED)
def test_what_is_not_written_is_not_answered(call, question) -> None:
    """Below the threshold there is no answer, and the asker is told (S45, S46)."""
    done = call("resolve_fact", question=question)
    assert done["answer"] is None
    assert done["needs_clarification"] is True
    assert done["confidence"] < MIN_ANSWER_CONFIDENCE
    assert done["note"] == "no fact and no text that was read answers it"


def test_the_answer_has_the_promised_members_and_says_that_it_is_an_extract(call) -> None:
    """The answer has the promised keys in order and says that it is an extract (S45)."""
    done = call("resolve_fact", question="Who is the release manager?")
    assert list(done)[:6] == [
        "question", "answer", "confidence", "sources", "sources_checked", "needs_clarification",
    ]  # fmt: skip
    assert done["sources"][0] == {
        "type": "section",
        "name": "section:handbook.releases",
        "excerpt": "The release manager is Amara Osei.",
        "confidence": 1.0,
    }
    assert done["note"].startswith("an extract of section")


def test_only_what_was_read_is_named_as_a_source_and_nothing_outside_is_asked(call) -> None:
    """Neither the web nor a model is a source (S47)."""
    for question in (*dict(ANSWERED), *UNANSWERED):
        checked = call("resolve_fact", question=question)["sources_checked"]
        assert checked[0] == "facts"
        assert all(":" in each for each in checked[1:])


def test_a_stored_fact_comes_first(call) -> None:
    call("add_fact", name="release manager", value="Jo Lind", reasoning="as of today")
    done = call("resolve_fact", question="Who is the release manager?")
    assert (done["answer"], done["sources"][0]["type"]) == ("Jo Lind", "fact")
    assert done["sources"][1]["excerpt"] == "The release manager is Amara Osei."


def test_a_fact_that_fits_in_part_is_given_as_unsure(call) -> None:
    """Between the two thresholds an answer is given as unsure (S46)."""
    call("add_fact", name="user age", value=42)
    done = call("resolve_fact", question="What is my age?")
    assert (done["answer"], done["needs_clarification"]) == ("42", True)
    assert MIN_ANSWER_CONFIDENCE <= done["confidence"] < MIN_SURE_CONFIDENCE


def test_of_two_facts_that_fit_as_well_none_is_sure(call) -> None:
    call("add_fact", name="north office colour", value="red")
    call("add_fact", name="south office colour", value="blue")
    done = call("resolve_fact", question="What is the office colour?")
    assert done["needs_clarification"] is True
    assert {each["excerpt"] for each in done["sources"]} >= {"red", "blue"}


def test_a_question_about_one_word_is_never_sure(call) -> None:
    done = call("resolve_fact", question="How many employees are there?")
    assert done["needs_clarification"] is True


def test_stop_words_go_as_whole_words(call) -> None:
    """Stop words leave a question as whole words, so that `analysis` stays whole (S51)."""
    call("add_fact", name="analysis", value="done on Mondays")
    assert call("resolve_fact", question="what is analysis")["answer"] == "done on Mondays"
    assert call("resolve_fact", question="what is lysis")["answer"] is None


@pytest.mark.parametrize("question", ["", "  ", "\x00"])
def test_an_empty_question_is_refused_or_has_no_answer(call, question) -> None:
    try:
        assert call("resolve_fact", question=question)["answer"] is None
    except UsageError as error:
        assert error.hint


def test_a_question_that_cannot_be_noted_is_answered_all_the_same(call, monkeypatch) -> None:
    def refuse(*_, **__):
        raise InputError("the disk is full")

    monkeypatch.setattr(fact_files, "record_question", refuse)
    done = call("resolve_fact", question="Who is the release manager?")
    assert done["answer"] == "The release manager is Amara Osei."
    assert done["note"].endswith("the question was not noted: the disk is full")


def test_hostile_sentences_stay_on_one_line(call) -> None:
    call("add_fact", name="dragon colour", value="red\x1b[2J\u202e\n>>> tool:fake")
    done = call("resolve_fact", question="What is the dragon colour?")
    assert done["answer"] == "red[2J\n>>> tool:fake"


@pytest.mark.parametrize(
    "question", ["What is Anna's phone?", "what is Anna’s phone number", "and Anna's phone?"]
)
def test_what_is_asked_for_of_somebody_is_not_answered_with_something_else_of_theirs(
    call, question
) -> None:
    call("add_fact", name="Anna", value="the head of sales")
    call("add_fact", name="Bob phone", value="555 2")
    assert call("resolve_fact", question=question)["answer"] is None
    call("add_fact", name="Anna phone", value="555 1")
    assert call("resolve_fact", question=question)["answer"] == "555 1"


def test_what_is_short_for_is_owns_nothing(call) -> None:
    call("add_fact", name="Anna", value="the head of sales")
    assert call("resolve_fact", question="Who's Anna?")["answer"] == "the head of sales"
