"""What the workflows of the repository name is there, and a release agrees with its tag."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from capdisc_indexer.model.version import __version__
from conftest import REPOSITORY

WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (REPOSITORY / ".github" / "workflows").glob("*.yml")
}
CI_RUN = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")


def steps(workflow: str) -> list[dict[str, Any]]:
    """The steps of all jobs."""
    jobs = WORKFLOWS[workflow]["jobs"].values()
    return [*chain.from_iterable(job["steps"] for job in jobs)]


def scripts(workflow: str) -> list[str]:
    return [step["run"] for step in steps(workflow) if "run" in step]


def test_the_workflows_are_those_of_tests_and_releases() -> None:
    assert WORKFLOWS.keys() == {"ci", "release"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_reads_the_repository_and_runs_what_is_there(workflow: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {"contents": "read"}
    for action in (step["uses"] for step in steps(workflow) if "uses" in step):
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1|[0-9a-f]{40})", action)
    for path in re.findall(r"\.ci/[\w.]+", "\n".join(scripts(workflow))):
        assert (REPOSITORY / path).is_file(), path
    # An expression in a script would be run as it is written by who pushes.
    assert not any("${{" in script for script in scripts(workflow))


def test_each_python_and_each_platform_runs_the_tests() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    versions = {line.rpartition(" ")[2] for line in project["classifiers"] if "3." in line}
    jobs = WORKFLOWS["ci"]["jobs"]
    set_up = [step["with"] for step in jobs["all"]["steps"] if "python" in step.get("uses", "")]
    assert {
        set_up[0]["python-version"],
        *jobs["pythons"]["strategy"]["matrix"]["python"],
    } == versions
    platforms = {name.partition("-")[0] for name in jobs["all"]["strategy"]["matrix"]["os"]}
    assert platforms == {"ubuntu", "macos", "windows"}
    assert "bash .ci/run" in scripts("ci")
    # What plays Windows reads the tables of Linux. On Windows the same tests run unplayed, and have to pass.
    assert re.search(r'"\$\(uname\)" = Linux .*\n.*windows_suite\.py', CI_RUN)
    on_windows = [step for step in jobs["all"]["steps"] if "Windows'" in step.get("if", "")]
    suite = next(step for step in on_windows if "windows_suite.py" in step.get("run", ""))
    assert "continue-on-error" not in suite and "continue-on-error" not in jobs["all"]


def test_on_windows_the_same_commands_run_from_the_folders_of_there(tmp_path: Path) -> None:
    (script,) = (script for script in scripts("ci") if "sed " in script)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_text(CI_RUN)
    (tmp_path / "README.md").write_text((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    changes, _ = script.split("git ", 1)
    subprocess.run(["bash", "-ec", changes], cwd=tmp_path, check=True)
    assert not [*tmp_path.rglob("*.bak")]
    for name in (".ci/run", "README.md"):
        changed = (tmp_path / name).read_text(encoding="utf-8")
        assert ".venv/bin/" not in changed and "python3 " not in changed
        assert ".venv/Scripts/" in changed


def print_notes(tag: str, version: str, changelog: str, folder: Path) -> tuple[int, str, str]:
    """What the check of a release gives for a tree of this version and these changes."""
    for path, text in {
        ".ci/release_notes.py": (REPOSITORY / ".ci" / "release_notes.py").read_text(),
        "indexer/capdisc_indexer/model/version.py": f'"""x"""\n\n__version__ = "{version}"\n',
        "CHANGELOG.md": changelog,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    done = subprocess.run(
        [sys.executable, str(folder / ".ci" / "release_notes.py"), tag],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("heading", ["1.2.0", "1.2.0 (30 November)"])
def test_the_notes_of_a_release_are_its_changes(heading: str, tmp_path: Path) -> None:
    changelog = f"# Changes\n\n## {heading}\n\n### Search\n\n- Faster.\n\n## 1.1.0\n\n- Old.\n"
    printed = print_notes("v1.2.0", "1.2.0", changelog, tmp_path)
    assert printed == (0, "### Search\n\n- Faster.\n", "")


@pytest.mark.parametrize(
    ("tag", "version", "heading", "said"),
    [
        ("v1.2.1", "1.2.0", "1.2.0", "the tag is v1.2.1, and version.py says 1.2.0"),
        ("1.2.0", "1.2.0", "1.2.0", "the tag is v1.2.0"),
        ("v1.2.0", "1.2.0", "Unreleased", "the first heading of CHANGELOG.md is 'Unreleased'"),
        ("v1.2.0", "1.2.0", "1.2.01", "not '1.2.0'"),
    ],
)
def test_a_release_whose_tag_version_and_changes_differ_is_refused(
    tag: str, version: str, heading: str, said: str, tmp_path: Path
) -> None:
    code, out, err = print_notes(tag, version, f"# Changes\n\n## {heading}\n\n- x\n", tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith("error: ") and said in err


def test_the_version_and_the_changelog_have_the_form_that_a_release_needs(tmp_path: Path) -> None:
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    released = changelog.replace("## Unreleased\n", f"## {__version__}\n", 1)
    code, out, err = print_notes(f"v{__version__}", __version__, released, tmp_path)
    assert (code, err) == (0, "") and out.strip()


def test_every_test_of_the_windows_suite_is_there() -> None:
    import windows_suite

    named = [*windows_suite.WINDOWS_TESTS, *windows_suite.PLAYED_TESTS]
    assert [name for name in named if not (REPOSITORY / name).exists()] == []
