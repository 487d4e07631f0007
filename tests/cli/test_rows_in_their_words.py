"""Rows of the five designs, typed as their documents have them: their keys, names and sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

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


TOOLS = """capabilities:
- {name: cli-executor, kind: tool, description: Runs a program in a shell.}
- {name: web-search, kind: tool, description: Finds pages on the web.}
"""


def write_skill_with(write: Write, line: str) -> None:
    write(
        "github/SKILL.md",
        f"---\nname: github\ndescription: Lists issues and pull requests of GitHub.\n{line}\n---\n\nUse gh.\n",
    )
    write("CAPABILITY.yaml", TOOLS)


@pytest.mark.parametrize(
    "line",
    [
        "requiredTools: [cli-executor]",
        "requires: [cli-executor]",
        "requires: tool:cli-executor",
        "dependencies: [cli-executor]",
        "allowed-tools: cli-executor",
        "metadata:\n  requiredTools: cli-executor",
    ],
)
def test_a_skill_brings_the_tools_that_its_front_matter_names(capdisc, write, line) -> None:
    """requiredTools, requires, dependencies and allowed-tools of a SKILL.md are edges of `graph`,
    and a search that finds the skill brings the tool along (S177, S184)."""
    write_skill_with(write, line)
    assert capdisc("index", "caps", "--quiet").code == 0
    edges = capdisc("graph", "github", "--edge", "REQUIRES", "--json").json["edges"]
    assert [(edge["source"], edge["target"]) for edge in edges] == [
        ("skill:github", "tool:cli-executor")
    ]
    found = capdisc("search", "list github issues", "--json").json["hits"]
    assert ("tool:cli-executor", "skill:github") in [(hit["id"], hit["via"]) for hit in found]
    assert "required by skill:github" in capdisc("search", "list github issues").out
    assert "unknown" not in capdisc("validate", "caps").out


def test_what_a_program_needs_is_no_capability(capdisc, write) -> None:
    """`requires` as OpenClaw writes it lists programs, and no relation comes of it."""
    write_skill_with(write, "requires: {bins: [cli-executor]}")
    assert capdisc("index", "caps", "--quiet").code == 0
    assert capdisc("graph", "github", "--edge", "REQUIRES", "--json").json["edges"] == []


def test_related_tools_is_a_key_of_a_manifest(capdisc, write) -> None:
    """`relatedTools` names tools that --expand adds, without a warning (S279, S268)."""
    write(
        "CAPABILITY.yaml",
        "capabilities:\n"
        "- {name: cms_getPage, kind: tool, description: Reads one page of a site.,"
        " relatedTools: [cms_publish]}\n"
        "- {name: cms_publish, kind: tool, description: Makes a draft visible.}\n"
        "- {name: fold-crane, kind: tool, description: Folds a paper crane.}\n",
    )
    assert capdisc("index", "caps", "--quiet").err == ""
    edges = capdisc("graph", "cms_getPage", "--edge", "related", "--json").json["edges"]
    assert [(edge["kind"], edge["target"]) for edge in edges] == [("RELATED", "tool:cms_publish")]
    hits = capdisc("search", "read one page", "-k", "1", "--expand", "3", "--json").json["hits"]
    assert [(hit["id"], hit["via"]) for hit in hits[-1:]] == [
        ("tool:cms_publish", "tool:cms_getPage")
    ]


CMS = """capabilities:
- {name: cms_createPage, kind: tool, description: Makes a new page of a site.}
- {name: cms_getPage, kind: tool, description: Reads one page of a site.}
- {name: send_mail, kind: tool, description: Sends a letter by electronic mail.}
"""


def test_tools_of_a_session_are_those_of_all_its_turns(capdisc, write) -> None:
    """`tools --session` offers the tools that find, what earlier turns found, and what this turn
    finds, each once and in the order of finding (S299)."""
    write("CAPABILITY.yaml", CMS)
    capdisc("index", "caps", "--quiet")
    standard = capdisc("tools", "--names", "--session", "s2").out.splitlines()
    assert standard == ["search_tool", "execute_tool", "discover_capabilities"]
    capdisc("search", "make a new page of a site", "--session", "s2", "-k", "1")
    offered = [*standard, "cms_createPage"]
    assert capdisc("tools", "--names", "--session", "s2").out.splitlines() == offered
    mail = ("tools", "send a letter by mail", "--names", "-k", "1")
    assert capdisc(*mail, "--session", "s2").out.splitlines() == [*offered, "send_mail"]
    assert capdisc(*mail).out.splitlines() == [*standard, "send_mail"]
    again = ("tools", "make a new page of a site", "--names", "-k", "1", "--session", "s2")
    assert capdisc(*again).out.splitlines() == [*offered, "send_mail"]
    capdisc("session", "clear", "s2", "--tools")
    assert capdisc("tools", "--names", "--session", "s2").out.splitlines() == standard


def test_a_tool_that_a_session_found_and_nobody_has_any_more_is_not_offered(
    capdisc, write
) -> None:
    manifest = write("CAPABILITY.yaml", CMS)
    capdisc("index", "caps", "--quiet")
    capdisc("search", "send a letter by mail", "--session", "s2", "-k", "1")
    manifest.write_text(CMS.replace("send_mail", "post_letter"))
    capdisc("index", "caps", "--quiet")
    done = capdisc("tools", "--names", "--session", "s2")
    assert (done.err, "send_mail" in done.out) == ("", False)


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("prove that revenue fell", "auditable"),
        ("analyze the trends of orders", "exploratory"),
        ("explain what a refund is", "knowledge"),
    ],
)
def test_the_words_of_a_request_choose_the_mode(capdisc, small, query, mode) -> None:
    """`--template auto` takes the mode from the words of the query, names it with its words, and
    stores it in the session (S82, S83)."""
    by_name = capdisc("render", query, "--template", mode)
    by_words = capdisc("render", query, "--template", "auto")
    assert by_words.out == by_name.out
    assert f"notice: mode {mode} for " in by_words.err
    found = capdisc("render", query, "--template", "auto", "--json").json["working_mode"]
    assert (found["mode"], found["confidence"]) == (mode, 0.5 + 0.1 * len(found["words"]))
    assert "working_mode" not in capdisc("render", query, "--json").json


def test_a_mode_can_be_told_and_stays_in_the_session(capdisc, small, monkeypatch) -> None:
    """The setting `template = "auto"` chooses by words, --template tells another mode, and a
    request without such words keeps that of the session (S82)."""
    monkeypatch.setenv("CAPDISC_TEMPLATE", "auto")
    capdisc("session", "new", "s1")
    query = "prove that the invoice was sent"
    auditable = capdisc("render", query, "--template", "auditable").out
    assert capdisc("render", query).out == auditable
    assert capdisc("render", query, "--template", "exploratory").out != auditable
    assert capdisc("render", "send an invoice", "--session", "s1").err.count("mode") == 0
    capdisc("render", query, "--session", "s1")
    assert capdisc("session", "show", "s1", "--json").json["mode"] == "auditable"
    assert (
        "mode auditable of the session"
        in capdisc("render", "send an invoice", "--session", "s1").err
    )
    plain = capdisc("render", query, "--template", "none").out
    monkeypatch.delenv("CAPDISC_TEMPLATE")
    assert capdisc("render", query).out == plain
    assert capdisc("render", query, "--format", "messages").code == 0


TEN_SETTINGS = """
tier0TokenBudget = 150
tier1TokenBudget = 600
tier2TokenBudget = 1500
tier1TopK = 8
tier2TopK = 3
tier1MinRelevance = 0.3
useGraphReranking = false
collectionName = "capability_index"
embeddingModelId = "static"
graphBoostFactor = 0.2
"""


def test_all_ten_settings_of_the_second_design_are_understood(capdisc, write, hermetic) -> None:
    """A configuration with the ten keys of that design is read whole: the index lies under its
    name, and no search follows relations (S192)."""
    write_skill_with(write, "requires: [cli-executor]")
    (hermetic / "capdisc.toml").write_text(TEN_SETTINGS)
    assert capdisc("index", "caps", "--quiet").err == ""
    done = capdisc("config", "--json")
    assert done.err == ""
    found = {row["name"]: row["value"] for row in done.json["settings"]}
    expected = {
        "tier0_budget": 150,
        "tier1_budget": 600,
        "tier2_budget": 1500,
        "tier1_top_k": 8,
        "tier2_top_k": 3,
        "min_relevance": 0.3,
        "use_graph_reranking": False,
        "collection_name": "capability_index",
        "encoder": "static",
        "graph_boost": 0.2,
    }
    assert {name: found[name] for name in expected} == expected
    assert (hermetic / "index.capability_index").is_dir()
    assert not (hermetic / "index").exists()
    query = ("search", "list github issues", "--json")
    assert not any(hit["via"] for hit in capdisc(*query).json["hits"])
    with_graph = capdisc(*query, "--mode", "auto").json["hits"]
    assert "skill:github" in [hit["via"] for hit in with_graph]
    shown = capdisc("search", "list github issues", "--mode", "auto").out
    assert "web-search" not in shown


def test_a_setting_is_set_by_the_name_of_the_other_design(capdisc, hermetic) -> None:
    """`config set tier1TokenBudget` sets the budget of tier 1 (S192)."""
    (hermetic / "capdisc.toml").write_text("")
    assert capdisc("config", "set", "tier1TokenBudget", "700").code == 0
    found = {row["name"]: row["value"] for row in capdisc("config", "--json").json["settings"]}
    assert found["tier1_budget"] == 700


def test_the_name_of_a_collection_leads_nowhere_else(capdisc, hermetic, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_COLLECTION_NAME", "../elsewhere")
    done = capdisc("search", "anything")
    assert done.code == 3
    assert "collection_name cannot be" in done.err


def test_what_an_agent_makes_is_added_found_and_removed(capdisc, write, hermetic) -> None:
    """`add -` writes into the folder emergent and indexes at once, with the category emergent;
    `remove` takes it back; a tool of the tier session is skipped (S203)."""
    write("CAPABILITY.yaml", TOOLS)
    capdisc("index", "caps", "--quiet")
    manifest = '{"name": "fold-crane", "description": "Folds a paper crane from a square sheet."}'
    done = capdisc("add", "-", stdin=manifest)
    assert (done.code, done.err) == (0, "")
    path = hermetic / "caps" / "emergent" / "fold-crane" / "CAPABILITY.yaml"
    assert done.out == f"added tool:fold-crane ({path})\n"
    hit = capdisc("search", "fold a paper crane", "--json").json["hits"][0]
    assert (hit["id"], hit["category"]) == ("tool:fold-crane", "emergent")
    again = capdisc("add", "-", stdin=manifest)
    assert (again.code, "exists already" in again.err) == (3, True)
    better = manifest.replace("square", "round")
    assert capdisc("add", "-", "--replace", stdin=better).code == 0
    assert "round sheet" in capdisc("show", "fold-crane").out
    done = capdisc("remove", "fold-crane")
    assert (done.code, done.out) == (0, "removed tool:fold-crane\n")
    assert not path.exists()
    assert "fold-crane" not in capdisc("list", "--ids").out


def test_only_what_lasts_and_has_no_error_is_added(capdisc, write, hermetic) -> None:
    """Tools of a session are skipped, and of a file with errors nothing is kept (S203)."""
    write("CAPABILITY.yaml", TOOLS)
    capdisc("index", "caps", "--quiet")
    session = "name: scratch\ndescription: Counts words of a text.\ntier: session\n"
    done = capdisc("add", "-", "--json", stdin=session)
    assert (done.code, done.json["added"], done.json["skipped"]) == (1, [], ["scratch"])
    broken = capdisc("add", "-", stdin="name: broken\nkind: tool\n")
    assert broken.code == 1
    assert "field-missing" in broken.err
    assert not (hermetic / "caps" / "emergent" / "broken").exists()
    own = capdisc("remove", "cli-executor")
    assert (own.code, "was not added by capdisc add" in own.err) == (2, True)
    assert "tool:cli-executor" in capdisc("list", "--ids").out


def test_a_skill_is_added_where_nothing_is_indexed_yet(capdisc, hermetic, monkeypatch) -> None:
    """Without an index, `add` writes below .capdisc/capabilities, and builds one (S203)."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    skill = "---\nname: fold\ndescription: Folds paper cranes. Use when asked.\n---\n\nFold.\n"
    (hermetic / "draft.md").write_text(skill)
    done = capdisc("add", "draft.md")
    assert done.code == 0
    assert ".capdisc/capabilities/emergent/fold/SKILL.md" in done.out
    assert capdisc("search", "fold paper cranes", "--ids").out == "skill:fold\n"


