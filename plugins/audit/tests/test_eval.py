"""capdisc eval: what is hostile, missing or full. What is typed stands in eval.toml."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from capdisc_indexer.platforms import system
from capdisc_indexer.retrieval import pipeline

QUERIES = [
    {"qid": "pdf", "text": "put two PDF files into one", "lang": "en"},
    {"qid": "room", "text": "book a room for Tuesday", "lang": "en"},
    {"qid": "bill", "text": "send the customer an invoice", "lang": "en"},
]
QRELS = "pdf 0 skill:merge-pdfs 1\nroom 0 tool:create-event 2\nroom 0 tool:find-free-slot 1\nbill 0 send-invoice 1\n"


@pytest.fixture
def judged(small: Path, hermetic: Path):
    """Writes queries and judgements, the given ones or good ones, and names the two files."""

    def write(
        queries: list[dict[str, str]] | str = QUERIES, qrels: str = QRELS
    ) -> tuple[str, str]:
        lines = (
            queries
            if isinstance(queries, str)
            else "".join(f"{json.dumps(each)}\n" for each in queries)
        )
        (hermetic / "queries.jsonl").write_text(lines, encoding="utf-8")
        (hermetic / "qrels.txt").write_text(qrels, encoding="utf-8")
        return "queries.jsonl", "qrels.txt"

    return write


def test_quiet_leaves_the_figures(capdisc, judged) -> None:
    found = capdisc("eval", *judged(qrels=QRELS + "pdf 0 tool:gone 1\n"), "--quiet")
    assert found.err == ""
    assert found.out


def test_every_mode_there_is_can_be_compared(capdisc, judged) -> None:
    assert capdisc("eval", *judged(), "--compare", ",".join(pipeline.MODES)).code == 0


def test_an_old_run_stays_when_the_new_one_cannot_be_written(
    capdisc, judged, hermetic, monkeypatch
) -> None:
    (hermetic / "out.run").write_text("old")
    monkeypatch.setattr(system, "replace", _full)
    found = capdisc("eval", *judged(), "--run", "out.run")
    assert (found.code, found.out) == (4, "")
    assert (hermetic / "out.run").read_text() == "old"
    assert sorted(path.name for path in hermetic.iterdir()) == [
        "out.run",
        "qrels.txt",
        "queries.jsonl",
    ]


def _full(path: Path, target: Path) -> None:
    raise OSError(28, "No space left on device")


def test_hostile_names_cannot_steer_the_terminal(capdisc, judged) -> None:
    queries = [*QUERIES[:2], {**QUERIES[2], "lang": "\x1b[31m\n\u202ede"}]
    found = capdisc("eval", *judged(queries, QRELS + "pdf 0 \x1b[2J 1\n"))
    assert found.code == 0
    assert not {"\x1b", "\u202e"} & set(found.out + found.err)


def test_a_chart_without_matplotlib_is_a_clear_error_before_any_work(
    capdisc, judged, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = capdisc("eval", *judged(), "--plot", "chart.svg")
    assert (found.code, found.out) == (3, "")
    assert "install the extra plot: " in found.err


def test_a_reader_that_stops_early_is_no_error(small, judged) -> None:
    import subprocess

    command = (
        f"{sys.executable} -m capdisc eval {' '.join(judged())} | head -0; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.plot
@pytest.mark.parametrize("name", ["chart.svg", "chart.PNG"])
def test_a_chart_shows_each_mode_and_is_the_same_every_time(
    capdisc, judged, hermetic, name
) -> None:
    pytest.importorskip("matplotlib")
    files = judged()
    pictures = []
    for _ in range(2):
        assert capdisc("eval", *files, "--compare", "lexical,vector", "--plot", name).code == 0
        pictures.append((hermetic / name).read_bytes())
    assert pictures[0] == pictures[1]
    if name.endswith("svg"):
        assert b"lexical" in pictures[0]
        assert b"nDCG@10" in pictures[0]
    else:
        assert pictures[0].startswith(b"\x89PNG")


def test_a_link_to_a_device_stays_one(capdisc, judged, hermetic) -> None:
    (hermetic / "null").symlink_to("/dev/null")
    assert capdisc("eval", *judged(), "--run", "null").code == 0
    assert (hermetic / "null").readlink() == Path("/dev/null")
    assert capdisc("eval", "\udcff", "qrels.txt").code == 3
