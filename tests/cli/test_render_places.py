"""The file of every line can be opened, though its path stands there once."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"- (?P<id>[^ ]+?):? ")


def lines_of_hits(printed: str) -> str:
    return printed.partition("Relevant capabilities:\n")[2].partition("--- Detailed")[0]


def read_places(printed: str) -> dict[str, str]:
    """The path of each capability of tier 1, as a reader follows it."""
    places: dict[str, str] = {}
    rules: dict[str, str] = {}
    identifier = ""
    for line in lines_of_hits(printed).splitlines():
        if found := LINE.match(f"{line} "):
            identifier = found["id"]
            places[identifier] = ""
        elif line.startswith("  "):
            kind, _, pattern = line.strip().rpartition(":NAME is in ")
            if line.endswith(" below"):
                kind, pattern = (
                    identifier.partition(":")[0],
                    line.strip().partition(", as each ")[0],
                )
            if kind:
                rules[kind] = pattern
            else:
                places[identifier] = pattern
    for identifier in [identifier for identifier, path in places.items() if not path]:
        kind, _, name = identifier.partition(":")
        places[identifier] = rules[kind].replace("NAME", name)
    return places


@pytest.mark.parametrize("budget", [100, 150, 400, 1_500])
@pytest.mark.parametrize("words", ["send the customer an invoice", "book a room for Tuesday"])
def test_each_file_can_be_opened(capdisc, small, words, budget) -> None:
    printed = capdisc("render", words, "--budget", str(budget)).out
    places = read_places(printed)
    assert len(places) > 1
    for identifier, path in places.items():
        text = (ROOT / path).read_text()
        assert identifier.partition(":")[2].replace("-", " ") in text.replace("-", " ").lower()
    assert lines_of_hits(printed).count("NAME is in") <= 2


def test_tools_of_one_file_name_it_once(capdisc, hermetic) -> None:
    tools = [
        {"name": f"{verb}_page", "description": f"{verb.title()} a page of the site."}
        for verb in ("create", "publish", "delete", "move", "rename")
    ]
    (hermetic / "site.tools.json").write_text(json.dumps({"tools": tools}))
    capdisc("index", "site.tools.json")
    printed = capdisc("render", "delete a page", "--budget", "200", "--tier", "1").out
    assert printed.count("site.tools.json") == 1
    assert "site.tools.json, as each tool below" in printed
    assert set(read_places(printed).values()) == {"site.tools.json"}


def test_json_has_the_path_of_each_result_and_a_small_budget_names_the_best(
    capdisc, small
) -> None:
    for budget in ("80", "150", "800"):
        document = capdisc("render", "merge pdf files", "--json", "--budget", budget).json
        blocks = [
            block for tier in document["tiers"] if tier["level"] == 1 for block in tier["blocks"]
        ]
        assert blocks[0]["id"] == "skill:merge-pdfs"
        for block in blocks:
            assert (ROOT / block["path"]).is_file() and "NAME is in" not in block["text"]


def test_what_does_not_fit_fills_no_budget(capdisc, small) -> None:
    """Nothing is printed behind the hits that fit, however large the budget."""
    words = "merge pdf files"
    hits = capdisc("search", words, "--json", "-k", "100").json["hits"]
    fitting = {hit["id"] for hit in hits if hit["fits"]}
    assert 0 < len(fitting) < len(hits)
    printed = capdisc("render", words, "--budget", "6000", "--tier", "1").out
    assert set(read_places(printed)) == fitting


def test_the_short_line_is_the_sentence_that_fits_the_request(
    capdisc, hermetic, write_skill
) -> None:
    """Once such lines said "This skill should be used when the user asks to…", whatever was asked."""
    folder = hermetic / ".claude" / "skills"
    write_skill(
        folder,
        "dossier",
        "Collects what is known about a company from public registers and reports. "
        "Compare balance sheets of several years and draw the figures as charts.",
    )
    write_skill(
        folder,
        "atlas",
        "This skill should be used when the user asks to draw balance figures of countries on a map.",
    )
    for number in range(6):
        write_skill(folder, f"other-{number}", f"Draws charts of the balance of river {number}.")
    assert capdisc("index").code == 0
    done = capdisc("render", "compare balance sheets of several years", "--budget", "50")
    assert "skill:dossier: Compare balance sheets of several years and draw…" in done.out
    done = capdisc("render", "draw figures of countries on a map", "--budget", "50")
    assert "skill:atlas: draw balance figures of countries on a map." in done.out
    done = capdisc("render", "which company is it, from public registers", "--budget", "50")
    assert "skill:dossier: Collects what is known about a company" in done.out
