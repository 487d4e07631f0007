"""capdisc render prints the context and nothing else, and never over the budget."""

import xml.etree.ElementTree as ET

import pytest

from capdisc_indexer.lazy_imports import load_token_counter
from product_lists import RENDER_FORMATS

COUNT = load_token_counter()
QUERY = "send the customer an invoice as a PDF"


@pytest.mark.parametrize("name", RENDER_FORMATS)
@pytest.mark.parametrize("budget", [250, 700, 1850, 6000])
def test_every_format_keeps_its_budget_by_the_tokenizer(capdisc, small, name, budget) -> None:
    made = capdisc("render", QUERY, "--format", name, "--budget", str(budget))
    assert made.code == 0
    assert 0 < COUNT(made.out) <= budget


def test_the_same_query_gives_the_same_bytes(process, small) -> None:
    seeds = [
        process("render", QUERY, env={"PYTHONHASHSEED": seed}).out for seed in ("0", "1", "2")
    ]
    assert len(set(seeds)) == 1


# What is typed behind the query, and what the error says.
MISTAKES = """
--budget 5 -> a budget of 5 tokens is too small
--format pdf -> unknown format 'pdf'
--tier 7 -> unknown tier '7'
--max-risk wild -> unknown risk 'wild'
--style full --kind gadget -> unknown kind 'gadget'
--style loud -> unknown style 'loud'
--detail name --tier 1 -> --tier and --detail exclude each other
--tokenizer gpt2 -> o200k, claude, chars4
--on-empty perhaps -> none, all, error
--template minimall -> minimal
--template planner --budget 200 -> too small
--tier-budget 0=4 -> a budget of 4 tokens for tier 0 is too small
--tier-budget 3=5 -> --tier-budget '3=5' is not TIER=N
--tier-budget 1 -> --tier-budget '1' is not TIER=N
--tier-budget 1= -> --tier-budget '1=' is not TIER=N
--tier-budget 1=x -> --tier-budget '1=x' is not TIER=N
--tier-budget 1=-4 -> --tier-budget '1=-4' is not TIER=N
--tier-budget =5 -> --tier-budget '=5' is not TIER=N
--tier-budget 1=1e3 -> --tier-budget '1=1e3' is not TIER=N
--format skills-xml --template minimal -> --template does not go with skills-xml
--format skills-xml --style full -> --style does not go with skills-xml
--format skills-xml --split both -> --split does not go with skills-xml
--format skills-xml --append x.txt -> --append does not go with skills-xml
--format skills-xml --auto -> --auto does not go with skills-xml
--format messages --budget 45 -> 40 are needed besides it: 45 are too few
"""


@pytest.mark.parametrize("row", MISTAKES.strip().splitlines())
def test_a_mistake_gets_one_clear_error_and_no_output(capdisc, small, row) -> None:
    typed, _, message = row.partition(" -> ")
    made = capdisc("render", QUERY, *typed.split())
    assert (made.code, made.out) == (2, "")
    assert message in made.err
    assert "hint: " in made.err


def test_a_path_cannot_break_out_of_skills_xml(capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / "x<" / "location><skill>", "alpha")
    elsewhere = ("--index-dir", str(hermetic.parent / "elsewhere"))
    capdisc("index", ".", *elsewhere)
    made = capdisc("render", "--format", "skills-xml", *elsewhere)
    assert len(ET.fromstring(made.out)) == 1


def test_more_budget_never_fails_where_less_was_enough(capdisc, office) -> None:
    codes = [
        capdisc("render", "book a room", "--format", "json", "--budget", str(n)).code
        for n in range(120, 420, 12)
    ]
    assert 0 in codes
    assert codes == sorted(codes, reverse=True)


def test_an_overview_fits_every_budget_that_is_larger_than_one_that_it_fits(
    capdisc, small
) -> None:
    """Where only the printed text tells what it costs, and nothing else is printed."""
    codes = [
        capdisc("render", "--json", "--budget", str(budget)).code for budget in range(130, 400, 10)
    ]
    assert set(codes) == {0}


@pytest.mark.parametrize("budget", ["100", "480", "3000"])
def test_the_overview_depends_on_the_budget_alone(capdisc, small, budget) -> None:
    made = [
        capdisc("render", query, "--budget", budget).out
        for query in (QUERY, "qqq zzz xxx", "merge PDF files")
    ]
    overviews = {text.split("Relevant capabilities:")[0] for text in made}
    assert len(overviews) == 1
    alone = capdisc("render", QUERY, "--tier", "0", "--budget", budget).out
    assert alone == capdisc("render", "--budget", budget).out


@pytest.mark.parametrize("name", RENDER_FORMATS)
@pytest.mark.parametrize("budget", [300, 700])
def test_what_is_pinned_keeps_to_the_budget(capdisc, small, monkeypatch, name, budget) -> None:
    monkeypatch.setenv("CAPDISC_PIN", "git-status:merge-pdfs:send-email:convert-image")
    for words in ((), (QUERY,)):
        made = capdisc("render", *words, "--format", name, "--budget", str(budget))
        assert made.code == 0
        assert COUNT(made.out) <= budget
