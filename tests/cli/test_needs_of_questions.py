"""Questions, sessions and relations at the command line, in the designs' own words."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

Index = Callable[..., None]

HANDBOOK = """# Handbook

Employees have 28 days of annual leave.
Net 30 means thirty days after the date of the invoice.
An analysis is written by the data team.
"""


@pytest.fixture
def indexed(capdisc, hermetic, monkeypatch) -> Index:
    """Index tools that are given as mappings."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def make(*tools: dict) -> None:
        folder = hermetic / "caps"
        folder.mkdir(exist_ok=True)
        described = [{"kind": "tool", "description": "Does it.", **tool} for tool in tools]
        (folder / "CAPABILITY.yaml").write_text(yaml.safe_dump({"capabilities": described}))
        assert capdisc("index", "caps", "--quiet").code == 0

    return make


@pytest.fixture
def handbook(capdisc, hermetic, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "handbook.md").write_text(HANDBOOK)
    (hermetic / "capdisc.toml").write_text('[[source]]\nformat = "document"\npath = "*.md"\n')
    assert capdisc("index", "--quiet").code == 0


def call(capdisc, tool: str, **arguments: object) -> dict:
    return capdisc("call", tool, json.dumps(arguments)).json


def test_a_question_is_answered_with_its_source_or_asked_back(capdisc, handbook) -> None:
    """`resolve_fact` gives answer, confidence and sources, or `needs_clarification`; only stored
    facts and indexed texts are sources, and `a` is taken out of a question as a word, not out of
    `analysis` (S45, S46, S47, S50, S51).
    """
    known = call(capdisc, "resolve_fact", question="How many days of annual leave do I have?")
    assert "28 days" in known["answer"] and known["needs_clarification"] is False
    assert known["sources"][0]["name"].startswith(("section:", "document:"))
    assert 0.8 <= known["confidence"] <= 1
    analysis = call(capdisc, "resolve_fact", question="What is a blue analysis?")
    assert analysis["needs_clarification"] is True
    unknown = call(capdisc, "resolve_fact", question="How long is maternity leave?")
    assert (unknown["answer"], unknown["needs_clarification"]) == (None, True)
    assert "web" not in unknown["sources_checked"]
    call(capdisc, "add_fact", name="maternity leave", value="14 weeks", reasoning="the law")
    stored = call(capdisc, "resolve_fact", question="How long is maternity leave?")
    assert "14 weeks" in stored["answer"]
    assert call(capdisc, "list_known_facts")["facts"][0]["name"] == "maternity leave"
    assert "analysis" in json.dumps(call(capdisc, "get_unresolved_facts"))


def test_plain_statements_are_facts_and_the_others_are_named(capdisc, handbook) -> None:
    """`extract_facts_from_text` takes `X is Y` and names what it skips; a new value in a request is
    proposed and kept only when asked (S49, S88).
    """
    text = "My age is 41.\nIs the sky blue?\nWe went home."
    extracted = json.dumps(call(capdisc, "extract_facts_from_text", text=text))
    assert "41" in extracted and "a question" in extracted and "no rule fits it" in extracted
    proposed = json.dumps(call(capdisc, "extract_facts_from_text", text="change my age to 50"))
    assert "50" in proposed
    assert call(capdisc, "list_known_facts")["facts"] == []


@pytest.mark.parametrize(
    ("note", "mode"),
    [
        ("prove that revenue fell", "auditable"),
        ("redo", "auditable"),
        ("run it again", "auditable"),
        ("redo in exploratory mode", "exploratory"),
        ("how do you construe it", ""),
    ],
)
def test_mode_words_count_as_whole_words_and_a_redo_keeps_the_mode(
    capdisc, indexed, note, mode
) -> None:
    """`redo` keeps the mode, `redo in exploratory mode` changes it, and `construe` holds no `true`
    (S83, S86, S87).
    """
    indexed({"name": "a"})
    capdisc("session", "new", "s")
    first = "prove that x" if mode else "hello"
    capdisc("session", "note", "s", first)
    capdisc("session", "note", "s", note)
    assert capdisc("session", "show", "s", "--json").json["mode"] == mode


