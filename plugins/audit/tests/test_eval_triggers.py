"""capdisc eval --triggers asks the phrases of capabilities and near misses, as tests with an exit code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(hermetic) -> Callable[..., Path]:
    """Write a skill with further lines of front matter into the folder `skills`."""

    def write_skill(name: str, description: str, *lines: str) -> Path:
        path = hermetic / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        front = "\n".join([f"name: {name}", f"description: {description}", *lines])
        path.write_text(f"---\n{front}\n---\n\nDo it.\n")
        return path

    return write_skill


@pytest.fixture
def skills(write) -> Callable[..., Path]:
    """Three skills whose phrases find them, and one without any."""
    write(
        "changelog-writer",
        "Writes the changelog of a release from commits.",
        "phrases: [write the changelog, what changed since the last release]",
    )
    write("release-notes", "Writes notes for users.", "phrases: [announce the new version]")
    write(
        "show-history",
        "Shows the history of commits.",
        "phrases: [who changed this file]",
        "notFor: [write a changelog]",
    )
    write("water-plants", "Waters plants.")
    return write


def _spoil(write) -> None:
    write(
        "release-notes",
        "What changed since the last release. What changed since the release.",
        "phrases: [announce the new version]",
    )


def test_phrases_that_find_their_capability_pass(capdisc, skills) -> None:
    result = capdisc("eval", "--triggers", "skills")
    assert result.code == 0
    assert (
        "4 capabilities: recall 100.0 (in three 100.0), precision 100.0; 0 below the threshold"
        in result.out
    )
    assert "without a request of its own (1): skill:water-plants" in result.err


def test_a_lost_phrase_fails_and_names_the_winner(capdisc, skills) -> None:
    _spoil(skills)
    result = capdisc("eval", "--triggers", "skills")
    assert result.code == 1
    lost, wrong = result.out.partition("triggered, and should not be")[::2]
    assert (
        '"what changed since the last release" (phrase): place 2; first skill:release-notes'
        in lost
    )
    assert (
        'skill:release-notes  "what changed since the last release" (neighbour): place 1' in wrong
    )
    report = capdisc("eval", "--triggers", "skills", "--json").json
    figures = {row["id"]: (row["recall"], row["precision"]) for row in report["capabilities"]}
    assert figures["skill:changelog-writer"] == (50.0, 100.0)
    assert figures["skill:release-notes"] == (100.0, 50.0)
    assert report["failing"] == ["skill:changelog-writer", "skill:release-notes"]
    assert report["untested"] == ["skill:water-plants"]
    assert report["since"] is None


def test_thresholds_and_depth_decide_what_fails(capdisc, skills) -> None:
    _spoil(skills)
    lenient = ("--min-recall", "50", "--min-precision", "50")
    assert capdisc("eval", "--triggers", "skills", *lenient).code == 0
    assert capdisc("eval", "--triggers", "skills", "--min-recall", "50").code == 1
    deep = capdisc("eval", "--triggers", "skills", "-k", "2", "--json").json
    assert deep["recall"] == 100.0


def test_what_a_capability_is_not_for_is_a_near_miss(capdisc, write) -> None:
    write("edit", "Writes letters and memos.", "notFor: [letters and memos]")
    result = capdisc("eval", "--triggers", "skills", "--json")
    (failure,) = result.json["capabilities"][0]["failures"]
    assert (failure["origin"], failure["should_trigger"], failure["rank"]) == ("not for", False, 1)
    assert result.code == 1


FORMS = {
    "evals/trigger-evals.json": '[{"query": "list the commits", "should_trigger": true}, {"query": "water the plants", "should_trigger": false}]',
    "evals/evals.json": '{"skill_name": "x", "evals": [{"prompt": "list the commits", "should_trigger": true}, {"prompt": "water the plants", "should_trigger": false}]}',
    "evals/trigger.jsonl": '{"query": "list the commits", "should_trigger": true}\n{"query": "water the plants", "should_trigger": false}\n',
    "triggers.yaml": "should_trigger:\n  - list the commits\nshould_not_trigger: [water the plants]\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_files_beside_a_skill_hold_further_requests(capdisc, skills, hermetic, name) -> None:
    path = hermetic / "skills" / "show-history" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(FORMS[name])
    report = capdisc("eval", "--triggers", "skills", "--json").json
    (row,) = [row for row in report["capabilities"] if row["id"] == "skill:show-history"]
    assert row["requests"] == 2


def test_a_file_alone_is_asked_of_the_index(capdisc, skills, hermetic) -> None:
    capdisc("index", "skills")
    rows = [
        {"query": "water the plants", "should_trigger": True, "skill": "water-plants"},
        {"query": "write the changelog", "should_trigger": False, "skill": "changelog-writer"},
    ]
    (hermetic / "wishes.json").write_text(json.dumps(rows))
    result = capdisc("eval", "--triggers", "wishes.json")
    assert result.code == 1
    assert "2 tests of 2 capabilities: recall 100.0 (in three 100.0), precision 50.0" in result.out
    assert result.err == ""


def test_files_of_vendors_say_which_skill_is_expected(capdisc, skills, hermetic) -> None:
    """Rows with `expected_skill`, as vendors of skills publish them; none means that none fits."""
    _spoil(skills)
    capdisc("index", "skills")
    rows = [
        {"id": "a-1", "prompt": "what changed since the last release", "expected_skill": "changelog-writer"},
        {"id": "a-2", "prompt": "what changed since a release?", "expected_skill": "changelog-writer"},
        {"id": "a-3", "prompt": "water the plants", "expected_skill": "water-plants",
         "should_not_trigger": "show-history"},
        {"id": "a-4", "prompt": "who changed this", "expected_skill": "neither", "should_not_trigger": "water-plants"},
    ]  # fmt: skip
    (hermetic / "cases.json").write_text(json.dumps({"test_cases": rows}))
    nobody = [
        {"id": "n-1", "prompt": "waters of the plants", "expected_skill": ""},
        {"id": "n-2", "prompt": "qqxzv wkrtl", "expected_skill": None},
        {"id": "n-3", "prompt": "zzvkq", "expected_skill": "none"},
    ]
    (hermetic / "nobody.jsonl").write_text("".join(json.dumps(row) + "\n" for row in nobody))
    report = capdisc("eval", "--triggers", "cases.json", "nobody.jsonl", "--json").json
    assert report["tests"] == 8
    assert (report["recall"], report["recall_in_three"]) == (33.3333, 100.0)
    assert report["unwanted"] == 3
    assert [row["request"] for row in report["false_alarms"]] == ["waters of the plants"]
    assert report["confused"] == [
        {"id": "skill:changelog-writer", "winner": "skill:release-notes", "requests": 2}
    ]
    assert report["failing"] == ["skill:changelog-writer"]
    text = capdisc("eval", "--triggers", "cases.json", "nobody.jsonl").out
    assert 'false alarms (1)\n  "waters of the plants" (nobody.jsonl): skill:water-plants' in text
    assert "  skill:changelog-writer: 2 times skill:release-notes" in text
    assert "recall 33.3 (in three 100.0), precision 50.0; false alarms 1 of 3; 1 below" in text


def test_the_prompts_of_an_evals_file_are_for_its_skill(capdisc, skills, hermetic) -> None:
    capdisc("index", "skills")
    evals = [{"id": 1, "prompt": "water the plants", "expected_output": "wet plants", "files": []}]
    document = {"skill_name": "water-plants", "evals": evals}
    (hermetic / "evals.json").write_text(json.dumps(document))
    report = capdisc("eval", "--triggers", "evals.json", "--json").json
    assert (report["tests"], report["recall"], report["false_alarms"]) == (1, 100.0, [])


def test_files_and_folders_are_not_asked_together(capdisc, skills, hermetic) -> None:
    (hermetic / "wishes.json").write_text("[]")
    done = capdisc("eval", "--triggers", "skills", "wishes.json")
    assert (done.code, done.out) == (2, "")
    assert "name files, or one folder" in done.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[{"query": "x", "should_trigger": true, "skill": "nobody"}]',
            "the request 'x' names 'nobody', which is not in this index",
        ),
        ('[{"query": "x y", "should_trigger": false}]', "the request 'x y' names no skill"),
        ('[{"query": "x"}]', "holds no request with should_trigger"),
        ("a: [", "cannot be read"),
        ("{]\n{", "is no JSON"),
    ],
)
def test_a_wrong_file_is_an_error(capdisc, skills, hermetic, text, problem) -> None:
    capdisc("index", "skills")
    (hermetic / "wishes.json").write_text(text)
    result = capdisc("eval", "--triggers", "wishes.json")
    assert result.code == 3
    assert problem in result.err
    assert result.out == ""


def _git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@pytest.mark.parametrize("args", [("skills",), ()])
def test_what_got_worse_since_a_commit_fails(capdisc, skills, hermetic, args) -> None:
    _git(hermetic, "init", "-q")
    _git(hermetic, "add", ".")
    _git(hermetic, "commit", "-qm", "first")
    capdisc("index", "skills")
    command = ("eval", "--triggers", *args, "--since", "HEAD")
    assert "since HEAD: no difference" in capdisc(*command).out
    _spoil(skills)
    capdisc("index")
    result = capdisc(*command)
    assert result.code == 1
    assert "worse (2)" in result.out
    _git(hermetic, "commit", "-qam", "second")
    again = capdisc(*command, "--json")
    assert (again.code, again.json["since"]["worse"]) == (0, [])
    assert len(again.json["failing"]) == 2
    (hermetic / "skills" / "release-notes" / "SKILL.md").unlink()
    capdisc("index")
    assert "better (1)\n  skill:changelog-writer" in capdisc(*command).out


@pytest.mark.parametrize("revision", ["nope", "--output=x", "HEAD:skills"])
def test_an_unknown_commit_is_an_error(capdisc, skills, hermetic, revision) -> None:
    _git(hermetic, "init", "-q")
    result = capdisc("eval", "--triggers", "skills", f"--since={revision}")
    assert result.code == 3
    assert f"git knows no commit {revision!r}" in result.err


def test_options_of_the_other_form_are_refused(capdisc, hermetic) -> None:
    assert capdisc("eval").code == 2
    assert capdisc("eval", "queries.jsonl").code == 2
    assert capdisc("eval", "a", "b", "--since", "HEAD").code == 2
    assert capdisc("eval", "--triggers", "a", "--compare", "lexical").code == 2
    assert capdisc("eval", "--triggers", "--compare", "lexical,vector").code == 2


def test_nothing_to_ask_is_an_error(capdisc, write) -> None:
    write("water-plants", "Waters plants.")
    result = capdisc("eval", "--triggers", "skills")
    assert result.code == 3
    assert "no capability here has phrases" in result.err
