"""Stored facts and open questions."""

import json
import subprocess
import sys

import pytest

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_sessions import fact_files
from capdisc_sessions.fact_files import Fact
from capdisc_sessions.fact_texts import MAX_VALUE


def names(call):
    return [each["name"] for each in call("list_known_facts")["facts"]]


def test_a_fact_is_there_in_a_new_process_with_its_reason(call, desk) -> None:
    """A stored fact is read by a new process with its reason (S48, S50)."""
    call("add_fact", name="vip threshold", value="100,000 USD", reasoning="the handbook says so")
    script = (
        "from pathlib import Path; from capdisc_sessions import fact_files\n"
        f"fact, = fact_files.list_facts(Path({str(desk.state_dir)!r})); print(fact.value, fact.reasoning, sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "100,000 USD|the handbook says so\n"


def test_another_spelling_of_the_name_replaces_the_fact_and_says_which(call) -> None:
    """A fact under another spelling of its name replaces the old one, which is returned (S48)."""
    call("add_fact", name="userAge", value=41)
    done = call("add_fact", name="the user's age", value=42)
    assert (done["added"]["value"], done["replaced"][0]["value"]) == (42, 41)
    assert names(call) == ["the user's age"]


def test_a_name_with_what_cannot_be_seen_is_kept_without_it(call) -> None:
    assert call("add_fact", name="a\x00b", value=1)["added"]["name"] == "ab"
    assert call("add_fact", name="ab", value=2)["replaced"][0]["value"] == 1


def test_questions_without_an_answer_are_listed_until_they_have_one(call) -> None:
    """Unanswered questions are listed with their count until a fact answers them (S50)."""
    for _ in range(2):
        call("resolve_fact", question="Where is the Christmas party?")
    call("resolve_fact", question="Who is the release manager?")
    asked = call("get_unresolved_facts")
    assert [(each["text"], each["count"]) for each in asked["questions"]] == [
        ("Where is the Christmas party?", 2)
    ]
    call("add_fact", name="christmas party", value="at the harbour")
    call("resolve_fact", question="Where is the Christmas party?")
    assert call("get_unresolved_facts") == {"questions": [], "total": 0}


def test_the_file_has_a_line_for_each_and_is_its_owners_alone(call, desk) -> None:
    call("add_fact", name="a", value="b")
    call("resolve_fact", question="what is gross margin?")
    path = desk.state_dir / "facts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [next(iter(row)) for row in rows] == ["fact", "question"]
    assert path.stat().st_mode & 0o777 == 0o600


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


@pytest.mark.parametrize(
    "line", ["{", "[]", "1", '{"fact": 1, "value": 2}', '{"question": "x"}', "[" * 99_999]
)
def test_a_line_that_is_no_fact_is_named(tmp_path, line) -> None:
    fact_files.add_facts(tmp_path / "s", [Fact(name="a", value="b")])
    path = tmp_path / "s" / "facts.jsonl"
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(InputError, match="line 2 is neither"):
        fact_files.list_facts(tmp_path / "s")
    with pytest.raises(InputError):
        fact_files.add_facts(tmp_path / "s", [Fact(name="c", value="d")])
    assert path.read_text().endswith(f"{line}\n")


@pytest.mark.parametrize("name", ["", " ", "\u200b"])
def test_a_fact_without_a_name_is_refused(tmp_path, name) -> None:
    with pytest.raises(UsageError):
        fact_files.add_facts(tmp_path / "s", [Fact(name=name, value="x")])


def test_a_value_that_is_too_long_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="more than"):
        fact_files.add_facts(tmp_path / "s", [Fact(name="a", value="x" * (MAX_VALUE + 1))])


def test_the_number_of_facts_has_an_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fact_files, "MAX_FACTS", 2)
    fact_files.add_facts(tmp_path / "s", [Fact(name=name, value=1) for name in ("uno", "due")])
    with pytest.raises(UsageError, match="more than 2 facts"):
        fact_files.add_facts(tmp_path / "s", [Fact(name="tre", value=1)])


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
@pytest.mark.parametrize("row", ['{"question": "q", "count": %s, "first": "", "last": ""}',
                                 '{"fact": "f", "value": %s, "reasoning": "", "at": ""}'])  # fmt: skip
def test_a_number_that_is_none_is_a_damaged_line(call, desk, row, number) -> None:
    call("add_fact", name="a", value="b")
    with (desk.state_dir / "facts.jsonl").open("a") as stream:
        stream.write(row % number + "\n")
    with pytest.raises(InputError, match="line 2 is neither a fact nor a question"):
        fact_files.list_facts(desk.state_dir)


def test_a_value_that_is_no_number_is_refused(desk) -> None:
    with pytest.raises(UsageError, match="not a number"):
        fact_files.add_facts(desk.state_dir, [Fact(name="a", value=float("nan"))])
