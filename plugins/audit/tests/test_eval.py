"""capdisc eval: its table for people and its JSON for programs."""

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
METRICS = ["nDCG@10", "R@1", "R@5", "R@10", "MRR", "C@10", "refused"]


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


def test_a_table_in_percent_that_fits_a_terminal(capdisc, judged) -> None:
    found = capdisc("eval", *judged())
    assert (found.code, found.err) == (0, "")
    heading, whole, spread, *_, times, legend = found.out.splitlines()
    assert heading.split() == ["n", *METRICS]
    assert whole.split() == [
        "all",
        "3",
        "100.0",
        "83.3",
        "100.0",
        "100.0",
        "100.0",
        "100.0",
        "0.0",
    ]
    assert spread.split()[0] == "±"
    assert "p50" in times
    assert "95 % interval" in legend
    assert max(map(len, found.out.splitlines())) <= 80
    assert "\x1b" not in found.out


def test_groups_by_language_and_by_number_of_answers(capdisc, judged) -> None:
    queries = [QUERIES[0], QUERIES[1], {**QUERIES[2], "lang": "de"}]
    rows = [line.split()[:2] for line in capdisc("eval", *judged(queries)).out.splitlines()]
    assert rows[3:7] == [["lang=de", "1"], ["lang=en", "2"], ["gold=1", "2"], ["gold>1", "1"]]


def test_json_says_everything_a_program_needs(capdisc, judged) -> None:
    found = capdisc("eval", *judged(), "--json").json
    assert (found["schema_version"], found["queries"], found["unit"], found["limit"]) == (
        1,
        3,
        "percent",
        100,
    )
    assert (
        found["unknown_ids"]
        == found["unjudged_queries"]
        == found["ambiguous_ids"]
        == found["unasked_queries"]
        == []
    )
    (mode,) = found["modes"]
    assert set(mode["latency_ms"]) == {"p50", "p95", "p99"}
    assert 0 < mode["latency_ms"]["p50"] <= mode["latency_ms"]["p99"]
    whole = mode["groups"]["all"]
    assert whole["n"] == 3
    assert set(METRICS) <= set(whole)
    assert set(whole["half_width_95"]) == set(METRICS)


def test_a_name_counts_as_the_id_that_it_means(capdisc, judged) -> None:
    qrels = "pdf\tmerge_pdfs\t1\nbill\tSEND-INVOICE\t1\nbill\ttool:send-invoice\t2\n"
    found = capdisc("eval", *judged(QUERIES[::2], qrels), "--json")
    assert found.err == ""
    assert found.json["modes"][0]["groups"]["all"]["MRR"] == 100
    assert list(found.json["modes"][0]["groups"]) == ["all"]


def test_what_the_index_lacks_is_named_and_counts_as_not_found(capdisc, judged) -> None:
    found = capdisc(
        "eval", *judged(qrels=QRELS + "pdf 0 tool:gone 1\nroom 0 tool:gone 1\n"), "--json"
    )
    assert found.json["unknown_ids"] == ["tool:gone"]
    assert "not in the index, so never found (1): tool:gone" in found.err
    assert found.json["modes"][0]["groups"]["all"]["R@10"] == pytest.approx(
        100 * (1 / 2 + 2 / 3 + 1) / 3, abs=0.01
    )


def test_queries_and_judgements_without_each_other_are_left_out_and_said(capdisc, judged) -> None:
    extra = [*QUERIES, {"qid": "lonely", "text": "hello"}, {"qid": "zero", "text": "hello"}]
    found = capdisc(
        "eval",
        *judged(extra, QRELS + "stray 0 skill:merge-pdfs 1\nzero 0 skill:merge-pdfs 0\n"),
        "--json",
    )
    assert found.json["queries"] == 3
    assert found.json["unjudged_queries"] == ["lonely", "zero"]
    assert found.json["unasked_queries"] == ["stray"]
    assert "without a judgement (2): lonely, zero" in found.err
    assert "not among the queries (1): stray" in found.err


def test_quiet_leaves_the_figures(capdisc, judged) -> None:
    found = capdisc("eval", *judged(qrels=QRELS + "pdf 0 tool:gone 1\n"), "--quiet")
    assert found.err == ""
    assert found.out


