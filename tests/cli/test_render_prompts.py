"""Prompts around a context: styles by model, templates, appended texts, messages, splits."""

import json
import os
import re

import pytest

from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.rendering.prompt_templates import DISCOVERY_INSTRUCTIONS
from capdisc_indexer.tools.tool_table import TOOLS
from product_lists import TEMPLATES, TIERED_FORMATS

COUNT = load_token_counter()
QUERY = "send the customer an invoice as a PDF"


def prompt(capdisc, *argv):
    return capdisc("render", *argv, "--json").json


def test_a_prompt_for_a_model_with_tools_is_short(capdisc, small) -> None:
    """The short prompt says how to find the rest in 500 tokens at most (S1, S7)."""
    made = prompt(capdisc, "--style", "tools")
    assert {"prompt", "use_tools", "style", "tokens"} <= set(made)
    assert made["tokens"] == COUNT(made["prompt"]) <= 500
    assert "capdisc search" in made["prompt"]
    assert "Available capabilities:" in made["prompt"]
    assert capdisc("render", "--style", "tools").out == made["prompt"]


def test_a_prompt_for_a_model_without_tools_has_every_capability_in_full(capdisc, small) -> None:
    """A full prompt has every visible capability in a stable order and no limit (S2)."""
    made = capdisc("render", "--style", "full", "--max-each", "0")
    ids = capdisc("list", "--ids").out.split()
    assert [line.split()[1] for line in made.out.splitlines() if line.startswith(">>> ")] == ids
    assert COUNT(made.out) > 8000
    assert made.err == ""


def test_hidden_capabilities_stay_out(capdisc, hermetic, write_skill) -> None:
    path = write_skill(hermetic / "skills", "secret-one", "Folds paper. Use when asked.")
    path.write_text(path.read_text().replace("---\n\n", "disable-model-invocation: true\n---\n\n"))
    write_skill(hermetic / "skills", "open-one", "Folds paper boats. Use when asked.")
    capdisc("index", "skills")
    assert "secret-one" in capdisc("list", "--ids").out
    for argv in (
        ("--style", "full"),
        ("--auto",),
        ("zzz qqq", "--on-empty", "all"),
        ("--by-kind",),
        ("--kind", "skill"),
    ):
        out = capdisc("render", *argv).out
        assert "open-one" in out
        assert "secret-one" not in out


def test_a_full_prompt_within_a_budget_tells_a_little_of_each(capdisc, small) -> None:
    made = capdisc("render", "--style", "full", "--budget", "2500")
    assert COUNT(made.out) <= 2500
    assert all(identifier in made.out for identifier in capdisc("list", "--ids").out.split())
    assert "tier 2: cut to fit" in made.err


def test_a_long_document_is_cut_and_marked_in_a_full_prompt(
    capdisc, hermetic, write_skill
) -> None:
    """A document is cut at 1,250 tokens, about 5,000 characters, or as set, and marked (S9)."""
    write_skill(
        hermetic / "skills", "cranes", body="Fold the paper once more along the line.\n" * 225
    )
    capdisc("index", "skills")
    made = capdisc("render", "--style", "full")
    assert "[what is left out: capdisc show skill:cranes --section HEADING]" in made.out
    assert "cut to fit: skill:cranes" in made.err
    assert len(made.out) < 7000 < len(capdisc("render", "--style", "full", "--max-each", "0").out)


@pytest.mark.parametrize(
    ("style", "models"),
    [
        ("tools", "claude-3-haiku gpt-4o gpt-3.5-turbo gemini-pro claude-sonnet-4-20250514"),
        ("full", "claude-2 Claude-Instant-1.2 gpt-3.5-turbo-instruct text-davinci-003"),
    ],
)
def test_models_with_tools_get_the_short_prompt_and_others_all(capdisc, small, style, models):
    """Models that can call tools get the short prompt (S3, S4). Old names come first:
    gpt-3.5-turbo-instruct contains a newer name (S5).
    """
    for model in models.split():
        made = prompt(capdisc, "--model", model)
        expected = (style, style == "tools", model)
        assert (made["style"], made["use_tools"], made["model"]) == expected


