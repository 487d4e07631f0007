"""Turns that ask for nothing get no capabilities; requests get them as before."""

import re

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


# A turn that the search alone would answer: only there the gate has anything to do.
ANSWERED_TALK = TALK[-1]
# By what it shows: the words, the exit status, whether anything is printed, what is said on stderr, what is not.
DOORS = {
    "what is kept out is said": (("render", "--tier", "1,2"), 0, False, "--gate off", "gate:"),
    "and can be had": (("render", "--tier", "1", "--gate", "off"), 0, True, "", "talk|gate"),
    "search without the gate": (
        ("search", "--explain", "--gate", "off"), 0, True, "", "talk|gate:",
    ),
    "the overview stays": (("render",), 0, True, "printed the overview alone", ""),
    "nothing found to --on-empty": (("render", "--on-empty", "error"), 1, False, "", ""),
    "search answers a person": (
        ("search", "--explain"), 0, True, "gate: no request", "like talk",
    ),
    "diagnostics": (("render", "--diagnostics"), 0, True, "gate: no request", ""),
    # `--on-empty all` is for requests that nothing fits.
    "not the whole catalogue": (
        ("render", "--tier", "1", "--on-empty", "all"), 0, False, "", "",
    ),
    "words alone are judged": (
        ("render", "--mode", "lexical", "--tier", "1,2"), 0, False, "", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_talk_at_each_door(capdisc, small, door) -> None:
    words, code, is_printed, said, unsaid = DOORS[door]
    done = capdisc(*words, ANSWERED_TALK)
    assert (done.code, bool(done.out.strip())) == (code, is_printed)
    assert said in done.err and not (unsaid and re.search(unsaid, done.err))
    if door in ("what is kept out is said", "the overview stays"):
        assert len(done.err.splitlines()) == 1


def test_the_overview_was_asked_for_and_stays(capdisc, small) -> None:
    overview = capdisc("render", ANSWERED_TALK, "--tier", "0")
    assert capdisc("render", ANSWERED_TALK).out == overview.out


def test_programs_read_the_decision_in_json(capdisc, small) -> None:
    for command in ("search", "render"):
        request, talk = (
            capdisc(command, text, "--json").json["gate"] for text in (REQUESTS[0], ANSWERED_TALK)
        )
        assert request["is_request"] is True and 0.5 < request["score"] <= 1
        assert talk["is_request"] is False and 0 <= talk["score"] < request["score"]
        for text in (REQUESTS[0], ANSWERED_TALK):
            assert capdisc(command, text, "--json", "--gate", "off").json["gate"] is None
    talk = capdisc("render", ANSWERED_TALK, "--json", "--diagnostics").json["gate"]
    assert "text" in talk["parts"]
    failed = capdisc("render", ANSWERED_TALK, "--on-empty", "error", "--json")
    assert (failed.code, failed.json["gate"]["is_request"]) == (1, False)


def test_a_request_is_answered_where_talk_is_not(capdisc, small) -> None:
    assert "gate: request" in capdisc("search", REQUESTS[0], "--explain").err
    assert capdisc("render", "knit a green sweater", *DOORS["not the whole catalogue"][0][1:]).out
    assert capdisc("render", REQUESTS[1], *DOORS["words alone are judged"][0][1:]).out.strip()


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
    bare = f"{capdisc('tools', '--names').out}discover_capabilities\n"
    for query in (ANSWERED_TALK, UNKNOWN):
        kept_out = capdisc("tools", query, "--names")
        assert kept_out.out == bare and "--gate off" in kept_out.err
        answered = capdisc("tools", query, "--names", "--gate", "off")
        assert answered.out != bare or "also found, but not functions" in answered.err
    shown = capdisc("search", REQUESTS[0], "--ids", "-k", "5").out.split()
    names = capdisc("tools", REQUESTS[0], "--names").out.removeprefix(bare).split()
    assert names and {f"tool:{name}" for name in names} <= set(shown)
