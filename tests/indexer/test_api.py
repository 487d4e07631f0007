"""The front door of the library, as a program that embeds it would use it."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import capdisc_indexer as cd
from capdisc_indexer import api
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.text.token_counts import find_tokenizer, make_counter
from case_rows import read_rows


@pytest.fixture
def roots(hermetic, write_skill) -> list[Path]:
    write_skill(hermetic / "skills", "merge-pdfs", description="Puts several PDF files into one.")
    write_skill(hermetic / "skills", "send-invoice", description="Sends an invoice to a customer.")
    return [hermetic / "skills"]


@pytest.fixture
def index(roots, hermetic) -> Iterator[api.OpenIndex]:
    cd.build(roots, hermetic / "index")
    with cd.open_index(hermetic / "index") as opened:
        yield opened


def test_the_example_in_the_documentation_runs(hermetic) -> None:
    outcome = doctest.testmod(api)
    assert (outcome.failed, outcome.attempted > 5) == (0, True)


def test_every_name_of_the_front_door_is_there() -> None:
    assert all(getattr(cd, name) is not None for name in cd.__all__)
    assert set(cd.__all__) <= set(dir(cd))
    with pytest.raises(AttributeError, match="has no attribute 'serach'"):
        cd.serach  # noqa: B018


def test_importing_it_loads_no_engine() -> None:
    script = (
        "import sys, json, capdisc_indexer\n"
        "print(json.dumps([name for name in ('tantivy', 'numpy', 'lancedb') if name in sys.modules]))"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    assert json.loads(output) == []


def test_a_build_says_what_it_did_and_the_next_one_reads_nothing_again(roots, hermetic) -> None:
    stages: list[str] = []
    first = cd.build(roots, hermetic / "index", progress=lambda stage, *_: stages.append(stage))
    second = cd.build([str(root) for root in roots], str(hermetic / "index"))
    assert (first.counts["added"], second.counts["parsed"], second.published) == (2, 0, False)
    assert stages


def test_search_gives_hits_in_order_and_takes_filters(index) -> None:
    ranking = index.search("put two PDF documents together")
    assert ranking.hits[0].id == "skill:merge-pdfs"
    assert index.search("put two PDF documents together", kinds=["tool"]).hits == ()
    assert index.search(["an invoice", "for the customer"], limit=1).hits[0].id.endswith("invoice")
    nothing = index.search("merge PDF files", is_available=lambda header: False)
    assert nothing.hits == ()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("budget", [200, 400, 3_000])
def test_a_context_keeps_its_budget_and_tells_its_size(index, name, budget) -> None:
    rendered = index.render("put two PDF files together", budget=budget, format=name)
    count = make_counter(find_tokenizer("o200k")).count(rendered.text)
    assert count == rendered.tokens <= budget


def test_the_same_key_gives_the_same_bytes(index) -> None:
    key = b"k" * 32
    texts = {index.render("send an invoice", mark_key=key).text for _ in range(3)}
    others = {index.render("send an invoice").text for _ in range(2)}
    assert (len(texts), len(others)) == (1, 2)


def test_show_gives_the_whole_and_names_near_ids(index) -> None:
    assert index.show("send-invoice").description == "Sends an invoice to a customer."
    with pytest.raises(cd.CapdiscError) as caught:
        index.show("send-invoices")
    assert "send-invoice" in caught.value.hint


def test_words_alone_answer_without_an_encoder(index, hermetic) -> None:
    with cd.open_index(hermetic / "index", encoder=None) as without:
        assert without.search("send an invoice").hits[0].id == "skill:send-invoice"
    with cd.open_index(hermetic / "index", encoder=str(hermetic / "no-model")) as broken:
        ranking = broken.search("send an invoice")
    assert ranking.hits[0].id == "skill:send-invoice"
    assert "searching by words alone" in " ".join(ranking.degraded)


@pytest.mark.parametrize(
    ("options", "message"),
    read_rows(__file__, "what_cannot_be_rendered_is_said"),
)
def test_what_cannot_be_rendered_is_said(index, options, message) -> None:
    with pytest.raises(cd.CapdiscError, match=message):
        index.render("send an invoice", **options)


def test_no_index_is_an_error_with_a_hint(hermetic) -> None:
    with pytest.raises(cd.CapdiscError, match="there is no index yet") as caught:
        cd.open_index(hermetic / "nothing")
    assert caught.value.hint


def test_validation_names_the_file_the_line_and_the_rule(roots) -> None:
    (roots[0] / "broken").mkdir()
    (roots[0] / "broken" / "SKILL.md").write_text("no frontmatter here\n")
    findings = cd.validate(roots).chosen.findings
    assert {Path(finding.path).parent.name for finding in findings} == {"broken"}
    assert all(finding.code and finding.message for finding in findings)


def test_watching_gives_an_update_for_the_first_build(roots, hermetic) -> None:
    updates = cd.watch(roots, hermetic / "index", options=cd.WatchOptions(poll=True))
    first = next(updates)
    updates.close()
    assert first.report is not None
    assert first.report.counts["added"] == 2


def test_talk_renders_the_overview_alone_unless_the_gate_is_off(index) -> None:
    request = index.render("join two PDF documents", budget=600)
    talk = index.render("thanks, merge looks good to me", budget=600)
    answered = index.render("thanks, merge looks good to me", budget=600, gate="off")
    assert request.gate.is_request and "merge-pdfs" in request.text
    assert not talk.gate.is_request and talk.text == index.render("hello", budget=600).text
    assert talk.text != answered.text
    with pytest.raises(UsageError, match="unknown gate"):
        index.render("join two PDF documents", gate="maybe")


def test_a_search_tells_whether_its_text_is_a_request(index) -> None:
    assert index.search("join two PDF documents").gate.is_request
    assert not index.search("hello").gate.is_request


def test_a_context_shows_as_many_hits_as_its_limit(hermetic, write_skill) -> None:
    subjects = "books songs cars plants rivers boats trains birds coins maps stars tools".split()
    for subject in subjects:
        write_skill(
            hermetic / "skills", f"list-{subject}", description=f"Makes a list of {subject}."
        )
    cd.build([hermetic / "skills"], hermetic / "index")
    with cd.open_index(hermetic / "index") as index:
        for limit in (3, 8):
            printed = index.render(
                "make a list of things", budget=9_000, limit=limit, levels=(1,)
            ).context
            assert len(printed.tiers[0].blocks) == limit
