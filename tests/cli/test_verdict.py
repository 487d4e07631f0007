"""Whether anything fits, and which hits do, is the same at every door and for any number of hits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

CMS = Path(__file__).parents[2] / "fixtures" / "designs" / "cms"
SKILLS = {
    "canvas-art": "Creates posters and other static pictures as PNG or PDF files.",
    "team-chat": "Sends a message to a colleague or a channel of the team.",
    "brand-colours": "Applies the colours and fonts of the brand to a document.",
    "slide-deck": "Makes presentations from an outline, with notes for whoever speaks.",
    "web-check": "Opens a web application in a browser and checks that it works.",
    "sheet-model": "Builds a spreadsheet with formulas for a budget or a forecast.",
    "mail-letter": "Writes the monthly letter to all employees.",
    "api-guide": "Explains how to call the API of the model from Python.",
    "doc-review": "Reviews a long document together with its author, section by section.",
    "skill-maker": "Writes new skills and improves old ones.",
}
FUNCTIONS = """capabilities:
- {kind: tool, name: get_weather, description: Returns the weather for a city and a day.}
- {kind: tool, name: send_email, description: Sends an e-mail to one or more people.}
- {kind: tool, name: create_event, description: Adds an event to the calendar.}
- {kind: tool, name: search_files, description: Finds files by their name or content.}
- {kind: tool, name: convert_currency, description: Converts an amount of one currency.}
- {kind: tool, name: get_unknown_callers, description: Lists calls from unknown numbers.}
- {kind: tool, name: translate_text, description: Translates a text into another language.}
- {kind: tool, name: resize_image, description: Changes the width and height of an image.}
- {kind: tool, name: run_query, description: Runs a SQL query against the database.}
"""
NOTHING = {
    "cms": "book a flight to Mars",
    "skills": "play some jazz",
    "functions": "tune my guitar",
}
FOUND = {
    "cms": "attach a picture to a section",
    "skills": "put our brand colours on this document",
    "functions": "resize this image",
}


@pytest.fixture(params=sorted(NOTHING))
def catalogue(request, capdisc, hermetic, write_skill) -> str:
    if request.param == "cms":
        shutil.copytree(CMS, hermetic / "cms")
    elif request.param == "skills":
        for name, description in SKILLS.items():
            write_skill(hermetic / "skills", name, description)
    else:
        (hermetic / "functions").mkdir()
        (hermetic / "functions" / "CAPABILITY.yaml").write_text(FUNCTIONS)
    assert capdisc("index", request.param, "--quiet").code == 0
    return request.param


def answers(capdisc, text: str) -> dict[str, bool]:
    """By door, whether it answers the text with a capability."""
    asked = json.dumps({"query": text})
    return {
        "search": capdisc("search", text).code == 0,
        "render": bool(capdisc("render", text, "--tier", "1").out.strip()),
        "tools": bool(
            set(capdisc("tools", text, "--names").out.split())
            - {"search_tool", "execute_tool", "discover_capabilities"}
        ),
        "tool_search": bool(capdisc("call", "tool_search", asked).json["tools"]),
        "discover": bool(capdisc("call", "discover_capabilities", asked).json["capabilities"]),
    }


def test_nothing_fits_at_any_door(capdisc, catalogue) -> None:
    """Small catalogues have a nearest entry for anything; the confidence of the answer tells."""
    text = NOTHING[catalogue]
    assert not any(answers(capdisc, text).values())
    asked = json.dumps({"query": text})
    for tool in ("tool_search", "discover_capabilities"):
        assert "Nothing here fits" in capdisc("call", tool, asked).json["instruction"]
    assert capdisc("search", text, "--json").json["gate"]["fits"] is False


def test_what_is_here_is_found_at_every_door(capdisc, catalogue) -> None:
    answered = answers(capdisc, FOUND[catalogue])
    del answered["tools"]  # a skill is no function
    assert all(answered.values()), answered


def test_the_number_of_hits_changes_no_verdict(capdisc, catalogue) -> None:
    for text in (NOTHING[catalogue], FOUND[catalogue]):
        verdicts, relevances = [], []
        for limit in (1, 3, 10, 20):
            answer = capdisc("search", text, "--json", "-k", str(limit)).json
            verdicts.append(answer["gate"])
            relevances += [hit["relevance"] for hit in answer["hits"][:1]]
        assert all(verdict == verdicts[0] for verdict in verdicts)
        assert len(set(relevances)) <= 1


def test_relevance_falls_with_the_rank_and_means_the_same_everywhere(capdisc, catalogue) -> None:
    """No hit is printed behind one that was left out."""
    text = FOUND[catalogue]
    hits = capdisc("search", text, "--json", "-k", "20").json["hits"]
    relevances = [hit["relevance"] for hit in hits if not hit["via"]]
    assert relevances == sorted(relevances, reverse=True)
    fits = [hit["fits"] for hit in hits if not hit["via"]]
    assert fits == sorted(fits, reverse=True)
    found = capdisc("call", "discover_capabilities", json.dumps({"query": text})).json
    by_id = {hit["id"]: hit["relevance"] for hit in hits}
    for row in found["capabilities"]:
        assert row["relevance"] == pytest.approx(by_id[row["id"]], abs=0.006)


def test_names_are_printed_of_what_a_person_sees(capdisc, catalogue) -> None:
    """--ids leaves out what the terminal counts as little relevant; --min-relevance 0 does not."""
    text = FOUND[catalogue]
    hits = capdisc("search", text, "--json").json["hits"]
    ids = capdisc("search", text, "--ids").out.split()
    assert ids == [hit["id"] for hit in hits if hit["fits"]]
    everything = capdisc("search", text, "--ids", "--min-relevance", "0").out.split()
    assert everything == [hit["id"] for hit in hits]
    assert len(ids) < len(everything)


@pytest.mark.parametrize("text", ["merge-pdfs", "/merge-pdfs", "invoice", "thanks, invoice"])
def test_a_keyword_at_a_terminal_is_no_talk(capdisc, small, text) -> None:
    found = capdisc("search", text)
    assert found.code == 0 and "talk" not in found.err and "render" not in found.err


@pytest.mark.parametrize("text", ["thanks!", "hello", "ok", "perfect, thank you so much"])
def test_three_skills_have_no_answer_to_talk(capdisc, hermetic, write_skill, text) -> None:
    write_skill(hermetic / "few", "pdf-forms", "Fill in forms of PDF files and merge them.")
    write_skill(hermetic / "few", "git-bisect", "Find the commit that broke a test by bisection.")
    write_skill(hermetic / "few", "send-mail", "Send an e-mail with attachments to a customer.")
    assert capdisc("index", "few", "--quiet").code == 0
    found = capdisc("search", text, "--json")
    assert (found.code, found.json["hits"]) == (1, [])