def test_words_of_a_file_of_synonyms_find_and_are_never_printed(capdisc, write, hermetic) -> None:
    """A query with a word that only the file of synonyms knows finds the capability, and no output
    holds the synonyms (S322)."""
    write(
        "CAPABILITY.yaml",
        "capabilities:\n"
        "- {name: close-issue, kind: tool, description: Closes an issue of a project.}\n"
        "- {name: fold-crane, kind: tool, description: Folds a paper crane.}\n",
    )
    capdisc("index", "caps", "--quiet")
    query = "usterka"
    assert capdisc("search", query).code == 1
    (hermetic / "words.txt").write_text("# ours\nusterka = issue, bug report\nshut = closes\n")
    (hermetic / "capdisc.toml").write_text('synonyms = "words.txt"\n')
    assert capdisc("search", query, "--ids", "-k", "1").out == "tool:close-issue\n"
    found = capdisc("search", query, "--json")
    assert found.json["query"] == [query]
    assert "bug report" not in found.out
    assert "bug report" not in capdisc("render", query).out
    assert "tool:close-issue" in capdisc("render", query).out
    called = capdisc("call", "discover_capabilities", f'{{"query": "{query}"}}')
    assert "tool:close-issue" in called.out
    (hermetic / "words.txt").write_text("usterka\n")
    broken = capdisc("search", query)
    assert broken.code == 3
    assert "words.txt:1: no synonyms" in broken.err
    (hermetic / "capdisc.toml").write_text('synonyms = "../words.txt"\n')
    assert "waits" in capdisc("search", query).err or "trust" in capdisc("search", query).err


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