def test_an_unknown_model_is_taken_for_one_with_tools(capdisc, small) -> None:
    """An unknown model gets the short prompt with tools, and the reason is given (S6)."""
    made = capdisc("render", "--model", "foo", "--json")
    assert json.loads(made.out)["reason"] == "unknown model"
    assert "style tools for foo: unknown model" in made.err


def test_a_style_may_override_the_model_and_says_so(capdisc, small) -> None:
    """--style wins over the model, with a notice (S3)."""
    made = capdisc("render", "--model", "claude-2", "--style", "tools", "--json")
    assert json.loads(made.out)["style"] == "tools"
    assert "against what is known of the model" in made.err


def test_a_style_takes_a_query_too(capdisc, small) -> None:
    out = capdisc("render", QUERY, "--style", "tools").out
    assert "- tool:send-invoice: " in out
    assert ">>> tool:send-invoice" in out


def test_the_minimal_template_is_small(capdisc, small, monkeypatch) -> None:
    """The minimal template has at most 300 tokens without memory (S295, S296)."""
    monkeypatch.setattr("capdisc.context.surroundings.today", lambda: "2026-07-31")
    out = capdisc("render", "--template", "minimal").out
    assert COUNT(out) <= 300
    assert "2026-07-31" in out
    assert "FINAL_ANSWER:" in out
    assert "capdisc search" in out
    assert "tool_search" in capdisc("render", "--template", "minimal", "--hint", "tool").out


def test_every_tool_that_a_template_names_can_be_called(capdisc, small) -> None:
    """Templates name only tools that `capdisc call` knows (S72, S237)."""
    for name in TEMPLATES:
        out = capdisc("render", "--template", name, "--tier", "1").out
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", out))
        assert named - {"discovered_context"} <= set(TOOLS), name
    assert set(re.findall(r"\b[a-z]+_[a-z]+\b", DISCOVERY_INSTRUCTIONS["tool"])) <= set(TOOLS)


def test_a_planner_discovers_clarifies_plans_and_gives_json(capdisc, small) -> None:
    """The planning prompt goes from discovery to output and forbids inventions (S73, S76)."""
    out = capdisc("render", "--template", "planner").out
    words = ("DISCOVER: call search_all", "CLARIFY", "PLAN", "OUTPUT", '"reasoning"', '"steps"')
    places = [out.index(word) for word in (*words, "your own making")]
    assert places == sorted(places)
    assert capdisc("show", "table:of-nothing").code == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [("auditable", "source"), ("exploratory", "Compare"), ("knowledge", "Explain")],
)
def test_ways_of_working_are_templates(capdisc, small, name, said) -> None:
    """Each mode is a template, and nothing is proved by code (S84, S89)."""
    out = capdisc("render", "--template", name).out
    assert said in out
    if name == "auditable":
        assert "[source: " in out
        assert "asked of the user" in out


def test_every_template_that_comes_along_works(capdisc, small) -> None:
    for name in TEMPLATES:
        made = capdisc("render", QUERY, "--template", name, "--budget", "2000")
        assert made.code == 0, (name, made.err)
        assert COUNT(made.out) <= 2000
        assert "$" not in made.out.replace("$$", "")
        assert "\n\n\n" not in made.out


def test_a_template_of_ones_own_by_path_and_by_name(capdisc, small, hermetic) -> None:
    (hermetic / "mine.txt").write_text(
        "Answer $query with:\n$details\nIt costs 5 $$, says ${model}.\n"
    )
    out = capdisc("render", QUERY, "--template", "mine.txt", "--model", "foo").out
    assert out.startswith(f"Answer {QUERY} with:\n--- Detailed")
    assert out.endswith("It costs 5 $, says foo.\n")
    assert "Available" not in out
    folder = hermetic / ".capdisc" / "templates"
    folder.mkdir(parents=True)
    (folder / "shop.md").write_text("# Shop\n\n$overview\nBye.")
    assert capdisc("render", "--template", "shop").out.endswith("capdisc show ID\nBye.\n")


