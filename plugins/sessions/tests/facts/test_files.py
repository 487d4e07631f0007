"""Stored facts and open questions."""

import subprocess
import sys

import pytest

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_sessions import fact_files
from capdisc_sessions.fact_files import Fact
from capdisc_sessions.fact_texts import MAX_VALUE


def test_a_name_with_what_cannot_be_seen_is_kept_without_it(call) -> None:
    assert call("add_fact", name="a\x00b", value=1)["added"]["name"] == "ab"
    assert call("add_fact", name="ab", value=2)["replaced"][0]["value"] == 1


def test_two_processes_lose_none_of_each_others_facts(tmp_path) -> None:
    script = (
        "import sys; from pathlib import Path; from capdisc_sessions import fact_files\n"
        f"for n in range(10): fact_files.add_facts(Path({str(tmp_path / 's')!r}), "
        "[fact_files.Fact(name=f'{sys.argv[1]} number {n}', value=n)])"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, letter]) for letter in ("left", "right")
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert len(fact_files.list_facts(tmp_path / "s")) == 20


QUESTION = '{"question": "q", "count": %s, "first": "", "last": ""}'
FACT = '{"fact": "f", "value": %s, "reasoning": "", "at": ""}'


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "1", '{"fact": 1, "value": 2}', '{"question": "x"}', "[" * 99_999),
        *(row % number for row in (QUESTION, FACT) for number in ("1e999", "NaN", "-Infinity")),
    ],
)
def test_a_line_that_is_no_fact_is_named(tmp_path, line) -> None:
    fact_files.add_facts(tmp_path, [Fact(name="a", value="b")])
    path = tmp_path / "facts.jsonl"
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(InputError, match="line 2 is neither a fact nor a question"):
        fact_files.list_facts(tmp_path)
    with pytest.raises(InputError):
        fact_files.add_facts(tmp_path, [Fact(name="c", value="d")])
    assert path.read_text().endswith(f"{line}\n")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *((name, "x", "needs a name and a value") for name in ("", " ", "\u200b")),
        ("a", "x" * (MAX_VALUE + 1), "more than"),
        ("a", float("nan"), "not a number"),
    ],
)
def test_what_is_no_fact_is_refused(tmp_path, name, value, said) -> None:
    with pytest.raises(UsageError, match=said):
        fact_files.add_facts(tmp_path, [Fact(name=name, value=value)])


def test_the_number_of_facts_has_an_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fact_files, "MAX_FACTS", 2)
    fact_files.add_facts(tmp_path, [Fact(name=name, value=1) for name in ("uno", "due")])
    with pytest.raises(UsageError, match="more than 2 facts"):
        fact_files.add_facts(tmp_path, [Fact(name="tre", value=1)])