def test_the_log_is_off_until_its_user_switches_it_on(capdisc, write, hermetic) -> None:
    """Nothing is recorded by default, and the file of a workspace cannot switch it on (S122)."""
    write("CAPABILITY.yaml", TWINS)
    (hermetic / "capdisc.toml").write_text("log = true\n")
    capdisc("index", "caps", "--quiet")
    capdisc("search", "send a letter")
    done = capdisc("log")
    assert (done.code, done.out) == (1, "")
    assert "the log is off; to keep one: capdisc config set log true" in done.err


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


def test_a_channel_is_communication(capdisc, write) -> None:
    """A manifest of the kind channel that names no category is in communication (S151)."""
    write(
        "CAPABILITY.yaml",
        "capabilities:\n"
        "- {name: discord, kind: channel, description: Sends messages to a Discord server.}\n"
        "- {name: intranet, kind: channel, category: internal, description: Posts news inside.}\n",
    )
    capdisc("index", "caps", "--quiet")
    found = {row["id"]: row["category"] for row in capdisc("list", "--json").json["capabilities"]}
    assert found == {"channel:discord": "communication", "channel:intranet": "internal"}


def test_categories_that_look_alike_are_a_warning(capdisc, write) -> None:
    """Two spellings of one category are warned of; different ones are not (S288)."""
    names = ["pages", "pages", "page", "site-settings", "site_settings", "posts", "comunication"]
    names += ["communication", "communication", "import", "export"]
    entries = [
        f"- {{name: tool-{number}, kind: tool, category: {name},"
        f" description: Does the thing number {number} of {name}.}}\n"
        for number, name in enumerate(names)
    ]
    write("CAPABILITY.yaml", f"capabilities:\n{''.join(entries)}")
    findings = capdisc("validate", "caps", "--json").json["findings"]
    alike = [each["message"] for each in findings if each["code"] == "similar-categories"]
    assert sorted(alike) == [
        "the category comunication looks like communication",
        "the category page looks like pages",
        "the category site_settings looks like site-settings",
    ]


