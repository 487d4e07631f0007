"""Turns that ask for nothing get no capabilities; requests get them as before."""

import pytest

TALK = (
    "thanks!",
    "Yes, please go on.",
    "no, the other one",
    "that's all for today, thank you",
    "haha, very funny",
    "why did you do that?",
    "danke, das war's",
    "oui, continue",
    "no, gracias",
    "спасибо, это всё",
    "好的，谢谢",
    "もう一度お願いします",
)
REQUESTS = (
    "book a room for Tuesday",
    "send the customer an invoice",
    "convert this picture to png",
    "schick dem Kunden eine Rechnung",
    "thanks, now translate the contract into French",
)


@pytest.mark.parametrize("text", TALK)
def test_talk_prints_nothing(capdisc, small, text) -> None:
    printed = capdisc("render", text, "--tier", "1,2", "--budget", "1200")
    assert (printed.code, printed.out.strip()) == (0, "")


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_prints_what_it_printed_without_the_gate(capdisc, small, text) -> None:
    gated = capdisc("render", text, "--tier", "1,2", "--budget", "1200")
    assert (
        gated.out
        == capdisc("render", text, "--tier", "1,2", "--gate", "off", "--budget", "1200").out
    )
    assert gated.out.strip()


def find_talk_with_hits(capdisc) -> str:
    """A turn that the search alone would answer: only there the gate has anything to do."""
    return next(
        text
        for text in TALK
        if capdisc("render", text, "--tier", "1", "--gate", "off").out.strip()
    )


def test_what_the_gate_keeps_out_is_said_and_can_be_had(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    kept_out = capdisc("render", text, "--tier", "1,2")
    assert kept_out.out.strip() == "" and "--gate off" in kept_out.err
    assert len(kept_out.err.splitlines()) == 1
    assert "--gate off" not in capdisc("render", text, "--tier", "1,2", "--gate", "off").err


def test_the_overview_was_asked_for_and_stays(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    rendered = capdisc("render", text)
    assert rendered.out == capdisc("render", text, "--tier", "0").out
    assert "printed the overview alone" in rendered.err and len(rendered.err.splitlines()) == 1


def test_without_the_gate_nothing_says_that_it_decided(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    for command in (("render", "--tier", "1"), ("search", "--explain")):
        done = capdisc(*command, text, "--gate", "off")
        assert done.code == 0 and done.out
        assert "talk" not in done.err and "gate:" not in done.err
    assert capdisc("search", text, "--gate", "off", "--json").json["gate"] is None


def test_talk_is_nothing_found_to_on_empty(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    failed = capdisc("render", text, "--on-empty", "error")
    assert (failed.code, failed.out) == (1, "")


def test_search_prints_what_a_person_typed_and_says_what_it_is(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    found = capdisc("search", text, "--explain")
    assert found.code == 0 and found.out.strip()
    assert "like talk" in found.err and "gate: no request" in found.err
    request = capdisc("search", REQUESTS[0], "--explain")
    assert "like talk" not in request.err and "gate: request" in request.err


def test_programs_read_the_decision_in_json(capdisc, small) -> None:
    request = capdisc("search", REQUESTS[0], "--json").json["gate"]
    assert request["is_request"] is True and 0.5 < request["score"] <= 1
    talk = capdisc("search", find_talk_with_hits(capdisc), "--json").json["gate"]
    assert talk["is_request"] is False and 0 <= talk["score"] < request["score"]
    assert capdisc("search", REQUESTS[0], "--json", "--gate", "off").json["gate"] is None


def test_render_has_the_decision_in_json_too(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    assert capdisc("render", REQUESTS[0], "--json").json["gate"]["is_request"] is True
    talk = capdisc("render", text, "--json", "--diagnostics").json["gate"]
    assert talk["is_request"] is False and "text" in talk["parts"]
    assert capdisc("render", text, "--json", "--gate", "off").json["gate"] is None
    assert "gate: no request" in capdisc("render", text, "--diagnostics").err


def test_talk_does_not_print_the_whole_catalogue(capdisc, small) -> None:
    """`--on-empty all` is for requests that nothing fits."""
    argv = ("--tier", "1", "--on-empty", "all")
    assert not capdisc("render", "thanks!", *argv).out.strip()
    assert capdisc("render", "knit a green sweater", *argv).out.strip()


def test_words_alone_are_judged_too(capdisc, small) -> None:
    argv = ("--mode", "lexical", "--tier", "1,2")
    assert capdisc("render", REQUESTS[1], *argv).out.strip()
    assert not capdisc("render", "thanks!", *argv).out.strip()


@pytest.mark.parametrize("command", ["render", "search"])
def test_another_gate_is_refused(capdisc, small, command) -> None:
    refused = capdisc(command, REQUESTS[0], "--gate", "maybe")
    assert refused.code == 2 and "auto, off" in refused.err
