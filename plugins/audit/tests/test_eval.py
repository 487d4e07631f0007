"""capdisc eval: what is hostile, missing or full. What is typed stands in eval.toml."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from capdisc_indexer.platforms import system

QUERIES = '{"qid": "pdf", "text": "put two PDF files into one"}\n'
FILES = ("queries.jsonl", "qrels.txt")


@pytest.fixture(autouse=True)
def judged(small: Path, hermetic: Path) -> None:
    """A query with its judgement."""
    (hermetic / "queries.jsonl").write_text(QUERIES)
    (hermetic / "qrels.txt").write_text("pdf 0 skill:merge-pdfs 1\n")


def test_an_old_run_stays_when_the_new_one_cannot_be_written(
    capdisc, hermetic, monkeypatch
) -> None:
    (hermetic / "out.run").write_text("old")
    monkeypatch.setattr(system, "replace", _full)
    found = capdisc("eval", *FILES, "--run", "out.run")
    assert (found.code, found.out) == (4, "")
    assert (hermetic / "out.run").read_text() == "old"
    assert sorted(path.name for path in hermetic.iterdir()) == [
        "out.run",
        "qrels.txt",
        "queries.jsonl",
    ]


def _full(path: Path, target: Path) -> None:
    raise OSError(28, "No space left on device")


def test_a_chart_without_matplotlib_is_a_clear_error_before_any_work(capdisc, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = capdisc("eval", *FILES, "--plot", "chart.svg")
    assert (found.code, found.out) == (3, "")
    assert "install the extra plot: " in found.err


@pytest.mark.plot
@pytest.mark.parametrize("name", ["chart.svg", "chart.PNG"])
def test_a_chart_shows_each_mode_and_is_the_same_every_time(capdisc, hermetic, name) -> None:
    pytest.importorskip("matplotlib")
    pictures = []
    for _ in range(2):
        assert capdisc("eval", *FILES, "--compare", "lexical,vector", "--plot", name).code == 0
        pictures.append((hermetic / name).read_bytes())
    assert pictures[0] == pictures[1]
    if name.endswith("svg"):
        assert b"lexical" in pictures[0]
        assert b"nDCG@10" in pictures[0]
    else:
        assert pictures[0].startswith(b"\x89PNG")