BASE_TOOLS = '''
def handle_base_readQuery(conn, sql: str | None = None, limit: int = 10):
    """
    Execute a SQL query via SQLAlchemy and return the rows.

    Arguments:
      sql - SQL text, with optional bind-parameter placeholders
      limit - how many rows at most
    """
'''


def test_a_python_file_says_what_its_parameters_are(capdisc, write, hermetic) -> None:
    """Type, need, default and text of a parameter come from the signature and the Arguments of a
    docstring, and the module is not imported (S116)."""
    write("base_tools.py", f"raise SystemExit\n{BASE_TOOLS}")
    (hermetic / "capdisc.toml").write_text(
        '[[source]]\nformat = "python"\npath = "caps/base_tools.py"\n'
    )
    assert capdisc("index", "--quiet").code == 0
    found = capdisc("show", "handle_base_readQuery", "--json").json["capabilities"][0]
    schema = found["schema"]
    assert schema["properties"]["sql"]["description"].startswith("SQL text, with optional bind")
    assert schema["properties"]["limit"]["default"] == 10
    assert schema["properties"]["limit"]["type"] == "integer"
    called = capdisc("call", "search_tool", '{"query": "handle_base_readQuery"}').json
    assert "how many rows at most" in str(called)


def test_a_question_brings_the_tools_that_read_what_it_finds(capdisc, write) -> None:
    """A question whose answer stands in tables and pages is offered the tools that read those, and
    get_compatibility_tables for its word (S231)."""
    write(
        "compatibility_issues.csv",
        "ingredient,compatible,issue\npeanut butter,no,allergy\nolive oil,yes,\n",
    )
    write(
        "CAPABILITY.yaml",
        "name: toast-bread\nkind: tool\ndescription: Toasts a slice of bread.\n"
        "inputSchema: {type: object, properties: {slices: {type: integer}}}\n",
    )
    write("../capdisc.toml", '[[source]]\nformat = "table"\npath = "caps/*.csv"\n')
    capdisc("index", "--quiet")
    question = "What are the compatibility issues with peanut butter?"
    names = capdisc("tools", question, "--names").out.splitlines()
    assert {"get_compatibility_tables", "get_table_rows", "search_content"} <= set(names)
    toast = capdisc("tools", "toast a slice of bread", "--names", "-k", "1").out.splitlines()
    assert "get_table_rows" not in toast