def test_refusals_are_counted(capdisc, judged) -> None:
    queries = [QUERIES[0], {"qid": "room", "text": "frobnicate the quuxly zorbleflux"}]
    whole = capdisc("eval", *judged(queries), "--json").json["modes"][0]["groups"]["all"]
    assert (whole["refused"], whole["MRR"]) == (50, 50)


def test_either_file_may_come_through_a_pipe(capdisc, judged) -> None:
    queries, qrels = judged()
    plain = capdisc("eval", queries, qrels).out.splitlines()[:-2]
    assert (
        capdisc("eval", "-", qrels, stdin=Path(queries).read_text()).out.splitlines()[:-2] == plain
    )
    assert (
        capdisc("eval", queries, "-", stdin=Path(qrels).read_text()).out.splitlines()[:-2] == plain
    )


def test_modes_are_compared_in_a_row_each(capdisc, judged) -> None:
    found = capdisc("eval", *judged(), "--compare", "lexical,vector, hybrid")
    rows = [line.split() for line in found.out.splitlines()]
    assert [row[0] for row in rows[1:-1:2]] == ["lexical", "vector", "hybrid"]
    assert max(map(len, found.out.splitlines())) <= 80
    modes = capdisc("eval", *judged(), "--compare", "lexical,hybrid", "--json").json["modes"]
    assert [each["mode"] for each in modes] == ["lexical", "hybrid"]


def test_every_mode_there_is_can_be_compared(capdisc, judged) -> None:
    assert capdisc("eval", *judged(), "--compare", ",".join(pipeline.MODES)).code == 0


def test_the_limit_is_how_deep_the_list_is(capdisc, judged) -> None:
    whole = capdisc("eval", *judged(), "--limit", "1", "--json").json["modes"][0]["groups"]["all"]
    assert whole["R@10"] == whole["R@1"]


def test_a_run_is_written_whole_and_scores_the_same(capdisc, judged, hermetic) -> None:
    files = judged()
    capdisc("eval", *files, "--run", "out.run", "--limit", "3")
    rows = [line.split() for line in (hermetic / "out.run").read_text().splitlines()]
    assert rows[0][:4] == ["pdf", "Q0", "skill:merge-pdfs", "1"]
    assert {row[5] for row in rows} == {"capdisc"}
    assert [row[3] for row in rows[:3]] == ["1", "2", "3"]
    capdisc("eval", *files, "--run", "out.jsonl")
    listed = [json.loads(line) for line in (hermetic / "out.jsonl").read_text().splitlines()]
    assert [row["qid"] for row in listed] == ["pdf", "room", "bill"]
    assert [len(row["ids"]) for row in listed] == [len(row["scores"]) for row in listed]
    assert sorted(path.name for path in hermetic.iterdir()) == [
        "out.jsonl",
        "out.run",
        "qrels.txt",
        "queries.jsonl",
    ]


def test_a_link_or_a_pipe_stays_what_it_is(capdisc, judged, hermetic) -> None:
    (hermetic / "real.run").write_text("old")
    (hermetic / "link.run").symlink_to("real.run")
    assert capdisc("eval", *judged(), "--run", "link.run").code == 0
    assert (hermetic / "link.run").is_symlink()
    assert (hermetic / "real.run").read_text().startswith("pdf Q0")
    (hermetic / "null").symlink_to("/dev/null")
    assert capdisc("eval", *judged(), "--run", "null").code == 0
    assert (hermetic / "null").readlink() == Path("/dev/null")


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


