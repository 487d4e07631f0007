"""capdisc validate names skills of one collection whose descriptions answer the same request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CHANGELOG = "Writes a changelog from git commits, grouped by kind of change, for a new version."
NOTES = "Turns git commits of a new version into release notes and a changelog for customers."
OTHERS = {
    "volcano": "Explains eruptions, lava and ash clouds to visitors of a park.",
    "violin": "Tunes strings and plans practice of scales for a concert.",
    "bakery": "Plans dough, ovens and deliveries of bread for the morning.",
    "chess": "Comments openings and endgames of a tournament.",
}
SELECT = ("--select", "competing-", "--format", "concise")


@pytest.fixture
def write(hermetic, write_skill) -> Callable[[str, str], Path]:
    for name, description in OTHERS.items():
        write_skill(hermetic / "skills", name, description)
    return lambda name, description: write_skill(hermetic / "skills", name, description)


def test_two_descriptions_of_one_thing_compete(capdisc, write) -> None:
    write("changelog-writer", CHANGELOG)
    write("release-notes", NOTES)
    result = capdisc("validate", "skills", *SELECT)
    (line,) = result.out.splitlines()
    assert line.startswith("skills/release-notes/SKILL.md:2:1: competing-descriptions")
    assert "changelog" in line
    assert "asks for skill:changelog-writer of skills/changelog-writer/SKILL.md" in line
    assert result.code == 0
    request = line.split('"')[1]
    capdisc("index", "skills")
    hits = capdisc("search", request, "--json").json["hits"]
    assert {hit["id"] for hit in hits[:2]} == {"skill:changelog-writer", "skill:release-notes"}


@pytest.mark.parametrize(
    "more",
    [
        " For a list of changes, use changelog-writer instead.",
        " Unlike changelog-writer, it asks first.",
    ],
)
def test_a_description_that_names_the_other_does_not_compete(capdisc, write, more) -> None:
    write("changelog-writer", CHANGELOG)
    write("release-notes", NOTES + more)
    assert capdisc("validate", "skills", *SELECT).out == ""


def test_what_a_description_excludes_does_not_compete(capdisc, write) -> None:
    write("changelog-writer", CHANGELOG)
    write(
        "store-texts",
        "Translates texts of app stores. Not for a changelog from git commits of a new version, grouped by kind.",
    )
    assert capdisc("validate", "skills", *SELECT).out == ""


def test_copies_and_single_files_have_no_such_finding(capdisc, write) -> None:
    first = write("changelog-writer", CHANGELOG)
    write("changelog-writer-copy", CHANGELOG)
    assert capdisc("validate", "skills", *SELECT).out == ""
    second = write("release-notes", NOTES)
    assert capdisc("validate", str(first), str(second), *SELECT).out == ""


def test_the_check_needs_no_library_of_an_index(write) -> None:
    write("changelog-writer", CHANGELOG)
    write("release-notes", NOTES)
    blocked = "import sys; sys.modules.update(dict.fromkeys(['numpy', 'tantivy', 'lancedb', 'simsimd', 'pyarrow']))"
    program = f"{blocked}; from capdisc.args.command_table import run_command; sys.exit(run_command(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "validate", "skills", *SELECT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "competing-descriptions" in done.stdout, done.stderr
