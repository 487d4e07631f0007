"""What is built from the tree, and how little of it `capdisc validate` needs."""

from __future__ import annotations

import configparser
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from capdisc.commands.help import write_pages
from conftest import CATALOGS, REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
PACKAGES = (
    REPOSITORY / "cli" / "capdisc",
    REPOSITORY / "indexer" / "capdisc_indexer",
    *sorted(REPOSITORY.glob("plugins/*/capdisc_*")),
)
LIGHT_PROJECT = tomllib.loads((REPOSITORY / "light" / "pyproject.toml").read_text())
# What a light installation lacks.
HEAVY = ("lancedb", "pyarrow", "numpy", "mcp", "mcp_types", "anyio", "rs_bpe")
# Everything that a full installation has beside what the hooks install.
ENGINES = (
    "tantivy", "lancedb", "pyarrow", "numpy", "rich", "tomlkit", "watchdog", "simsimd", "rs_bpe", "toktok", "click",
)  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, built without the network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    light = [*command, "-t", "wheel"]
    subprocess.run(light, cwd=REPOSITORY / "light", check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("capdisc_cli-*-py3-none-any.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules, as an installer makes it of the wheel."""
    folder = tmp_path_factory.mktemp("packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def package_files() -> set[str]:
    """Every file of the packages, as a wheel names it."""
    return {
        path.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_the_wheel_has_all_packages_whole_under_a_name_of_its_own(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert package_files() <= names
        top_level = {
            name.partition("/")[0] for name in names if ".d" not in name.partition("/")[0]
        }
        assert top_level == {package.name for package in PACKAGES}
        info = next(name.partition("/")[0] for name in names if ".dist-info/" in name)
        metadata = archive.read(f"{info}/METADATA").decode()
        scripts = configparser.ConfigParser()
        scripts.read_string(archive.read(f"{info}/entry_points.txt").decode())
    assert re.search(r"^Name: capdisc-cli$", metadata, re.MULTILINE)
    assert dict(scripts["console_scripts"]) == {"capdisc": "capdisc.__main__:main"}


def test_the_light_wheel_has_the_same_files(built: Path, wheel: Path) -> None:
    (light,) = built.glob("capdisc_light-*-py3-none-any.whl")
    code, light_code = {}, {}
    for path, checksums in ((wheel, code), (light, light_code)):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            checksums |= {
                re.sub(r"^capdisc_\w+-[^/]+\.data/", "", name): archive.getinfo(name).CRC
                for name in names
                if ".dist-info/" not in name
            }
        assert [name.rpartition("/")[2] for name in names].count("LICENSE") == 1
    assert light_code == code
    assert "data/share/man/man1/capdisc-search.1" in code


def test_the_light_distribution_requires_the_same_in_parts() -> None:
    """A requirement that is added has to be in one of both lists."""
    light = LIGHT_PROJECT["project"]
    extras = light["optional-dependencies"]
    full = extras.pop("full")
    assert {*extras["mcp"], *full, *light["dependencies"]} == {*PROJECT["dependencies"]}
    assert len(full) + len(light["dependencies"]) == len(PROJECT["dependencies"])
    ours = {"mcp": extras["mcp"], "test": None, "dev": None}
    renamed = {
        name: [line.replace("capdisc-cli", "capdisc-light") for line in lines]
        for name, lines in PROJECT["optional-dependencies"].items()
        if name not in ours
    }
    assert {name: lines for name, lines in extras.items() if name not in ours} == renamed
    for key in ("requires-python", "license", "scripts"):
        assert light[key] == PROJECT[key]


def test_the_source_distribution_has_what_a_clone_needs(built: Path) -> None:
    (path,) = built.glob("capdisc_cli-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = ("pyproject.toml", "constraints.txt", "README.md", ".pre-commit-hooks.yaml")
    assert names >= {*expected, "tests/test_distribution.py", "fixtures/catalogs/README.md"}
    assert names >= {"light/pyproject.toml", ".ci/run", ".github/workflows/ci.yml"}
    plugin_files = {
        path.relative_to(REPOSITORY).as_posix()
        for path in REPOSITORY.glob("plugins/*/**/*")
        if path.is_file() and path.suffix in (".py", ".md")
    }
    assert {"conftest.py", *plugin_files} <= names


def test_the_manual_pages_are_made_from_the_declarations(
    built: Path, wheel: Path, tmp_path: Path
) -> None:
    pages = {path.name: path.read_bytes() for path in write_pages(tmp_path)}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {
            name.rpartition("/")[2]: archive.read(name)
            for name in archive.namelist()
            if "/data/share/man/man1/" in name
        }
    assert in_wheel == pages and b".SH OPTIONS" in pages["capdisc-search.1"]
    (path,) = built.glob("capdisc_cli-*.tar.gz")
    with tarfile.open(path) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {f"share/man/man1/{name}" for name in pages} <= names


def hooks() -> list[dict[str, list[str]]]:
    return yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())


def test_the_hooks_install_what_they_name_and_nothing_that_it_brings_along() -> None:
    """With --no-deps, a dependency of a dependency has to be named as well."""
    lists = [hook["additional_dependencies"] for hook in hooks()]
    assert all(words == lists[0] for words in lists)  # so that both share one environment
    flag, *words = lists[0]
    assert flag == "--no-deps"
    named = {Requirement(word).name: Requirement(word) for word in words}
    declared = {Requirement(line).name: Requirement(line) for line in PROJECT["dependencies"]}
    for name, requirement in named.items():
        if name in declared:
            version = importlib.metadata.version(name)
            assert version in requirement.specifier and version in declared[name].specifier
    needed = {
        Requirement(line).name
        for name in named
        for line in importlib.metadata.requires(name) or ()
        if not Requirement(line).marker
    }
    assert needed - named.keys() <= {"rich"}  # which typer does without


def test_the_action_installs_the_same() -> None:
    action = (REPOSITORY / "action.yml").read_text()
    names = [Requirement(word).name for word in hooks()[0]["additional_dependencies"][1:]]
    assert f'"$GITHUB_ACTION_PATH" {" ".join(names)}\n' in action


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("validate", str(CATALOGS / "small")), 0, "32 files, 0 findings"),
        (("validate", str(CATALOGS / "messy"), "--fix"), 1, "files can be put right"),
        (("validate", str(CATALOGS / "broken"), "--format", "sarif", "-q"), 1, ""),
        (("validate", "--rule", "name-case"), 0, ""),
        (("validate", "--help"), 0, ""),
        (("validate", "--hepl"), 2, "No such option: --hepl"),
        (("index", str(CATALOGS / "small")), 4, "which is not installed\nhint: install all"),
    ],
)
def test_validate_runs_from_the_wheel_without_the_engines_of_an_index(
    unpacked: Path, tmp_path: Path, argv: tuple[str, ...], code: int, said: str
) -> None:
    done = run_without(ENGINES, unpacked, tmp_path, *argv)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def run_without(
    libraries: tuple[str, ...], unpacked: Path, folder: Path, *argv: str
) -> subprocess.CompletedProcess[str]:
    """A command of the wheel where these libraries are not installed."""
    block = f"import sys; sys.modules.update(dict.fromkeys({libraries!r}))"
    start = f"{block}; sys.argv[0] = 'capdisc'; from capdisc.__main__ import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *argv], capture_output=True, text=True, check=False, cwd=folder,
        stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(unpacked)},
    )  # fmt: skip