SHOP = """capabilities:
- {name: sales-report, kind: tool, description: Reports the sales of a quarter.}
- {name: customer-list, kind: tool, description: Lists each customer with an address.}
- {name: fold-crane, kind: tool, description: Folds a paper crane.}
- {name: toast-bread, kind: tool, description: Toasts a slice of bread.}
"""
PRELOAD = """[context_preload]
seed_patterns = ["sales", "customer"]
similarity_threshold = 0.3
max_tables = 50
"""


def test_patterns_are_loaded_ahead_into_the_stable_prefix(capdisc, write, hermetic) -> None:
    """What fits a seed pattern stands in the prefix of every prompt, whatever the query, within
    the budget (S79)."""
    write("CAPABILITY.yaml", SHOP)
    (hermetic / "capdisc.toml").write_text(PRELOAD)
    capdisc("index", "caps", "--quiet")
    prefix = capdisc("render", "toast a slice of bread", "--split", "prefix").out
    assert "Loaded ahead:\n- tool:customer-list: " in prefix
    assert "- tool:sales-report: Reports the sales of a quarter." in prefix
    assert "fold-crane: Folds" not in prefix
    assert capdisc("render", "fold a paper crane", "--split", "prefix").out == prefix
    whole = capdisc("render", "fold a paper crane").out
    assert whole.startswith(prefix)
    assert "tool:fold-crane" in whole.removeprefix(prefix)
    small = capdisc("render", "fold a paper crane", "--budget", "60")
    assert (small.code, "sales-report: " in small.out) == (0, False)
    assert "loaded ahead: left out to fit: 1 capability" in small.err
    tiny = capdisc("render", "fold a paper crane", "--budget", "34")
    assert (tiny.code, "Loaded ahead" in tiny.out) == (0, False)
    assert (
        capdisc("render", "fold a paper crane", "--style", "full").out.count("Loaded ahead") == 0
    )


def test_filters_and_tiers_hold_for_what_is_loaded_ahead(capdisc, write, hermetic) -> None:
    """What is loaded ahead are lines, which `--tier 2` leaves out, of what passes the filters (S69,
    S79)."""
    crane = "- {name: crane-folding, kind: skill, category: craft, description: Sales by hand.}\n"
    write("CAPABILITY.yaml", SHOP + crane)
    (hermetic / "capdisc.toml").write_text(PRELOAD)
    capdisc("index", "caps", "--quiet")

    def loaded(*options: str) -> list[str]:
        found = capdisc("render", "sales of a quarter", *options, "--json").json
        return found.get("preload", {}).get("ids", [])

    everything = ["skill:crane-folding", "tool:customer-list", "tool:sales-report"]
    assert loaded() == loaded("--tier", "0,1") == everything
    assert loaded("--kind", "skill") == loaded("--category", "craft") == ["skill:crane-folding"]
    assert loaded("--id", "*-list") == ["tool:customer-list"]
    assert loaded("--exclude", "sales-report") == everything[:2]
    assert loaded("--max-risk", "low") == []
    for options in (("--tier", "2"), ("--tier", "0"), ("--detail", "full")):
        assert loaded(*options) == []
        assert "Loaded ahead" not in capdisc("render", "sales of a quarter", *options).out


