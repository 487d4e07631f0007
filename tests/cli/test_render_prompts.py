"""Prompts around a context: styles by model, templates, appended texts, messages, splits."""

import os
import re

import pytest

from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.rendering.prompt_templates import DISCOVERY_INSTRUCTIONS
from capdisc_indexer.tools.tool_table import TOOLS
from product_lists import TEMPLATES, TIERED_FORMATS

COUNT = load_token_counter()
QUERY = "send the customer an invoice as a PDF"


def test_every_tool_that_a_template_names_can_be_called(capdisc, small) -> None:
    """Templates name only tools that `capdisc call` knows (S72, S237)."""
    for name in TEMPLATES:
        out = capdisc("render", "--template", name, "--tier", "1").out
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", out))
        assert named - {"discovered_context"} <= set(TOOLS), name
    assert set(re.findall(r"\b[a-z]+_[a-z]+\b", DISCOVERY_INSTRUCTIONS["tool"])) <= set(TOOLS)


def test_every_template_that_comes_along_works(capdisc, small) -> None:
    for name in TEMPLATES:
        made = capdisc("render", QUERY, "--template", name, "--budget", "2000")
        assert made.code == 0, (name, made.err)
        assert COUNT(made.out) <= 2000
        assert "$" not in made.out.replace("$$", "")
        assert "\n\n\n" not in made.out


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
