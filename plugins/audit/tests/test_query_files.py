"""Queries, judgements and runs in their usual file formats."""

from __future__ import annotations

import json

import pytest

from capdisc_audit.evaluation import format_json_run, format_trec_run
from capdisc_audit.query_files import EvalQuery, parse_judgements, parse_queries
from capdisc_indexer.model.errors import InputError
from case_rows import read_rows


@pytest.mark.parametrize("text", read_rows(__file__, "json_lines"))
def test_queries_as_json_lines(text) -> None:
    assert parse_queries(text.encode(), "q") == (
        EvalQuery("1", "merge PDFs"),
        EvalQuery("2", "e-mail Ann", "en"),
    )


def test_queries_with_a_tab_between() -> None:
    found = parse_queries("1\tmerge PDFs\twith a tab\n2 \t e-mail\u2028Ann\n".encode(), "q")
    assert found == (EvalQuery("1", "merge PDFs\twith a tab"), EvalQuery("2", "e-mail\u2028Ann"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *read_rows(__file__, "no_queries"),
        ("{" * 100_000, "q:1: the line holds no query"),
        (b"1\t\xff\n", "q:1: byte 3 (0xFF) is not UTF-8"),
    ],
)
def test_queries_that_cannot_be_read_are_refused_with_their_line(text, message) -> None:
    with pytest.raises(InputError) as caught:
        parse_queries(text if isinstance(text, bytes) else text.encode(), "q")
    assert caught.value.message == message
    assert caught.value.hint


@pytest.mark.parametrize("text", read_rows(__file__, "judgements"))
def test_judgements_in_every_form_are_the_same(text) -> None:
    assert parse_judgements(text.encode(), "g") == {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}


def test_an_id_may_hold_blanks_between_tabs() -> None:
    assert parse_judgements(b"q 1\tMerge & Split\t1\n", "g") == {"q 1": {"Merge & Split": 1.0}}


@pytest.mark.parametrize(("text", "message"), read_rows(__file__, "no_judgements"))
def test_judgements_that_cannot_be_read_are_refused_with_their_line(text, message) -> None:
    with pytest.raises(InputError) as caught:
        parse_judgements(text.encode(), "g")
    assert caught.value.message == message


def test_a_run_is_what_trec_reads() -> None:
    assert (
        format_trec_run({"1": [("a", 1.0), ("b", 0.5)], "2": []})
        == "1 Q0 a 1 1.000000 capdisc\n1 Q0 b 2 0.500000 capdisc\n"
    )


def test_ids_with_blanks_stay_whole_in_a_run() -> None:
    assert format_trec_run({"1": [("a b", 1.0)]}).split("\t")[2] == "a b"


def test_a_run_in_json_has_a_line_for_every_query() -> None:
    rows = [
        json.loads(line) for line in format_json_run({"1": [("a", 1.0)], "2": []}).splitlines()
    ]
    assert rows == [
        {"qid": "1", "ids": ["a"], "scores": [1.0]},
        {"qid": "2", "ids": [], "scores": []},
    ]
