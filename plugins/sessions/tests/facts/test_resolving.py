"""Questions of fact, answered or asked back."""

import pytest

from capdisc_indexer.model.errors import InputError
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


def test_only_what_was_read_is_named_as_a_source_and_nothing_outside_is_asked(call) -> None:
    """Neither the web nor a model is a source (S47)."""
    for question in (*dict(ANSWERED), *UNANSWERED):
        checked = call("resolve_fact", question=question)["sources_checked"]
        assert checked[0] == "facts"
        assert all(":" in each for each in checked[1:])


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