def files_of_vectors(index: Path) -> dict[str, bytes]:
    """The files of the newest generation that hold vectors."""
    newest = max((index / "gens").iterdir())
    return {
        path.relative_to(newest).as_posix(): path.read_bytes()
        for name in ("matrix", "passages")
        for path in (newest / name).rglob("*")
        if path.is_file()
    }


def test_an_index_without_the_heavy_libraries_has_the_same_vectors(
    unpacked: Path, tmp_path: Path
) -> None:
    """First one with more capabilities than are read one by one, then one with many new ones."""
    skills = tmp_path / "skills"
    shutil.copytree(CATALOGS / "small", skills / "small")
    made = {}
    for step in range(2):
        for number in range(60):
            skill = skills / f"made-{step}-{number}" / "SKILL.md"
            skill.parent.mkdir()
            words = f"Folds the map of town {number} in manner {step}"
            passages = "".join(
                f"## Fold {n}\n\nTown {number} has crease {n}.\n\n" for n in range(8)
            )
            skill.write_text(
                f"---\nname: {skill.parent.name}\ndescription: {words}.\n---\n{passages}"
            )
        for libraries in ((), HEAVY):
            index = tmp_path / f"index-{len(libraries)}"
            argv = ("index", str(skills), "--index-dir", str(index))
            done = run_without(libraries, unpacked, tmp_path, *argv)
            assert done.returncode == 0, done.stderr
            made[step, libraries] = files_of_vectors(index)
        assert made[step, ()] == made[step, HEAVY]
    assert made[0, ()] != made[1, ()] and "matrix/matrix.i8" in made[1, ()]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("search", "send the customer an invoice"), 0, "tool:send-invoice"),
        (("render", "send the customer an invoice", "--budget", "1200"), 0, "tool:send-invoice"),
        (("search", "invoice", "--engine", "lancedb"), 0, "the library lancedb, which is not"),
        (("index", str(CATALOGS / "small"), "--wait"), 0, "the library lancedb, which is not"),
        (
            ("audit", "claude"),
            4,
            "this needs the library numpy, which is not installed\nhint: install",
        ),
        (
            ("mcp",),
            3,
            "the MCP server needs the package mcp, which is not installed\nhint: install",
        ),
        (("setup", "claude"), 3, "; or set up the hook alone: --hook\n"),
        (("call", "search_capabilities", '{"query": "send an invoice"}'), 0, "send-invoice"),
    ],
)
def test_a_light_installation_works_or_says_what_it_lacks(
    unpacked: Path, light_index: Path, tmp_path: Path, argv: tuple[str, ...], code: int, said: str
) -> None:
    done = run_without(HEAVY, unpacked, light_index, *argv)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done
    assert "Traceback" not in done.stderr


@pytest.fixture
def light_index(unpacked: Path, tmp_path: Path, hermetic: Path) -> Path:
    """A workspace with an index that a light installation made."""
    done = run_without(HEAVY, unpacked, tmp_path, "index", str(CATALOGS / "small"))
    assert done.returncode == 0, done.stderr
    return tmp_path
