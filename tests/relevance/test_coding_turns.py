"""On an ordinary day: does `capdisc hook` speak where a skill is wanted, and is it silent else?

`coding_turns.tsv` has turns of coding sessions in four languages, each with the skill that it
wants or "-", and `coding_skills.tsv` the skills. Both were written for this test; the decision was
fitted to neither.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.relevance
FOLDER = Path(__file__).parent


def read_rows(name: str) -> list[list[str]]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n").split("\t") for line in lines]


@pytest.fixture
def answers(capdisc, hermetic, write_skill) -> Mapping[str, tuple[str, list[str]]]:
    """By turn: the skill that it wants, and those that the hook names, of a session with one turn."""
    for name, description in read_rows("coding_skills.tsv"):
        write_skill(hermetic / ".agents" / "skills", name, description=description)
    assert capdisc("index", "-q").code == 0
    found = {}
    for wanted, turn in read_rows("coding_turns.tsv"):
        event = {"hook_event_name": "UserPromptSubmit", "prompt": turn}
        out = capdisc("hook", "claude", "--no-build", stdin=json.dumps(event)).out
        found[turn] = wanted, re.findall(r"^- ([\w-]+)", _context(out), re.MULTILINE)
    return found


def _context(out: str) -> str:
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def test_the_hook_is_silent_in_ordinary_turns_and_right_where_it_speaks(answers) -> None:
    spoke = {turn: pair for turn, pair in answers.items() if pair[1]}
    wrong = {turn: pair for turn, pair in spoke.items() if pair[0] not in pair[1]}
    ordinary = [turn for turn, (wanted, _) in answers.items() if wanted == "-"]
    wanting = [turn for turn, (wanted, _) in answers.items() if wanted != "-"]
    found = [turn for turn in wanting if answers[turn][0] in answers[turn][1]]
    assert len(wrong) <= 0.25 * len(spoke), wrong
    assert sum(turn in spoke for turn in ordinary) <= 0.04 * len(ordinary), wrong
    assert len(found) >= 0.5 * len(wanting), set(wanting) - set(found)
    assert sum(len(names) for _, names in spoke.values()) <= 1.5 * len(spoke)


def test_a_name_that_is_typed_always_comes_first(answers) -> None:
    (names,) = [names for turn, (_, names) in answers.items() if "threat-model" in turn]
    assert names == ["threat-model"]