def test_a_rule_extracts_entities_of_types_that_stand_in_the_data(capdisc, indexed) -> None:
    """`extraction` with path, typeField and nameFields, or with `$root`, keeps at most five; the
    session shows discoveredTools and usedTools as found and used (S283, S284, S285, S297).
    """
    find = {
        "path": "matches",
        "typeField": "type",
        "nameFields": ["name", "slug"],
    }
    indexed(
        {"name": "cms_findResource", "extraction": find},
        {
            "name": "cms_getPage",
            "extraction": {"path": "$root", "type": "page", "nameField": "title"},
        },
    )
    capdisc("session", "new", "s")
    matches = {"matches": [{"id": n, "type": "image", "slug": f"a{n}"} for n in range(6)]}
    observed = capdisc("session", "observe", "s", "cms_findResource", stdin=json.dumps(matches))
    assert observed.out.splitlines()[0] == "image: a0 (0)"
    assert len(capdisc("session", "show", "s", "--json").json["entities"]) == 5
    page = capdisc("session", "observe", "s", "cms_getPage", stdin='{"id": "p1", "title": "Home"}')
    assert page.out == "page: Home (p1)\n"
    capdisc("session", "use", "s", "cms_getPage", "--ok")
    session = capdisc("session", "show", "s", "--json").json
    keys = {"discoveredTools": "discovered", "usedTools": "used"}
    assert all(key in session for key in keys.values())


def test_requests_and_hints_of_an_author_are_read(capdisc, indexed) -> None:
    """`hypotheticalQueries` are phrases, and a `usageHint` is shown (S277, S278)."""
    indexed(
        {"name": "stove", "hypotheticalQueries": ["I am hungry for dumplings"]},
        {"name": "fridge", "phrases": ["keep the milk cold"], "usageHint": "Close the door."},
        {"name": "crane", "description": "Lifts loads."},
    )
    assert capdisc("search", "hungry for dumplings", "--ids").out.split()[0] == "tool:stove"
    assert capdisc("search", "keep milk cold", "--ids").out.split()[0] == "tool:fridge"
    context = capdisc("render", "keep milk cold", "--tier", "1", "--hints").out
    assert "Hint: Close the door." in context


def test_what_is_declared_is_read(capdisc, indexed) -> None:
    """`edges`, `available`, `schema` and `examples` count (S168)."""
    indexed(
        {
            "name": "oven",
            "available": False,
            "schema": {"properties": {"heat": {"type": "integer"}}},
            "examples": ["bake a cake"],
            "edges": [{"target": "timer", "type": "REQUIRES", "weight": 0.7}],
        },
        {"name": "timer", "description": "Rings."},
    )
    shown = capdisc("show", "oven", "--json").json["capabilities"][0]
    assert (shown["available_here"], shown["phrases"]) == (False, ["bake a cake"])
    assert shown["parameters"][0]["name"] == "heat"
    edge = capdisc("graph", "oven", "--edge", "REQUIRES", "--json").json
    assert "tool:timer" in json.dumps(edge)


def test_shared_tags_and_small_categories_relate_and_common_ones_do_not(capdisc, indexed) -> None:
    """Two tags in common are an edge, one is none; a category of nine is too large (S179, S180)."""
    indexed(
        {"name": "a", "tags": ["x", "y"], "category": "few"},
        {"name": "b", "tags": ["x", "y"], "category": "few"},
        {"name": "c", "tags": ["x"], "category": "other"},
        *({"name": f"many-{n}", "category": "many"} for n in range(9)),
    )
    edges = json.dumps(capdisc("graph", "--json").json)
    assert "TAGGED_WITH" in edges and "SAME_CATEGORY" in edges
    assert capdisc("graph", "c", "--edge", "TAGGED_WITH").code == 1
    assert capdisc("graph", "many-1", "--edge", "SAME_CATEGORY").code == 1


HUB = (
    {"name": "news", "description": "Reads the latest news headlines.", "composedWith": ["hub"]},
    *(
        {"name": f"reader-{n}", "description": f"Reads number {n}.", "composedWith": ["hub"]}
        for n in range(6)
    ),
    {"name": "hub", "description": "Reads dispatches to others.", "category": "hubs"},
)


def test_the_graph_helps_and_does_not_take_over(capdisc, indexed) -> None:
    """A hub does not pass what fits, filters hold for what comes along, and the order of the
    catalogue changes no score (S183, S185, S186).
    """
    argv = ("search", "latest news headlines", "--json")
    indexed(*HUB)
    first = capdisc(*argv).json["hits"]
    assert first[0]["id"] == "tool:news"
    assert "tool:hub" not in capdisc(*argv[:2], "--ids", "--exclude", "hub").out
    indexed(*reversed(HUB))
    assert [(hit["id"], hit["score"]) for hit in capdisc(*argv).json["hits"]] == [
        (hit["id"], hit["score"]) for hit in first
    ]


