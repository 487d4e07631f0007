"""capdisc graph: how capabilities belong together."""

import json

import pytest

from product_lists import GRAPH_DRAWINGS


def test_the_relations_of_one_come_heaviest_first_with_their_direction(capdisc, small) -> None:
    """Relations are listed by weight, each with its direction and declaring field (S177, S182)."""
    done = capdisc("graph", "render-pdf")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["capability", "capability", "weight", "by"]
    assert lines[1].split() == [
        "tool:render-pdf",
        "→",
        "REQUIRES",
        "tool:read-template",
        "1",
        "requires",
    ]
    assert lines[2].split() == [
        "tool:render-pdf",
        "←",
        "REQUIRES",
        "tool:send-invoice",
        "1",
        "requires",
    ]
    assert lines[3].split()[1:4] == ["→", "TAKES_INPUT_FROM", "tool:read-template"]
    assert "–" in lines[4]


def test_json_holds_nodes_edges_and_what_leads_nowhere(capdisc, small) -> None:
    """JSON has nodes, all kinds of edges and what is unresolved (S181)."""
    found = capdisc("graph", "send-invoice", "--depth", "2", "--json").json
    assert found["schema_version"] == 1
    assert found["ids"] == ["tool:send-invoice"]
    depths = {node["id"]: node["depth"] for node in found["nodes"]}
    assert (depths["tool:send-invoice"], depths["tool:read-template"]) == (0, 2)
    kinds = {
        each["kind"]
        for each in found["edges"]
        if {each["source"], each["target"]} == {"term:net-30", "tool:send-invoice"}
    }
    assert kinds == {"TAGGED_WITH", "RELATED"}
    assert capdisc("graph", "roll-back-deploy", "--format", "json").json["unresolved"][0] == {
        "kind": "REQUIRES", "source": "skill:roll-back-deploy", "target": "Bash", "why": "allowed-tools",
    }  # fmt: skip


def test_what_leads_nowhere_is_said(capdisc, small) -> None:
    """An allowed tool that the index lacks is named on stderr (S54, S177)."""
    assert (
        "lead to nothing in the index: Bash (by allowed-tools)"
        in capdisc("graph", "roll-back-deploy").err
    )


def test_a_discovery_tool_leads_somewhere(capdisc, hermetic) -> None:
    """A skill may allow the tools that `capdisc call` answers, which no index holds (S54)."""
    skill = hermetic / ".constat" / "skills" / "finance" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(
        "---\nname: finance\ndescription: Reads accounts.\nallowed-tools: list_tables, Grep\n---\n\nX.\n"
    )
    done = capdisc("graph", "finance", "--json")
    assert [edge["target"] for edge in done.json["unresolved"]] == ["Grep"]
    assert "list_tables" not in capdisc("graph", "finance").err


def test_numbers(capdisc, small) -> None:
    """Statistics count capabilities and edges, in JSON as in text (S182)."""
    facts = capdisc("graph", "--stats", "--json").json
    assert facts["capabilities"] == 34
    assert facts["edges"] == sum(facts["kinds"].values())
    assert f"edges         {facts['edges']}" in capdisc("graph", "--stats").out


def test_edges_can_be_chosen_by_kind_and_weight(capdisc, small) -> None:
    found = capdisc("graph", "--edge", "requires", "--json").json
    assert {each["kind"] for each in found["edges"]} == {"REQUIRES"}
    found = capdisc("graph", "--min-weight", "0.6", "--json").json
    assert min(each["weight"] for each in found["edges"]) >= 0.6
    done = capdisc("graph", "--edge", "likes")
    assert done.code == 2
    assert "REQUIRES" in done.err


def test_a_limit_says_what_it_leaves_out(capdisc, small) -> None:
    done = capdisc("graph", "-k", "3", "--json")
    assert len(done.json["nodes"]) == 3
    assert done.json["left_out"]["capabilities"] > 0
    assert "left out: " in done.err


def test_a_foreign_key_leads_from_the_table_that_has_it(capdisc, hermetic) -> None:
    """A foreign key is an edge from the table that has it to the one it refers to (S22)."""
    (hermetic / "shop.sql").write_text(
        "create table songs (id int primary key, title text);"
        "create table sales (id int primary key, song_id int references songs(id));"
    )
    capdisc("index", "shop.sql")
    edge = capdisc("graph", "table:shop.songs", "--edge", "refers-to", "--json").json["edges"][0]
    assert (edge["source"], edge["target"], edge["directed"]) == (
        "table:shop.sales",
        "table:shop.songs",
        True,
    )
    shown = capdisc("graph", "table:shop.songs", "--edge", "refers-to").out.splitlines()[1].split()
    assert shown[:4] == ["table:shop.songs", "←", "REFERS_TO", "table:shop.sales"]
    assert (
        "n0 -->|"
        in capdisc("graph", "table:shop.sales", "--edge", "refers-to", "--format", "mermaid").out
    )


@pytest.mark.parametrize("name", GRAPH_DRAWINGS)
def test_pictures(capdisc, small, name) -> None:
    """The graph is drawn as DOT and as Mermaid (S182)."""
    done = capdisc("graph", "render-pdf", "--depth", "2", "--format", name)
    assert done.code == 0
    assert "tool:read-template" in done.out


def test_one_without_relations_is_status_one(capdisc, small) -> None:
    done = capdisc("graph", "set-thermostat")
    assert (done.code, done.out) == (1, "")
    assert "no relations found" in done.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("no-such-thing",), "there is no capability"),
        (("--format", "svg"), "unknown format"),
        (("--stats", "--format", "dot"), "are numbers"),
    ],
)
def test_mistakes_are_usage_errors(capdisc, small, argv, message) -> None:
    done = capdisc("graph", *argv)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_related_ones_join_a_search_on_request(capdisc, small) -> None:
    """--expand adds related hits that name the hit they came through (S268, S279)."""
    plain = capdisc("search", "render a PDF from a template", "-k", "1", "--json").json
    more = capdisc(
        "search", "render a PDF from a template", "-k", "1", "--expand", "3", "--json"
    ).json
    added = more["hits"][1:]
    assert [hit["id"] for hit in plain["hits"]] == [more["hits"][0]["id"]]
    assert added
    assert {hit["via"] for hit in added} == {more["hits"][0]["id"]}
    assert (
        "related to "
        in capdisc("search", "render a PDF from a template", "-k", "1", "--expand", "3").out
    )


def test_the_graph_is_derived_from_files_alone(capdisc, small, hermetic) -> None:
    """Asking for the graph writes nothing (S311)."""
    home = hermetic.parent / "home"
    before = set(home.rglob("*"))
    first = capdisc("graph", "--json").out
    capdisc("search", "book a room")
    assert capdisc("graph", "--json").out == first
    assert json.loads(first)["edges"]
    assert set(home.rglob("*")) == before
