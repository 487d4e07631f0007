"""A first hour with capdisc: each command in a process of its own, in a home that knows nothing of it.

The steps are those of the README, in its order, and each step starts where the one before ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="capdisc needs a POSIX system")

MERGE = "Joins several PDF files into one. Use when PDF files are to be combined."
INVOICE = "Writes an invoice for a customer and numbers it. Use when work is to be billed."
BOARD = "Builds a kanban board from a list of open tasks. Use when tasks need columns."
DEPLOY = "Rolls the last deploy of the web shop back. Use when a release broke something."
CHANGELOG = "Turns merged pull requests into release notes. Use before a release."
SPRITES = "Packs small pictures into one sprite sheet. Use for pixel art of games."


class Person:
    """Someone with a home, a shell, and a project to stand in."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cwd = home
        for folder in (".claude", "work"):
            (home / folder).mkdir(parents=True)

    def run(self, *words: str, stdin: str = "", status: int = 0) -> str:
        """What the command prints; its exit status must be `status`."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CAPDISC_", "XDG_", "CLAUDE", "PYTEST"))
        }
        done = subprocess.run(
            [sys.executable, "-m", "capdisc", *words],
            cwd=self.cwd,
            env={**environment, "HOME": str(self.home), "LANG": "C.UTF-8"},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    def finds(self, query: str) -> list[str]:
        """The names of the hits, best first."""
        hits = json.loads(self.run("search", query, "--json"))["hits"]
        return [hit["id"].partition(":")[2] for hit in hits]

    def write_skill(self, folder: Path, description: str) -> None:
        folder.mkdir(parents=True)
        text = f"---\nname: {folder.name}\ndescription: {description}\n---\n# Steps\n\nDo it.\n"
        (folder / "SKILL.md").write_text(text)

    def enter_project(self, name: str) -> Path:
        """A new project under version control, and the person in it."""
        self.cwd = self.home / "work" / name
        (self.cwd / ".git").mkdir(parents=True)
        return self.cwd


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """One person for all steps."""
    yield Person(tmp_path_factory.mktemp("first-hour") / "home")


def test_1_the_first_search_needs_no_index(person: Person) -> None:
    person.write_skill(person.home / ".claude/skills/merge-pdfs", MERGE)
    person.write_skill(person.home / ".claude/skills/write-invoice", INVOICE)
    assert person.finds("put two PDF files into one")[0] == "merge-pdfs"


def test_2_a_new_skill_is_found_at_once(person: Person) -> None:
    person.write_skill(person.home / ".claude/skills/kanban-board", BOARD)
    assert person.finds("build a kanban board")[0] == "kanban-board"
    path = person.home / ".claude/skills/kanban-board/SKILL.md"
    path.write_text(path.read_text().replace("kanban board", "burndown chart"))
    assert person.finds("draw a burndown chart")[0] == "kanban-board"


def test_3_a_project_without_skills_has_those_of_its_user(person: Person) -> None:
    person.enter_project("empty")
    assert person.finds("bill the customer for my work")[0] == "write-invoice"


def test_4_a_project_with_skills_has_its_own_and_those_of_its_user(person: Person) -> None:
    project = person.enter_project("shop")
    person.write_skill(project / ".claude/skills/roll-back", DEPLOY)
    assert person.finds("the last release broke the shop, undo the deploy")[0] == "roll-back"
    assert person.finds("put two PDF files into one")[0] == "merge-pdfs"
    shown = person.run("render", "undo the deploy", "--budget", "600")
    assert ".claude/skills/roll-back/SKILL.md" in shown
    assert person.run("render", "thanks!", "--tier", "1,2") == ""


def test_5_a_plugin_counts_while_it_is_enabled(person: Person) -> None:
    cache = person.home / ".claude/plugins/cache/tools/releases/1.0.0"
    person.write_skill(cache / "skills/write-changelog", CHANGELOG)
    (cache / ".claude-plugin").mkdir()
    (cache / ".claude-plugin/plugin.json").write_text('{"name": "releases", "version": "1.0.0"}')
    entry = {"scope": "user", "installPath": str(cache), "version": "1.0.0"}
    registry = {"version": 2, "plugins": {"releases@tools": [entry]}}
    (person.home / ".claude/plugins/installed_plugins.json").write_text(json.dumps(registry))
    settings = person.home / ".claude/settings.json"
    settings.write_text('{"enabledPlugins": {"releases@tools": true}}\n')
    assert person.finds("write release notes from pull requests")[0] == "write-changelog"
    settings.write_text('{"enabledPlugins": {"releases@tools": false}}\n')
    assert "write-changelog" not in person.finds("write release notes from pull requests")


def test_6_a_linked_skill_of_the_user_is_read(person: Person) -> None:
    person.write_skill(person.home / "dev/sprite-sheet", SPRITES)
    link = person.home / ".claude/skills/sprite-sheet"
    link.symlink_to(person.home / "dev/sprite-sheet")
    assert person.finds("pack pictures into a sprite sheet")[0] == "sprite-sheet"


def test_7_audit_says_what_a_client_lists(person: Person) -> None:
    report = json.loads(person.run("audit", "claude", "--json"))
    assert report["skills"]
    assert "Claude Code" in person.run("audit", "claude")


def test_8_setup_puts_the_hook_in_and_takes_it_out(person: Person) -> None:
    settings = person.home / ".claude/settings.json"
    before = settings.read_bytes()
    person.run("setup", "claude", "--hook", "--yes")
    assert "capdisc hook claude" in settings.read_text().replace('"', "")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(person.cwd)}
    prompt = json.dumps({**event, "prompt": "put these two PDF files into one"})
    answer = person.run("hook", "claude", "--deadline", "60s", stdin=prompt)
    assert "merge-pdfs" in json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    thanks = json.dumps({**event, "prompt": "thanks!"})
    assert person.run("hook", "claude", "--deadline", "60s", stdin=thanks) == ""
    person.run("setup", "claude", "--undo", "--yes")
    assert settings.read_bytes() == before
