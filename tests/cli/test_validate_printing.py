"""What validate prints of a file: no key, no hidden character, no wrong path, no overwriting."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from product_lists import REPORT_FORMATS

# Put together here, so that no scanner takes this file for one that holds keys.
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS" + "5tU7vW9xY1zA3bC5"
FIELDS = "---\nname: cranes\ndescription: Folds cranes when asked to.\n"


@pytest.fixture
def put(hermetic):
    """Write a file below the working folder: `put("a/SKILL.md", text)`."""

    def write(relative, content):
        path = hermetic / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        return path

    return write


@pytest.mark.parametrize("name", REPORT_FORMATS)
def test_no_format_repeats_a_key_wherever_it_stands(capdisc, put, name) -> None:
    put(
        "cranes/SKILL.md",
        f"{FIELDS}{KEY}: 1\nversion: 1.0 # {KEY}\n---\nSee [{KEY}]({KEY}.md) \u202e{KEY}.\n",
    )
    put(
        "b/CAPABILITY.yaml",
        f"name: b\nkind: tool\ndescription: Folds cranes.\nmy-own-field-of-{KEY}-x: 1\n",
    )
    put("c/SKILL.md", f"---\nname: {KEY}\ndescription: Folds cranes when asked to.\n---\nFold.\n")
    done = capdisc("validate", ".", "--format", name)
    assert done.code == 1 and "unknown-" in done.out
    assert KEY[4:20].lower() not in (done.out + done.err).lower()


def test_a_change_masks_keys_and_says_so(capdisc, put) -> None:
    path = put("cranes/SKILL.md", f"{FIELDS}license: {KEY}: mine\nversion: 1.0\n---\nFold.\n")
    done = capdisc("validate", "cranes", "--fix")
    mask = "[secret]".ljust(len(KEY), "*")
    assert f"-license: {mask}: mine" in done.out and f'+license: "{mask}: mine"' in done.out
    assert KEY not in done.out + done.err
    assert "notice: keys are masked in the change of cranes/SKILL.md" in done.err
    assert "masked" not in capdisc("validate", "cranes", "--fix", "--quiet").err
    capdisc("validate", "cranes", "--fix", "--write")
    assert f'license: "{KEY}: mine"' in path.read_text()


LINES = "a: 1\nb: 2\nc: 3\nd: 4\n"
SOUND = f"{FIELDS}version: 1.0\n---\nFold."


@pytest.mark.parametrize(
    "text", [SOUND, f"{SOUND}\n", f"{FIELDS}# one\u2028two\x85\n{LINES}version: 1.0\n---\nFold.\n"]
)
@pytest.mark.parametrize("folder", ["cranes", "paper cranes"])
@pytest.mark.parametrize("tool", [["git", "apply", "-"], ["patch", "-p1", "-s"]])
def test_a_change_can_be_applied_by_other_programs(capdisc, put, text, folder, tool) -> None:
    if not shutil.which(tool[0]):
        pytest.skip(f"{tool[0]} is not here")
    path = put(f"{folder}/SKILL.md", text)
    change = capdisc("validate", folder, "--fix").out
    done = subprocess.run(tool, input=change, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    applied = path.read_bytes()
    path.write_bytes(text.encode())
    capdisc("validate", folder, "--fix", "--write")
    assert applied == path.read_bytes() != text.encode()


def test_only_a_line_end_ends_a_line_of_a_change(capdisc, put) -> None:
    put("cranes/SKILL.md", f"{FIELDS}version: 1.0\n---\na\x0cb\x1cc\x85d\u2028e\n")
    assert capdisc("validate", "cranes", "--fix").out.splitlines()[2:] == [
        "@@ -1,6 +1,6 @@", " ---", " name: cranes", " description: Folds cranes when asked to.", "-version: 1.0",
        '+version: "1.0"', " ---", " a<U+000C>b<U+001C>c<U+0085>d<U+2028>e",
    ]  # fmt: skip


def test_a_result_is_never_written_over_a_file_that_was_checked(capdisc, put, hermetic) -> None:
    names = ["a/CAPABILITY.yaml", "a/schema.json", "b/SKILL.md"]
    put(names[0], "name: a\nkind: tool\ndescription: Folds paper cranes.\nversion: 1.0\n")
    put(names[1], '{"type": "object"}')
    put(names[2], "no fields at all")
    (hermetic / "link.json").symlink_to(hermetic / "a" / "schema.json")
    before = {name: (hermetic / name).read_bytes() for name in names}
    for name in (*names, "link.json", "a/../a/schema.json"):
        for more in ((), ("--fix", "--write"), ("--select", "yaml-")):
            done = capdisc("validate", "a", "b", "--output", name, *more)
            assert (done.code, done.out) == (2, ""), name
            assert "is one of the files to check" in done.err
    assert before == {name: (hermetic / name).read_bytes() for name in names}
    assert capdisc("validate", "a", "--output", "a/findings.txt").code == 0


def test_a_piped_text_is_not_overwritten_by_what_is_said_of_it(capdisc, put) -> None:
    path = put("a/SKILL.md", "as saved")
    done = capdisc(
        "validate",
        "-",
        "--stdin-filename",
        "a/SKILL.md",
        "--output",
        "a/SKILL.md",
        stdin=f"{FIELDS}---\n",
    )
    assert (done.code, path.read_text()) == (2, "as saved")


def test_from_the_root_folder_paths_stay_whole(capdisc, put, hermetic, monkeypatch) -> None:
    for name in ("a", "b"):
        put(
            f"{name}/CAPABILITY.yaml",
            "name: same\nkind: tool\ndescription: Folds paper cranes/planes.\n# x\n" + name,
        )
    put("a/CAPABILITY.yaml", "name: same\nkind: tool\ndescription: Folds paper cranes.\n")
    put("b/CAPABILITY.yaml", "name: same\nkind: tool\ndescription: Folds paper boats.\n")
    there = str(hermetic)
    assert "tool:same is already defined by a/CAPABILITY.yaml" in capdisc("validate", ".").out
    monkeypatch.chdir("/")
    out = capdisc("validate", there).out
    assert f"{there}/b/CAPABILITY.yaml:1:1: error[duplicate-id]" in out
    assert f"tool:same is already defined by {there}/a/CAPABILITY.yaml" in out


def test_a_path_is_shortened_only_where_it_begins(capdisc, put, hermetic, monkeypatch) -> None:
    inner = hermetic / "x" / str(hermetic).lstrip("/")
    for name in ("a", "b"):
        path = inner / name / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(f"name: same\nkind: tool\ndescription: Folds paper cranes {name}.\n")
    out = capdisc("validate", "x").out
    below = f"x{hermetic}"
    assert f"{below}/b/CAPABILITY.yaml:1:1: error[duplicate-id]" in out
    assert f"is already defined by {below}/a/CAPABILITY.yaml" in out