def test_a_degraded_search_is_said(capdisc, judged) -> None:
    found = capdisc("eval", *judged(), "--encoder", "/nope", "--json")
    assert "words alone" in found.err
    assert found.json["modes"][0]["degraded"]


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (("queries.jsonl",), 2, "QRELS"),
        (("-", "-"), 2, "only one of the two"),
        (("queries.jsonl", "gone"), 3, "cannot read gone"),
        ((".", "qrels.txt"), 3, "cannot read ."),
        (("queries.jsonl", "queries.jsonl"), 3, "queries.jsonl:1: the line holds no judgement"),
        (("qrels.txt", "qrels.txt"), 3, "qrels.txt:1: the line holds no query"),
        (("queries.jsonl", "qrels.txt", "--mode", "psychic"), 2, "unknown mode 'psychic'"),
        (
            ("queries.jsonl", "qrels.txt", "--compare", "lexical,psychic"),
            2,
            "unknown mode 'psychic'",
        ),
        (("queries.jsonl", "qrels.txt", "--compare", ","), 2, "names no mode"),
        (
            ("queries.jsonl", "qrels.txt", "--compare", "vector", "--mode", "lexical"),
            2,
            "exclude each other",
        ),
        (
            ("queries.jsonl", "qrels.txt", "--compare", "vector,lexical", "--run", "x"),
            2,
            "one mode",
        ),
        (("queries.jsonl", "qrels.txt", "--run", "no/such/folder/x"), 3, "cannot write"),
        (("queries.jsonl", "qrels.txt", "--run", "."), 3, "cannot write"),
        (("queries.jsonl", "qrels.txt", "--run", "-"), 2, "stdout is for the figures"),
        (
            ("queries.jsonl", "qrels.txt", "--plot", "chart.pdf"),
            2,
            "no chart can be written as chart.pdf",
        ),
        (("queries.jsonl", "qrels.txt", "--limit", "0"), 2, ""),
        (
            ("queries.jsonl", "qrels.txt", "--index-dir", "/nonexistent"),
            4,
            "there is no index yet",
        ),
        (("\udcff", "qrels.txt"), 3, "cannot read"),
    ],
)
def test_a_mistake_gets_one_clear_error_and_no_output(
    capdisc, judged, argv, code, message
) -> None:
    judged()
    found = capdisc("eval", *argv)
    assert (found.code, found.out) == (code, "")
    assert found.err.startswith("error: ")
    assert message in found.err
    assert "hint: " in found.err


@pytest.mark.parametrize(
    ("queries", "qrels", "message"),
    [
        ("", QRELS, "queries.jsonl holds no queries"),
        (QUERIES, "", "qrels.txt holds no judgements"),
        (
            QUERIES,
            "other 0 skill:merge-pdfs 1\n",
            "no query of queries.jsonl has a judgement in qrels.txt",
        ),
        (QUERIES, "pdf 0 a 1\nbill 0 b 1\n", "no id of qrels.txt is in this index (such as a)"),
    ],
)
def test_files_that_leave_nothing_to_measure_are_an_error(
    capdisc, judged, queries, qrels, message
) -> None:
    found = capdisc("eval", *judged(queries, qrels))
    assert (found.code, found.out) == (3, "")
    assert message in found.err


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


def test_a_reader_that_stops_early_is_no_error(small, judged) -> None:
    import subprocess

    command = (
        f"{sys.executable} -m capdisc eval {' '.join(judged())} | head -0; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_contexts_are_measured_by_the_tokens_they_spend(capdisc, judged) -> None:
    """Each budget has the share of right answers in the text, and no text is over its budget."""
    found = capdisc("eval", *judged(), "--budget", "1200,60,300", "--json").json
    assert [row["budget"] for row in found["budgets"]] == [60, 300, 1200]
    for row in found["budgets"]:
        for way in ("context", "first_hits", "listing"):
            assert 0 <= row[way]["tokens"] <= row["budget"]
            assert 0 <= row[way]["recall"] <= 100
    tight, usual, wide = (row["context"]["recall"] for row in found["budgets"])
    assert tight <= usual <= wide == 100.0
    assert found["budgets"][0]["listing"]["recall"] < found["budgets"][1]["context"]["recall"]


def test_the_table_of_contexts_has_a_row_for_each_budget(capdisc, judged) -> None:
    found = capdisc("eval", *judged(), "--budgets", "300,1200")
    heading, first, second, legend = found.out.splitlines()
    assert heading.split() == ["budget", "context", "plain", "list", "first", "hits", "listing"]
    assert [first.split()[0], second.split()[0]] == ["300", "1,200"]
    assert legend.startswith("3 queries")


@pytest.mark.parametrize("text", ["x", "300,", "0", "-5", "1.5", "99999999", "300;400"])
def test_a_budget_that_is_no_list_of_tokens_is_a_mistake(capdisc, judged, text) -> None:
    found = capdisc("eval", *judged(), "--budget", text)
    if text == "300,":
        assert found.code == 0
    else:
        assert (found.code, found.out) == (2, "")
        assert "--budget" in found.err


def test_budgets_go_with_one_mode_and_no_run(capdisc, judged, tmp_path) -> None:
    for extra in (("--compare", "lexical,hybrid"), ("--run", str(tmp_path / "run.txt"))):
        assert capdisc("eval", *judged(), "--budget", "300", *extra).code == 2