def test_what_is_loaded_ahead_has_a_threshold_and_a_limit(capdisc, write, hermetic) -> None:
    """`preload`, `preload_threshold` and `preload_limit` are the keys (S80)."""
    write("CAPABILITY.yaml", SHOP)
    capdisc("index", "caps", "--quiet")

    def loaded(text: str) -> list[str]:
        (hermetic / "capdisc.toml").write_text(text)
        return capdisc("render", "bread", "--json").json.get("preload", {}).get("ids", [])

    both = 'preload = ["sales", "customer"]\n'
    assert loaded(both) == ["tool:customer-list", "tool:sales-report"]
    assert len(loaded(f"{both}preload_limit = 1\n")) == 1
    assert loaded('preload = ["paper"]\npreload_threshold = 1.0\n') in ([], ["tool:fold-crane"])
    assert loaded("") == []
    assert capdisc("config", "set", "preload_threshold", "2").code != 0


def test_what_is_loaded_ahead_is_stored_until_settings_or_files_change(
    capdisc, write, hermetic
) -> None:
    """The second prompt searches no pattern again; another pattern, or a new capability, makes the
    choice anew (S81)."""
    manifest = write("CAPABILITY.yaml", SHOP)
    (hermetic / "capdisc.toml").write_text('preload = ["sales"]\n')
    capdisc("index", "caps", "--quiet")

    def preload() -> tuple[bool, list[str]]:
        found = capdisc("render", "bread", "--json").json["preload"]
        return found["cached"], found["ids"]

    assert preload() == (False, ["tool:sales-report"])
    assert preload() == (True, ["tool:sales-report"])
    (hermetic / "capdisc.toml").write_text('preload = ["sales", "customer"]\n')
    assert preload()[0] is False
    assert preload() == (True, ["tool:customer-list", "tool:sales-report"])
    more = "- {name: sales-forecast, kind: tool, description: Forecasts the sales of a year.}\n"
    manifest.write_text(SHOP + more)
    capdisc("index", "caps", "--quiet")
    cached, ids = preload()
    assert (cached, "tool:sales-forecast" in ids) == (False, True)


PRESETS = """capabilities:
- {name: web-search, kind: tool, description: Finds pages on the web.}
- {name: summarizer, kind: skill, description: Shortens a long text to its main points.}
- {name: fold-crane, kind: tool, description: Folds a paper crane.}
"""
RESEARCH = '[presets]\nresearch = ["tool:web-search", "skill:summarizer"]\n'
PAGES = ("search", "find pages on the web")


def test_a_preset_relates_its_members_and_brings_them_along(capdisc, write, hermetic) -> None:
    """`[presets]` makes COMPOSED_WITH edges of 0.5 without a build, and an active preset brings
    tool:web-search and skill:summarizer together (S178)."""
    write("CAPABILITY.yaml", PRESETS)
    capdisc("index", "caps", "--quiet")
    edges = ("graph", "--edge", "COMPOSED_WITH", "--json")
    assert capdisc(*edges).json["edges"] == []
    (hermetic / "capdisc.toml").write_text(RESEARCH)
    done = capdisc(*edges)
    assert [(edge["source"], edge["target"], edge["weight"]) for edge in done.json["edges"]] == [
        ("skill:summarizer", "tool:web-search", 0.5)
    ]
    assert done.json["edges"][0]["why"] == "preset research"
    assert "summarizer" not in capdisc(*PAGES).out
    active = capdisc(*PAGES, "--preset", "research")
    assert "2  skill:summarizer" in active.out
    assert "by its preset, with tool:web-search" in active.out
    assert (
        "skill:summarizer"
        in capdisc("render", PAGES[1], "--tier", "1", "--preset", "research").out
    )
    (hermetic / "capdisc.toml").write_text('preset = "research"\n' + RESEARCH)
    hits = capdisc(*PAGES, "--json").json["hits"]
    assert [(hit["id"], hit["via"]) for hit in hits[:2]] == [
        ("tool:web-search", None),
        ("skill:summarizer", "tool:web-search"),
    ]
    assert capdisc("list", "--ids").out.count(":") == 3
    members = capdisc("list", "--ids", "--preset", "research").out.split()
    assert members == ["skill:summarizer", "tool:web-search"]


