"""One section or one file of a capability, by its id or by the path of its file."""

from __future__ import annotations

import pytest

BODY = """# Cranes

## Fold the wings

Bend both wings down.

## Fold the head

Bend the head once.
"""


@pytest.fixture
def cranes(capdisc, hermetic, write_skill):
    """The folder of an indexed skill with a file beside it."""
    write_skill(hermetic / "skills", "cranes", "Folds paper cranes. Use when asked.", BODY)
    folder = hermetic / "skills" / "cranes"
    (folder / "references").mkdir()
    (folder / "references" / "paper.md").write_text("# Paper\n\n## Size\n\nFifteen centimetres.\n")
    capdisc("index", "skills")
    return folder


@pytest.mark.parametrize("name", ["Fold the wings", "fold-the-wings", "## Fold the wings"])
def test_a_section_is_printed_whole_and_alone(capdisc, cranes, name) -> None:
    done = capdisc("show", "cranes", "--section", name)
    assert done.out == "## Fold the wings\n\nBend both wings down.\n"


def test_an_unknown_section_names_those_that_there_are(capdisc, cranes) -> None:
    done = capdisc("show", "cranes", "--section", "tail")
    assert (done.code, done.out) == (2, "")
    assert "no section 'tail'" in done.err and "Fold the head" in done.err


def test_a_file_of_the_folder_is_printed_and_a_section_of_it(capdisc, cranes) -> None:
    file = ("--file", "references/paper.md")
    assert capdisc("show", "cranes", *file).out.startswith("# Paper\n")
    part = capdisc("show", "cranes", *file, "--section", "size", "--json").json
    assert part["text"] == "## Size\n\nFifteen centimetres.\n"
    assert (part["id"], part["file"], part["section"]) == (
        "skill:cranes", "references/paper.md", "size",
    )  # fmt: skip


@pytest.mark.parametrize("path", ["../secret.md", "/etc/passwd", "references/../../secret.md"])
def test_a_file_outside_the_folder_is_not_printed(capdisc, cranes, path) -> None:
    (cranes.parent / "secret.md").write_text("Do not tell.\n")
    done = capdisc("show", "cranes", "--file", path)
    assert done.code != 0 and done.out == ""
    assert "Do not tell" not in done.err


def test_a_path_is_as_good_as_an_id(capdisc, cranes) -> None:
    whole = capdisc("show", "skill:cranes").out
    for path in ("skills/cranes/SKILL.md", "skills/cranes", str(cranes / "SKILL.md")):
        assert capdisc("show", path).out == whole


def test_what_a_context_leaves_out_can_be_shown(capdisc, cranes, hermetic, write_skill) -> None:
    """The heading below which a context prints nothing is one that `show --section` takes."""
    body = BODY + "".join(f"\n## Step {n}\n\n" + "Fold it again.\n" * 60 for n in range(9))
    write_skill(hermetic / "skills", "cranes", "Folds paper cranes. Use when asked.", body)
    capdisc("index", "skills")
    printed = capdisc("render", "fold paper cranes", "--tier", "2", "--budget", "700").out
    assert "capdisc show skill:cranes --section HEADING" in printed
    left_out = [
        heading
        for heading in (f"Step {n}" for n in range(9))
        if f"## {heading}\n\nFold" not in printed
    ]
    assert left_out and all(f"## {heading}\n" in printed for heading in left_out)
    for heading in left_out:
        assert capdisc("show", "cranes", "--section", heading).out.count("Fold it again.") == 60