def test_a_template_without_a_part_has_the_context_at_its_end(capdisc, small, hermetic) -> None:
    (hermetic / "mine.txt").write_text("You sell turnips.")
    out = capdisc("render", QUERY, "--template", "./mine.txt").out
    assert out.startswith("You sell turnips.\nAvailable capabilities:\n")
    assert "Relevant capabilities:" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("One\nTwo $nothing", "line 2: nothing fills $nothing"),
        ("5 $", "a $ that names nothing"),
        ("${over}", "$over"),
        ("A\n$5", "line 2: a $ that names nothing"),
        ("A\n${}", "line 2: a $ that names nothing"),
    ],
)
def test_a_placeholder_that_nothing_fills_is_a_mistake(
    capdisc, small, hermetic, text, said
) -> None:
    (hermetic / "mine.txt").write_text(text)
    made = capdisc("render", QUERY, "--template", "mine.txt")
    assert (made.code, made.out) == (2, "")
    assert said in made.err
    assert "$overview" in made.err


def test_what_a_capability_says_is_no_template(capdisc, hermetic, write_skill) -> None:
    text = "Folds paper cranes for $query and $date."
    write_skill(hermetic / "skills", "cranes", text, "$overview $nothing ${x}")
    capdisc("index", "skills")
    out = capdisc("render", "fold paper cranes", "--template", "tools").out
    assert "$overview $nothing ${x}" in out


