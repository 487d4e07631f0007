"""Rows of the five designs, typed as their documents have them: their keys, names and sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

Write = Callable[[str, str], Path]


@pytest.fixture
def write(hermetic, monkeypatch) -> Write:
    """Write a file of the catalogue `caps`: `write("github/SKILL.md", text)`."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def write_file(name: str, text: str) -> Path:
        path = hermetic / "caps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def test_a_query_is_split_or_not_as_one_chooses(capdisc, office, monkeypatch) -> None:
    """Clauses of a query are searched by themselves, --whole and the setting switch that off; hits
    have relations and the answer its confidence (S310)."""
    query = "translate this letter to French, then find a recipe for dinner"
    split = capdisc("search", query, "--json").json
    whole = capdisc("search", query, "--whole", "--json").json
    assert [hit["score"] for hit in split["hits"]] != [hit["score"] for hit in whole["hits"]]
    assert {"confidence", "categories"} <= split.keys()
    assert "via" in split["hits"][0]
    monkeypatch.setenv("CAPDISC_SPLIT_QUERIES", "off")
    assert capdisc("search", query, "--json").json["hits"] == whole["hits"]


TWINS = """capabilities:
- {name: send-letter, kind: tool, description: Sends a letter to a person.}
- {name: post-letter, kind: tool, description: Sends a letter to a person by post.}
- {name: fold-crane, kind: tool, description: Folds a paper crane.}
"""


def test_use_raises_only_where_one_asks_for_it(capdisc, write, monkeypatch) -> None:
    """--usage-boost raises what the log says was used; without it use changes nothing, and what
    does not fit is never raised (S310)."""
    write("CAPABILITY.yaml", TWINS)
    capdisc("index", "caps", "--quiet")
    monkeypatch.setenv("CAPDISC_LOG", "1")
    before = capdisc("search", "send a letter", "--json").json["hits"]
    second = before[1]["id"]
    for _ in range(5):
        capdisc("show", second)
        capdisc("show", "fold-crane")
    assert capdisc("search", "send a letter", "--json").json["hits"] == before
    boosted = capdisc("search", "send a letter", "--usage-boost", "1", "--json").json["hits"]
    assert boosted[0]["id"] == second
    assert "tool:fold-crane" not in [hit["id"] for hit in boosted[:2]]
    monkeypatch.setenv("CAPDISC_USAGE_BOOST", "1")
    assert capdisc("search", "send a letter", "--json").json["hits"] == boosted