def test_related_ones_come_on_top_of_the_limit(capdisc, indexed) -> None:
    """--expand adds what the hits name as related, beyond -k (S269)."""
    indexed(
        {"name": "bake-bread", "description": "Bakes bread.", "related": ["sweep-floor"]},
        {"name": "sweep-floor", "description": "Cleans up."},
    )
    assert capdisc("search", "bake bread", "-k", "1", "--ids").out.split() == ["tool:bake-bread"]
    assert capdisc("search", "bake bread", "-k", "1", "--ids", "--expand", "1").out.split() == [
        "tool:bake-bread",
        "tool:sweep-floor",
    ]


def test_two_wishes_are_both_answered_and_nonsense_is_refused(capdisc, small) -> None:
    """A query of two parts finds both; made-up words find nothing; stop words alone change nothing
    (S255, S261, S271).
    """
    found = capdisc("search", "convert an image to webp and send an email", "--ids", "-k", "4").out
    assert {"tool:convert-image", "tool:send-email"} <= set(found.split())
    assert capdisc("search", "zxqwv frobble glarn").code == 1
    assert capdisc("search", "the of and").code == 1
    plain = capdisc("search", "convert image", "--ids", "-k", "1").out
    assert capdisc("search", "please convert the image", "--ids", "-k", "1").out == plain


def test_an_index_without_its_encoder_says_so(capdisc, indexed) -> None:
    """A failing encoder is reported, and words alone answer (S267)."""
    indexed({"name": "bake-bread", "description": "Bakes bread."})
    answer = capdisc("search", "bake bread", "--encoder", "no/such-model", "--json")
    assert answer.code in (0, 3)
    assert "encoder" in answer.err or "words alone" in answer.err


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"a": "requires: [nobody]\n"}, "unresolved-requirement"),
        ({"a": "requires: [b]\n", "b": "requires: [a]\n"}, "requirement-cycle"),
        ({"a": "id: tool:other\n"}, "id-name"),
    ],
)
def test_what_does_not_fit_together_is_reported(capdisc, hermetic, files, code) -> None:
    """Missing requirements, cycles and ids that fit no name are findings (S293)."""
    for name, fields in files.items():
        (hermetic / "caps" / name).mkdir(parents=True)
        text = f"kind: tool\nname: {name}\ndescription: Does {name}.\n{fields}"
        (hermetic / "caps" / name / "CAPABILITY.yaml").write_text(text)
    found = capdisc("validate", "caps", "--json")
    assert found.json["findings"], code


NAMES = """
    view_pages view_keywords view_tables table_summary find_relevant_tables find_relevant_pages
    get_table_data get_row_data get_page_content register_tool get_tool_function register_doc get_doc
    search_docs searchTools load_capability_extension
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_design_leads_somewhere(capdisc, data, name) -> None:
    """`capdisc call` takes the name, or names the command that does its work (S14, S112, S114,
    S238).
    """
    answer = capdisc("call", name, "{}")
    assert "there is no discovery tool" not in answer.err
    assert answer.code == 0 or "hint: " in answer.err


def test_what_the_designs_tested_holds(capdisc, data) -> None:
    """List all, exact name, keywords and execution, without the designs' mistakes: a letter finds
    nothing, a plural does (S125, S217, S312).
    """
    every = call(capdisc, "search_tool", query="")
    assert every["match_type"] == "list_all"
    exact = call(capdisc, "search_tool", query="BASE_TABLELIST")
    assert exact["match_type"] == "exact"
    assert call(capdisc, "search_tool", query="list tables")["tools"]
    assert capdisc("search", "a").code == 1


@pytest.mark.parametrize("name", ["cms_getPage", "cms_listPosts", "getPage", "cms-search"])
def test_a_reading_tool_that_remembers_nothing_is_named(capdisc, hermetic, name) -> None:
    """`extraction: null` of a tool that gets, lists or searches is a finding (S293)."""
    (hermetic / "caps" / name).mkdir(parents=True)
    (hermetic / "caps" / name / "CAPABILITY.yaml").write_text(
        f"kind: tool\nname: {name}\ndescription: Gets a page by its id.\nextraction: null\n"
    )
    found = capdisc("validate", "caps", "--json").json["findings"]
    assert "extraction-missing" in [finding["code"] for finding in found]


@pytest.mark.parametrize(
    "verb", ["new", "show", "list", "use", "observe", "clear", "add", "drop", "note", "prompt"]
)
def test_each_verb_of_a_session_has_a_page_of_its_own(capdisc, verb) -> None:
    """`session VERB --help` says what is typed after the verb, and modes stand there (S86, S87)."""
    page = capdisc("session", verb, "--help")
    assert page.out.startswith(f"Usage: capdisc session {verb} ") or verb == "list"
    assert f"Example: capdisc session {verb}" in page.out
    assert ("redo in exploratory mode" in page.out) is (verb == "note")
