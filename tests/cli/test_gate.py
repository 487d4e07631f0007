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
    as_json = capdisc("render", text, "--on-empty", "error", "--json")
    assert (as_json.code, as_json.json["gate"]["is_request"]) == (1, False)


def test_search_answers_whatever_a_person_typed(capdisc, small) -> None:
    text = find_talk_with_hits(capdisc)
    found = capdisc("search", text, "--explain")
    assert found.code == 0 and found.out.strip()
    assert "like talk" not in found.err and "gate: no request" in found.err
    assert "gate: request" in capdisc("search", REQUESTS[0], "--explain").err


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


UNKNOWN = "knit a green sweater"
"""No capability of the small catalogue mentions knitting or sweaters."""


def test_a_request_for_what_no_capability_mentions_gets_nothing_and_says_why(
    capdisc, small
) -> None:
    """What remains of it ("green") fits something, and by accident."""
    rendered = capdisc("render", UNKNOWN, "--tier", "1,2")
    assert rendered.out.strip() == "" and len(rendered.err.splitlines()) == 1
    assert "no capability mentions: knit, sweater" in rendered.err
    assert "talk" not in rendered.err and "--gate off" in rendered.err
    assert capdisc("render", UNKNOWN, "--tier", "1", "--gate", "off").out.strip()
    document = capdisc("render", UNKNOWN, "--json").json
    assert document["gate"]["reason"] == "unknown-words"
    assert document["unmatched"] == ["knit", "sweater"]


def test_search_says_the_same(capdisc, small) -> None:
    found = capdisc("search", UNKNOWN)
    assert (found.code, found.out) == (1, "")
    assert found.err.splitlines()[:2] == [
        "nothing fits",
        "no capability mentions: knit, sweater",
    ]
    assert capdisc("search", UNKNOWN, "--gate", "off").out


def test_words_that_are_unknown_beside_a_good_fit_are_said(capdisc, small) -> None:
    query = "send the zorglub customer an invoice"
    rendered = capdisc("render", query, "--tier", "1")
    assert "send-invoice" in rendered.out
    assert rendered.err.splitlines()[0] == "notice: no capability mentions: zorglub"
    assert rendered.err.splitlines()[0] in capdisc("search", query).err


@pytest.mark.parametrize("text", ["xyzzy plugh", "brabb skiftz glonqlm"])
def test_made_up_words_are_not_called_talk(capdisc, small, text) -> None:
    for command in (("render", "--tier", "1"), ("tools",)):
        done = capdisc(*command, text)
        assert f"no capability mentions: {', '.join(text.split())}" in done.err
        assert "talk" not in done.err


@pytest.mark.parametrize(
    "text",
    [
        "rename variable foo to bar",
        "the build is broken, have a look",
        "look up a function",
        "delete the old branches",
    ],
)
def test_a_command_is_never_called_talk(capdisc, small, text) -> None:
    """Whether anything here fits it is another question."""
    for command in (("render", "--tier", "1"), ("search",), ("tools",)):
        assert "talk" not in capdisc(*command, text).err
    assert capdisc("search", text, "--json").json["gate"]["reason"] != "talk"


def test_definitions_of_tools_have_the_same_gate_and_level_as_search(capdisc, small) -> None:
    """Otherwise an agent gets unrelated functions to call."""
    text = find_talk_with_hits(capdisc)
    bare = f"{capdisc('tools', '--names').out}discover_capabilities\n"
    for query in (text, UNKNOWN):
        kept_out = capdisc("tools", query, "--names")
        assert kept_out.out == bare and "--gate off" in kept_out.err
        answered = capdisc("tools", query, "--names", "--gate", "off")
        assert answered.out != bare or "found too, and no functions" in answered.err
    shown = capdisc("search", REQUESTS[0], "--ids", "-k", "5").out.split()
    names = capdisc("tools", REQUESTS[0], "--names").out.removeprefix(bare).split()
    assert names and {f"tool:{name}" for name in names} <= set(shown)
