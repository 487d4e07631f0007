"""Needs of the designs that no other test shows, each on the smallest catalogue that can."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

Index = Callable[..., None]

CRANES = (
    {"name": "crane", "description": "Lifts loads at a building site."},
    {"name": "lifter", "description": "Moves a crane onto a truck."},
    {
        "name": "stove",
        "description": "Heats a pan in the kitchen.",
        "phrases": ["I am hungry for dumplings"],
    },
)


@pytest.fixture
def indexed(capdisc, hermetic, monkeypatch) -> Index:
    """Index tools that are given as mappings, and a skill if its front matter is."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def make(*tools: dict, skill: str = "") -> None:
        folder = hermetic / "caps" / "folded"
        folder.mkdir(parents=True)
        if tools:
            given = [{"kind": "tool", **one} for one in tools]
            (folder.parent / "CAPABILITY.yaml").write_text(yaml.safe_dump({"capabilities": given}))
        if skill:
            (folder / "SKILL.md").write_text(
                f"---\nname: folded\ndescription: Folds paper.\n{skill}---\n\nFold it.\n"
            )
        assert capdisc("index", "caps", "--quiet").code == 0

    return make


def test_what_a_client_adds_to_a_skill_is_shown_and_nothing_more(capdisc, indexed) -> None:
    """Hints for a client are shown, and no agent is started (S66)."""
    indexed(skill="context: fork\nagent: Explore\nmodel: small\n")
    extra = capdisc("show", "folded", "--json").json["capabilities"][0]["extra"]
    assert extra == {"context": "fork", "agent": "Explore", "model": "small"}


OPENCLAW = """homepage: https://cranes.example
user-invocable: false
metadata:
  openclaw: {os: [macos], always: true, emoji: "x", requires: {anyBins: [no-such-crane, cp], env: [CRANE]}}
"""


def test_what_a_skill_needs_of_the_machine_decides_where_it_can_be_used(
    capdisc, indexed, monkeypatch
) -> None:
    """System, programs and secrets decide whether a skill is available (S169)."""
    indexed(skill=OPENCLAW)
    monkeypatch.setenv("CRANE", "x")

    def on(system: str) -> bool:
        monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", system)
        hits = capdisc("search", "fold paper", "--available", "--ids").out.split()
        shown = capdisc("show", "folded", "--json").json["capabilities"][0]
        assert shown["available_here"] is ("skill:folded" in hits)
        assert shown["extra"].keys() == {"homepage", "user-invocable", "metadata"}
        return shown["available_here"]

    assert on("darwin")
    assert not on("linux")
    assert "[missing: only on darwin]" in capdisc("render", "fold paper").out
    monkeypatch.setenv("PATH", "/nowhere")
    assert not on("darwin")
    assert "[missing: no-such-crane|cp]" in capdisc("render", "fold paper").out


def test_a_name_may_be_said_with_its_category(capdisc, indexed) -> None:
    """`category/name` names a capability, and a wrong category does not (S67)."""
    indexed(skill="category: paper craft\n")
    assert "Id: skill:folded" in capdisc("show", "paper craft/folded").out
    assert capdisc("show", "metal/folded").code == 2


def test_skills_alone_at_most_so_many_and_none_where_nothing_fits(capdisc, small) -> None:
    """A search for skills keeps its limit and may find none (S68, S256)."""
    asked = ("search", "turn a document into another language", "--kind", "skill", "-k", "3")
    heads = capdisc(*asked, "--json").json["hits"]
    assert 0 < len(heads) <= 3
    assert {head["kind"] for head in heads} == {"skill"}
    assert "relevance" in capdisc(*asked, "--explain").out
    nothing = capdisc("search", "frobnicate the quuxly zorbleflux", "--kind", "skill", "--json")
    assert (nothing.code, nothing.json["hits"], nothing.json["confidence"]) == (1, [], 0)


def test_words_that_nothing_knows_take_confidence_away(capdisc, small) -> None:
    """Unknown words lower the confidence, down to none (S254)."""
    asked = ("merge PDF files", "merge PDF quuxly", "frobnicate quuxly zorbleflux")
    sure = [capdisc("search", text, "--json").json["confidence"] for text in asked]
    assert sure[0] > sure[1] > sure[2] == 0


def test_what_is_encoded_is_what_it_does_and_never_what_it_needs_to_know(capdisc, indexed) -> None:
    """Phrases and parameters are encoded, no secret and no body (S170, S172, S266)."""
    schema = {
        "type": "object",
        "properties": {"paperSize": {"type": "string", "description": "A4 or letter."}},
    }
    tool = {
        "name": "fold-it",
        "description": "Folds.",
        "category": "craft",
        "tags": ["paper"],
        "phrases": ["a crane"],
    }
    indexed(
        {
            **tool,
            "requiredSecrets": ["FOLD_KEY"],
            "skillContent": "Long steps.",
            "inputSchema": schema,
        }
    )
    assert capdisc("show", "fold-it", "--embedding-text").out.splitlines() == [
        "fold it: Folds. craft paper paper Size",
        "a crane",
    ]