def test_a_template_that_is_not_there_or_no_text(capdisc, small, hermetic) -> None:
    assert capdisc("render", "--template", "./gone.txt").code == 3
    (hermetic / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    assert capdisc("render", "--template", "bytes.txt").code == 3
    (hermetic / "large.txt").write_text("x" * 300_000)
    assert capdisc("render", "--template", "large.txt").code == 3


@pytest.mark.parametrize("form", TIERED_FORMATS)
def test_a_text_is_added_once_after_the_map_and_within_the_budget(
    capdisc, small, hermetic, form
) -> None:
    """Appended text comes once, between overview and hits, cut to fit, in each format (S8)."""
    (hermetic / "note.md").write_text("Invoices go out on Fridays.\n" * 90)
    options = ("--append", "note.md", "--format", form, "--budget", "900", "--tier", "0,1,2")
    made = capdisc("render", QUERY, *options)
    assert COUNT(made.out) <= 900
    assert made.out.count("Invoices go out on Fridays.") > 5
    assert "[cut to fit the budget]" in made.out
    assert "notice: appended text: cut to fit" in made.err
    if form == "text":
        assert made.out.count("Additional Context:") == 1
        places = [
            made.out.index(part)
            for part in ("Available capa", "Additional Context:\nInvoices", "Relevant capa")
        ]
        assert places == sorted(places)


def test_texts_are_added_from_files_and_from_stdin(capdisc, small, hermetic) -> None:
    """--append repeats; with `-` the text is on stdin, not the query (S8)."""
    (hermetic / "one.md").write_text("/etc is closed.")
    made = capdisc("render", QUERY, "--append", "one.md", "--append", "-", stdin="Second text.")
    assert " /etc is closed.\nSecond text.\n" in made.out
    assert "- tool:send-invoice" in made.out
    assert "Relevant" not in capdisc("render", "--append", "-", stdin=QUERY).out
    assert capdisc("render", "-", "--append", "-", stdin="x").code == 2
    assert capdisc("render", "--append", "gone.md").code == 3


def test_messages_are_a_list_of_roles_with_the_request_last(capdisc, small) -> None:
    made = capdisc("render", QUERY, "--format", "messages").json
    assert [message["role"] for message in made] == ["system", "user"]
    assert made[0]["content"].startswith("Available capabilities:")
    assert made[1]["content"].startswith("Relevant capabilities:")
    assert made[1]["content"].endswith(f"\n\n{QUERY}")


def test_a_request_that_fills_the_budget_is_not_cut_but_refused(capdisc, small) -> None:
    made = capdisc(
        "render", "-", "--format", "messages", "--budget", "300", stdin="please send it " * 200
    )
    assert (made.code, made.out) == (2, "")
    assert "the request alone has" in made.err


@pytest.mark.parametrize(
    "extra", [(), ("--template", "phased"), ("--budget", "700"), ("--tier-budget", "0=90")]
)
def test_what_comes_first_is_the_same_for_every_query(capdisc, small, extra) -> None:
    """The prefix is the same bytes with any query or none (S308)."""
    queries = ((QUERY,), ("merge PDF files",), ("zzz qqq",), ())
    prefixes = {capdisc("render", *query, "--split", "prefix", *extra).out for query in queries}
    both = {
        capdisc("render", *query, "--split", "both", *extra).out.split("=== capdisc")[0]
        for query in queries
    }
    assert len(prefixes) == 1
    assert both == prefixes
    assert "Available capabilities:" in prefixes.pop()


@pytest.mark.parametrize("form", ["json", "messages"])
def test_the_prefix_is_a_field_or_a_message_of_its_own(capdisc, small, form) -> None:
    """With --split the prefix stands apart and is the same for every query (S308)."""
    queries = (QUERY, "merge PDF files", "zzz qqq")
    made = [
        capdisc("render", query, "--split", "both", "--format", form).json for query in queries
    ]
    if form == "json":
        assert len({each["prefix"] for each in made}) == 1
        assert made[0]["suffix"].startswith("Relevant capabilities:")
        one = capdisc("render", QUERY, "--split", "suffix", "--json").json
        assert "prefix" not in one
    else:
        assert len({each[0]["content"] for each in made}) == 1
        (system,) = capdisc("render", QUERY, "--split", "prefix", "--format", "messages").json
        assert system["role"] == "system"


def test_the_halves_are_the_whole_and_together_within_the_budget(capdisc, small) -> None:
    halves = [
        capdisc("render", QUERY, "--split", half, "--budget", "800").out
        for half in ("prefix", "suffix")
    ]
    both = capdisc("render", QUERY, "--split", "both", "--budget", "800").out
    border = both.splitlines(keepends=True)[halves[0].count("\n")]
    assert both == halves[0] + border + halves[1]
    assert COUNT(both) <= 800
    assert border not in halves[0]


def test_a_context_can_be_piped_and_nothing_else_is_on_stdout(process, small) -> None:
    """Only the context is on stdout, in ranked order, with no model (S69, S214, S235)."""
    made = process("render", QUERY, "--tier", "2", "--format", "markdown", "--kind", "tool")
    headings = [line[4:] for line in made.out.splitlines() if line.startswith("### ")]
    assert headings == process("search", QUERY, "--kind", "tool", "--ids").out.split()[:2]
    assert "notice" not in made.out


def test_xml_stays_well_formed_with_all_of_it(capdisc, small, hermetic) -> None:
    import xml.etree.ElementTree as ET

    (hermetic / "t.txt").write_text("Less < more & so on.\n$overview\n$summaries\n$details")
    (hermetic / "x.txt").write_text("</additional> & more")
    argv = ("--format", "xml", "--template", "t.txt", "--append", "x.txt", "--hint", "cli")
    root = ET.fromstring(capdisc("render", QUERY, *argv).out)
    assert [child.tag for child in root] == [
        "instructions",
        "overview",
        "relevant",
        "reference",
        "additional",
    ]
    assert root[0].text.strip() == "Less < more & so on."


@pytest.mark.parametrize("option", ["--append", "--template"])
def test_what_never_ends_is_refused_at_once(capdisc, small, hermetic, option) -> None:
    os.mkfifo(hermetic / "pipe.md")
    for name in ("/dev/zero", "./pipe.md"):
        done = capdisc("render", "send invoice", option, name)
        assert (done.code, done.out) == (3, "")
        assert f"cannot read {name}: it is not a regular file" in done.err


def test_a_pipe_of_the_shell_can_be_appended(capdisc, small) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"Mind the gap.")
    os.close(writing)
    try:
        assert (
            "Mind the gap."
            in capdisc("render", "send invoice", "--append", f"/dev/fd/{reading}").out
        )
    finally:
        os.close(reading)