def test_a_preset_that_is_missing_or_malformed_is_said(capdisc, write, hermetic) -> None:
    write("CAPABILITY.yaml", PRESETS)
    capdisc("index", "caps", "--quiet")
    unknown = capdisc(*PAGES, "--preset", "research")
    assert (unknown.code, "no table presets" in unknown.err) == (2, True)
    (hermetic / "capdisc.toml").write_text(RESEARCH)
    misspelt = capdisc(*PAGES, "--preset", "reserch")
    assert (misspelt.code, "did you mean research?" in misspelt.err) == (2, True)
    (hermetic / "capdisc.toml").write_text('[presets]\nr = ["web-search", "nobody"]\n')
    done = capdisc(*PAGES, "--preset", "r")
    assert (done.code, "a preset names what is not here: nobody" in done.err) == (0, True)
    assert capdisc("search", "zorble quuxly", "--preset", "r").code == 1
    (hermetic / "capdisc.toml").write_text('[presets]\nresearch = "web-search"\n')
    assert "must be a list of names" in capdisc(*PAGES).err


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


INLINE = '''[[source]]
name = "returns"
format = "document"
content = """
# Returns
Goods can be returned within thirty days.
"""
'''
ON_THE_WEB = '[[source]]\nformat = "document"\npath = "https://example.com/handbook.md"\n'


def test_a_document_is_a_text_of_the_configuration(capdisc, hermetic) -> None:
    """`content` of a [[source]] is read as a file of its format would be, again when it changes
    (S39)."""
    (hermetic / "capdisc.toml").write_text(INLINE)
    assert capdisc("index", "--quiet").code == 0
    question = ("search", "until when can goods be returned")
    assert "thirty days" in capdisc(*question).out
    (hermetic / "capdisc.toml").write_text(INLINE.replace("thirty", "sixty"))
    assert capdisc("index", "--quiet").code == 0
    assert "sixty days" in capdisc(*question).out
    assert "thirty days" not in capdisc(*question).out
    (hermetic / "capdisc.toml").write_text(INLINE + 'path = "returns.md"\n')
    assert "content or a path, not both" in capdisc("index").err
    (hermetic / "capdisc.toml").write_text(INLINE.replace('name = "returns"', ""))
    assert "name of a source must be text" in capdisc("index").err


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


def test_a_trace_names_tools_and_sources_and_can_be_played_again(capdisc, write, hermetic) -> None:
    """`call --trace FILE.jsonl` adds each call with the sources of its answer, and --batch replays
    the file with the same answers (S244)."""
    manifest = write("CAPABILITY.yaml", PRESETS)
    capdisc("index", "caps", "--quiet")
    typed = (
        ("search_all", '{"query": "find pages on the web"}'),
        ("search_tool", '{"query": "fold-crane"}'),
    )
    answers = [capdisc("call", *call, "--trace", "FILE.jsonl").json for call in typed]
    lines = [json.loads(line) for line in (hermetic / "FILE.jsonl").read_text().splitlines()]
    assert [line["tool"] for line in lines] == ["search_all", "search_tool"]
    assert lines[0]["arguments"] == {"query": "find pages on the web"}
    assert {"tool:web-search", str(manifest)} <= set(lines[0]["sources"])
    assert "tool:fold-crane" in lines[1]["sources"]
    replayed = capdisc("call", "--batch", "FILE.jsonl", "--trace", "again.jsonl").out
    assert [json.loads(line)["results"] for line in replayed.splitlines()] == answers
    assert (hermetic / "again.jsonl").read_text() == (hermetic / "FILE.jsonl").read_text()
    refused = capdisc("call", *typed[0], "--trace", "no/folder/FILE.jsonl")
    assert (refused.code != 0, refused.out, "cannot write" in refused.err) == (True, "", True)