def test_a_word_of_the_name_counts_more_than_one_of_the_description(capdisc, indexed) -> None:
    indexed(*CRANES)
    assert capdisc("search", "crane", "--mode", "lexical", "--ids").out.split() == [
        "tool:crane",
        "tool:lifter",
    ]


@pytest.mark.parametrize("query", ["hero", "find hero image", "ZDJĘCIE", "zdjecie"])
def test_part_of_a_squeezed_name_and_a_word_with_or_without_accents_find(
    capdisc, indexed, query
) -> None:
    """Part of a camel-case name finds, and a word finds with or without its accents (S260)."""
    indexed(*CRANES, {"name": "findHeroImage", "description": "Dodaje zdjęcie na stronę."})
    assert (
        capdisc("search", query, "--mode", "lexical", "--ids").out.split()[0]
        == "tool:findHeroImage"
    )


def test_words_alone_need_no_model(capdisc, indexed, monkeypatch) -> None:
    """A search by words needs no model and gives no notice (S264)."""
    indexed(*CRANES)
    monkeypatch.setenv("CAPDISC_ENCODER", "/no/such/model")
    found = capdisc("search", "crane", "--mode", "lexical", "--json")
    assert (found.err, found.json["degraded"], found.json["hits"][0]["id"]) == (
        "",
        [],
        "tool:crane",
    )


def test_a_phrase_finds_its_capability_and_is_not_printed(capdisc, indexed) -> None:
    """A phrase finds its capability and is not printed (S277)."""
    indexed(*CRANES)
    assert capdisc("search", "hungry for dumplings", "--ids").out.split()[0] == "tool:stove"
    shown = capdisc("render", "hungry for dumplings").out
    assert "tool:stove" in shown
    assert "dumplings" not in shown


def test_a_need_that_nothing_meets_is_answered_by_nothing(capdisc, indexed) -> None:
    """A query that nothing meets finds nothing and names its words (S200, S316)."""
    indexed(*CRANES)
    found = capdisc("search", "send gmail", "--json")
    assert (found.code, found.json["hits"], found.json["unmatched"]) == (1, [], ["send", "gmail"])
    assert "crane" not in capdisc("tools", "send gmail").out


def test_an_option_wins_over_the_environment_and_that_over_a_file(
    capdisc, small, hermetic, monkeypatch
) -> None:
    """An option wins over the environment, and that over capdisc.toml (S191, S201)."""
    (hermetic / "capdisc.toml").write_text("limit = 1\n")
    asked = ("search", "merge PDF files", "--ids")
    counts = [len(capdisc(*asked).out.split())]
    monkeypatch.setenv("CAPDISC_LIMIT", "2")
    counts += [len(capdisc(*asked).out.split()), len(capdisc(*asked, "-k", "3").out.split())]
    assert counts == [1, 2, 3]


def test_more_is_looked_at_than_is_shown(capdisc, office) -> None:
    """A hundred candidates by words and as many by vectors are scanned for one summary (S188)."""
    found = capdisc("render", "plan the week", "--json", "--tier-top", "1=1", "--diagnostics").json
    assert found["diagnostics"]["candidatesScanned"] >= 50


def test_numbers_of_the_index_and_of_its_relations(capdisc, small) -> None:
    """`status` counts the index and `graph --stats` its relations (S207)."""
    held, drawn = capdisc("status", "--json").json, capdisc("graph", "--stats", "--json").json
    assert held["capabilities"] == drawn["capabilities"] == 34
    assert held["generation"] >= 1
    assert drawn["edges"] > 0


def test_without_the_graph_nothing_comes_along(capdisc, small) -> None:
    """With --mode no-graph no hit comes through another one (S187)."""
    found = capdisc("search", "send the customer an invoice", "--mode", "no-graph", "--json").json[
        "hits"
    ]
    assert not any(hit.get("via") for hit in found)


def test_every_kind_that_the_designs_name_is_one(capdisc, indexed) -> None:
    """Each kind of the designs is known, with `general` as its category (S153), and channels with
    `communication` (S151)."""
    # The kinds that the designs name are the assertion; the product knows more.
    kinds = "tool skill extension channel voice productivity emergent-tool database table api operation document term"
    indexed(
        *(
            {"kind": kind, "name": f"some-{kind}", "description": f"Is a {kind}."}
            for kind in kinds.split()
        )
    )
    listed = capdisc("list", "--json").json["capabilities"]
    assert {each["kind"] for each in listed} == set(kinds.split())
    categories = {each["kind"]: each["category"] for each in listed}
    assert categories.pop("channel") == "communication"
    assert set(categories.values()) == {"general"}


def test_a_name_that_the_title_does_not_say_is_encoded_with_it(capdisc, indexed) -> None:
    """The embedding text is `Display (name)` where the two differ (S170)."""
    indexed(
        {"name": "page_finder", "displayName": "Web Search", "description": "Looks around."},
        {"name": "fold-crane", "displayName": "Fold crane!", "description": "Looks around."},
    )
    shown = capdisc("show", "page_finder", "--embedding-text").out
    assert shown.startswith("Web Search (page finder): Looks around.")
    assert capdisc("show", "fold-crane", "--embedding-text").out.startswith("Fold crane!: ")