def test_the_log_counts_what_is_searched_for_and_used(
    capdisc, write, hermetic, monkeypatch
) -> None:
    """With `log` on, `capdisc log --top` counts queries, hits and uses, --nothing-found lists what
    found nothing, and --export writes a set that `eval` reads; only its owner may read the log
    (S122, S248)."""
    write("CAPABILITY.yaml", TWINS)
    capdisc("index", "caps", "--quiet")
    capdisc("config", "set", "log", "true")
    for _ in range(2):
        capdisc("search", "fold a paper crane")
    capdisc("render", "send a letter")
    capdisc("tools", "send a letter", "--names")
    capdisc("search", "zxqv wvut")
    capdisc("session", "new", "s1")
    capdisc("search", "fold a paper crane", "--session", "s1")
    capdisc("session", "use", "s1", "fold-crane", "--ok")
    capdisc("show", "send-letter")
    top = capdisc("log", "--top", "-k", "2")
    assert (top.code, top.err) == (0, "")
    assert "     3  fold a paper crane" in top.out
    assert "     1  tool:fold-crane" in top.out.partition("used:")[2]
    assert capdisc("log", "--nothing-found").out == "     1  zxqv wvut\n"
    facts = capdisc("log", "--json").json
    assert (facts["is_on"], facts["requests"]) == (True, 6)
    path = Path(facts["log"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert capdisc("log", "--export", "set").code == 0
    measured = capdisc("eval", "set/queries.jsonl", "set/qrels.tsv", "--json")
    assert measured.code == 0
    assert "tool:fold-crane\t2" in (hermetic / "set" / "qrels.tsv").read_text()
    assert "tool:send-letter\t1" in (hermetic / "set" / "qrels.tsv").read_text()
    assert capdisc("log", "--clear").code == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            "base_tableList base_readQuery dba_tableSpace dba_userList plot_line_chart plot_pie hello",
            "base base dba dba plot plot td",
        ),
        (
            "sql_opt_plan sql_opt_cost base_tableList base_readQuery chat_ask bar_copy",
            "sql_opt sql_opt base base chat bar",
        ),
        ("create_issue create_page list_issues list_pages", "td td td td"),
        ("browser_click browser_type browser_close", "td td td"),
        (
            "base_tableList base_readQuery dba_a dba_b one two three four five",
            " ".join(["td"] * 9),
        ),
    ],
    ids=["prefixes", "longest prefix", "verbs", "one prefix for all", "few have one"],
)
def test_tools_of_a_server_are_filed_by_the_prefix_of_their_names(
    capdisc, write, names, expected
) -> None:
    """td.tools.json of a server: base_tableList, dba_* and plot_* are categories, and what is left
    over is filed under the server (S118)."""
    tools = [{"name": name, "description": f"Does {name}."} for name in names.split()]
    write("td.tools.json", json.dumps({"tools": tools}))
    assert capdisc("index", "caps", "--quiet").code == 0
    rows = capdisc("list", "--json").json["capabilities"]
    filed = {row["name"]: row["category"] for row in rows}
    assert [filed[name] for name in names.split()] == expected.split()


ON_THE_WEB = '[[source]]\nformat = "document"\npath = "https://example.com/handbook.md"\n'


def test_a_document_on_the_web_is_fetched_with_network_alone(
    capdisc, hermetic, monkeypatch
) -> None:
    """https://example.com/handbook.md in a [[source]] is fetched by `index --network`, never by a
    query or another build; an address of the workspace waits for trust (S39)."""
    from capdisc_indexer.text.strict_url import link_refusal
    from capdisc_run import download

    fetched: list[str] = []

    def fetch(url: str) -> download.FetchedDocument:
        fetched.append(url)
        if len(fetched) > 1:
            raise link_refusal(url, "answers 503")
        text = "# Turnips\n\nTurnips are watered on Mondays.\n"
        return download.FetchedDocument(text=text, url=url, content_type="text/markdown")

    monkeypatch.setattr(download, "fetch_document", fetch)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "capdisc.toml").write_text(ON_THE_WEB)
    assert "left out until you trust it" in capdisc("index", "--network").err
    assert fetched == []
    capdisc("trust", "--yes")
    done = capdisc("index")
    assert "https://example.com/handbook.md was not fetched yet" in done.err
    assert "capdisc index --network" in done.err
    question = ("search", "when are turnips watered", "--ids")
    assert (capdisc(*question).out, fetched) == ("", [])
    assert capdisc("index", "--network", "--quiet").code == 0
    assert fetched == ["https://example.com/handbook.md"]
    assert "handbook" in capdisc(*question).out
    failed = capdisc("index", "--network")
    assert (failed.code, "answers 503; not fetched; its last copy stays" in failed.err) == (
        0,
        True,
    )
    assert "handbook" in capdisc(*question).out
    assert len(fetched) == 2


HUB = [
    {
        "kind": "tool",
        "name": name,
        "description": f"Reads {about}.",
        "composedWith": [] if name == "hub" else ["hub"],
        "category": "hubs" if name == "hub" else "readers",
    }
    for name, about in (
        ("news", "the latest news headlines"),
        *((f"reader-{n}", f"number {n}") for n in range(6)),
        ("hub", "dispatches to others"),
    )
]


