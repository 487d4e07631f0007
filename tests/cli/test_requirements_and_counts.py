"""What a line says a capability requires, and figures that agree with what is printed."""

from __future__ import annotations

import pytest

CATALOGUE = """capabilities:
- {kind: tool, name: publish, description: Publishes an article., requires: [spell-check]}
- {kind: tool, name: translate, description: Translates an article.,
   edges: [{target: "tool:spell-check", type: REQUIRES, weight: 0.8}]}
- {kind: tool, name: archive, description: Archives an article.,
   edges: [{target: "tool:spell-check", type: DEPENDS_ON}, {target: "tool:publish", type: RELATED}]}
- {kind: tool, name: spell-check, description: Checks spelling., composedWith: [publish]}
"""
SKILL = """---
name: edit
description: Edits an article.
dependencies: [spell-check]
---
Edit it.
"""


@pytest.fixture
def articles(capdisc, hermetic) -> None:
    (hermetic / "articles" / "edit").mkdir(parents=True)
    (hermetic / "articles" / "CAPABILITY.yaml").write_text(CATALOGUE)
    (hermetic / "articles" / "edit" / "SKILL.md").write_text(SKILL)
    capdisc("index", "articles", "--quiet")


@pytest.mark.parametrize("name", ["publish", "translate", "archive", "edit"])
def test_a_line_says_what_is_required_however_it_is_declared(capdisc, articles, name) -> None:
    """`requires`, `edges` of the types REQUIRES and DEPENDS_ON and `dependencies` are named in
    Tier 1 and Tier 2, and come along with the hit (S65, S135, S168, S184).
    """
    lines = capdisc("render", f"{name} an article", "--tier", "1", "--budget", "2000").out
    (line,) = [line for line in lines.splitlines() if f":{name}: " in line]
    assert "Requires: " in line and "spell-check" in line
    # Of what has a line alone the body is not read.
    alone = capdisc(
        "render", f"{name} an article", "--tier", "1", "--tier-top", "2=0", "--budget", "2000"
    )
    assert line in alone.out.splitlines()
    details = capdisc("render", f"{name} an article", "--tier", "2").out
    assert "spell-check" in details.partition("Requires: ")[2].partition("\n")[0]
    hits = capdisc("search", f"{name} an article", "--json").json["hits"]
    assert any(hit["id"] == "tool:spell-check" for hit in hits)


@pytest.mark.parametrize("tokenizer", ["o200k", "chars4"])
def test_the_reported_total_is_that_of_the_text(capdisc, articles, tokenizer) -> None:
    """`tokenEstimate.total` equals `tokens`, whatever counts them (S143, S144)."""
    argv = ("render", "publish an article", "--tokenizer", tokenizer)
    printed = capdisc(*argv, "--format", "json").json
    assert printed["tokenEstimate"]["total"] == printed["tokens"]


def test_a_full_prompt_saves_nothing_and_loses_nothing(capdisc, articles) -> None:
    """`--model claude-2` prints everything: tokens and static_tokens are equal (S10)."""
    printed = capdisc("render", "--model", "claude-2", "--json").json
    assert (printed["style"], printed["use_tools"], printed["model"]) == (
        "full",
        False,
        "claude-2",
    )
    assert printed["tokens"] == printed["static_tokens"]
    assert printed["savings_percent"] == 0


def test_every_answer_counts_the_same_edges(capdisc, articles) -> None:
    """graphNodes and graphEdges of the overview are those of `graph --stats` (S207)."""
    overview = capdisc("call", "get_data_overview").json
    stats = capdisc("graph", "--stats", "--json").json
    assert (overview["graphNodes"], overview["graphEdges"]) == (5, stats["edges"])
    assert overview["capabilityCount"] == stats["capabilities"]