def test_the_graph_helps_and_does_not_take_over(capdisc, write) -> None:
    """A hub does not pass what fits, filters hold for what comes along, and the order of the
    catalogue changes no score (S183, S185, S186).
    """
    argv = ("search", "latest news headlines", "--json")
    write("CAPABILITY.yaml", yaml.safe_dump({"capabilities": HUB}))
    assert capdisc("index", "caps", "--quiet").code == 0
    first = capdisc(*argv).json["hits"]
    assert first[0]["id"] == "tool:news"
    assert "tool:hub" not in capdisc(*argv[:2], "--ids", "--exclude", "hub").out
    write("CAPABILITY.yaml", yaml.safe_dump({"capabilities": HUB[::-1]}))
    assert capdisc("index", "caps", "--quiet").code == 0
    assert [(hit["id"], hit["score"]) for hit in capdisc(*argv).json["hits"]] == [
        (hit["id"], hit["score"]) for hit in first
    ]


OPENCLAW = """homepage: https://cranes.example
user-invocable: false
metadata:
  openclaw: {os: [macos], always: true, emoji: "x", requires: {anyBins: [no-such-crane, cp], env: [CRANE]}}
"""


def test_what_a_skill_needs_of_the_machine_decides_where_it_can_be_used(
    capdisc, write, monkeypatch
) -> None:
    """System, programs and secrets decide whether a skill is available (S169)."""
    text = f"---\nname: folded\ndescription: Folds paper.\n{OPENCLAW}---\n\nFold it.\n"
    write("folded/SKILL.md", text)
    assert capdisc("index", "caps", "--quiet").code == 0
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


def test_words_that_nothing_knows_take_confidence_away(capdisc, small) -> None:
    """Unknown words lower the confidence, down to none (S254)."""
    asked = ("merge PDF files", "merge PDF quuxly", "frobnicate quuxly zorbleflux")
    sure = [capdisc("search", text, "--json").json["confidence"] for text in asked]
    assert sure[0] > sure[1] > sure[2] == 0


@pytest.mark.parametrize(
    "fields", ["os: [darwin]", "platforms: macos", "metadata: {openclaw: {os: [darwin]}}"]
)
def test_a_skill_of_another_system_is_not_available(
    capdisc, hermetic, monkeypatch, fields
) -> None:
    """`os` at the top of a SKILL.md, `platforms`, and `os` below metadata (S169)."""
    path = hermetic / ".claude" / "skills" / "mac-notes" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        f"---\nname: mac-notes\ndescription: Opens the notes application.\n{fields}\n---\nOpen.\n"
    )
    monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", "linux")
    assert "missing: only on darwin" in capdisc("search", "open notes").out
    assert capdisc("search", "open notes", "--available", "--ids").out == ""
    monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", "darwin")
    assert capdisc("search", "open notes", "--available", "--ids").out == "skill:mac-notes\n"


@pytest.mark.parametrize("engine", ["matrix", "lancedb"])
def test_ids_of_a_pattern_are_an_allow_list(capdisc, write, engine) -> None:
    """`--id 'tool:*'` in every command that filters; a pattern that fits nothing is told (S27)."""
    for kind, name in (("tool", "draw-map"), ("tool", "draw-tree"), ("skill", "draw-lines")):
        write(
            f"{name}/CAPABILITY.yaml", f"kind: {kind}\nname: {name}\ndescription: Draws things.\n"
        )
    capdisc("index", "caps", "--wait")
    found = capdisc("search", "draw things", "--id", "TOOL:*", "--ids", "--engine", engine)
    assert set(found.out.split()) == {"tool:draw-map", "tool:draw-tree"}
    assert capdisc("list", "--id", "*-tree", "--ids").out == "tool:draw-tree\n"
    assert "lines" not in capdisc("render", "draw things", "--id", "tool:*").out
    unknown = capdisc("search", "draw things", "--id", "table:*")
    assert (unknown.code, "unknown id 'table:*'" in unknown.err) == (2, True)
