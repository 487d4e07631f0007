"""Paths, recipes, commands and links that the pages name exist."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from capdisc.args.command_line import OPTION_ALIASES, list_parameters, option_words
from capdisc.args.command_table import load_command, summarise_commands
from capdisc_indexer.config.settings import SETTINGS
from documentation.command_reference import OTHER_VARIABLES

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *(REPOSITORY / name for name in ("CHANGELOG.md", "SECURITY.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted(REPOSITORY.glob("plugins/*/README.md")),
]
# Pages for those who work on the project; only their links are checked.
INNER_PAGES = [
    REPOSITORY / folder / "README.md"
    for folder in ("tests", "tests/hostile", "tools/torture", "fixtures/designs")
]
# Folders of the repository: what begins with one of them in a code span is a path of ours.
FOLDERS = ("cli/", "indexer/", "plugins/", "tests/", "docs/", "fixtures/", ".ci/")
CODE_FOLDERS = (REPOSITORY / "indexer" / "capdisc_indexer", REPOSITORY / "cli" / "capdisc")
CORE_AND_TERMINAL = {path.name for folder in CODE_FOLDERS for path in folder.iterdir()}


@cache
def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def code_spans(page: Path) -> list[str]:
    """What stands between single backticks."""
    return re.findall(r"`([^`\n]+)`", prose(page))


def each_page() -> pytest.MarkDecorator:
    """The test for every page."""
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page()
def test_every_path_that_a_page_names_exists(page) -> None:
    paths = [span for span in code_spans(page) if span.startswith(FOLDERS) and "NAME" not in span]
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []


@each_page()
def test_every_file_of_python_that_a_page_names_exists(page) -> None:
    names = [
        span for span in code_spans(page) if re.fullmatch(r"(?!.*NAME)[\w/]+\.(py|toml)", span)
    ]
    files = [
        path.as_posix()
        for folder in ("cli", "indexer", "plugins", "tests", "tools")
        for path in (REPOSITORY / folder).rglob("*.*")
    ]
    files += [path.name for path in REPOSITORY.glob("*.toml")]
    known = ("capdisc.toml", ".capdisc/config.toml", "config.toml")
    wrong = [
        name
        for name in names
        if name not in known and not any(f"/{path}".endswith(f"/{name}") for path in files)
    ]
    assert wrong == []


@each_page()
def test_every_package_that_a_page_names_exists(page) -> None:
    packages = [span for span in code_spans(page) if re.fullmatch(r"[a-z_]+/", span)]
    known = {f"{name}/" for name in CORE_AND_TERMINAL} | {"guidance/", "table/"}
    known |= {f"{path.name}/" for path in page.parent.glob("capdisc_*/*") if path.is_dir()}
    assert set(packages) <= known


def chapters() -> list[str]:
    """The packages that ARCHITECTURE.md has a chapter on, in its order."""
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    titles = re.findall(r"^### (.*?): ", text, re.M)
    return [word for title in titles for word in re.findall(r"\w+", title) if word != "and"]


def test_every_package_has_a_chapter() -> None:
    named = set(chapters())
    packages = {
        name.removesuffix(".py") for name in CORE_AND_TERMINAL if not name.startswith("__")
    }
    assert named - {"__main__"} == packages - {"py.typed"}


def test_the_chapters_on_the_core_stand_in_the_order_of_its_layers() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [
        contract["layers"]
        for contract in contracts
        if contract.get("containers") == ["capdisc_indexer"]
    ]
    order = [set(re.findall(r"\w+", layer)) for layer in layers]
    named = iter(chapters())
    for layer in order:
        assert {next(named) for _ in layer} == layer


@pytest.mark.parametrize("page", [*PAGES, *INNER_PAGES], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page()
def test_every_recipe_that_a_page_names_exists(page) -> None:
    recipes = set(
        re.findall(
            r"^([a-z][\w-]*)\b.*:(?!=)",
            (REPOSITORY / "justfile").read_text(encoding="utf-8"),
            re.M,
        )
    )
    named = {name for span in code_spans(page) for name in re.findall(r"^just ([a-z-]+)", span)}
    assert named <= recipes


@each_page()
def test_every_command_and_option_that_a_page_names_exists(page) -> None:
    spans = [part.strip() for span in code_spans(page) for part in re.split(r"&&|\|", span)]
    for span in (span for span in spans if re.match(r"capdisc [a-z]", span)):
        command, *words = span.split()[1:]
        assert command in summarise_commands(), span
        known = {
            word
            for parameter in list_parameters(load_command(command))
            for word in option_words(parameter)
        }
        options = [word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)]
        assert set(options) <= known | {"--help", "--all"}, span


@each_page()
def test_every_option_alone_exists_in_some_command(page) -> None:
    known = {
        word
        for command in summarise_commands()
        for parameter in list_parameters(load_command(command))
        for word in option_words(parameter)
    }
    # Options of other programs that the pages quote.
    known |= {"--help", "--version", "--no-pager", *OPTION_ALIASES}
    known |= {"--compile-bytecode", "--no-deps"}
    named = {span.split()[0] for span in code_spans(page) if re.match(r"--[a-z]", span)}
    assert {name.rstrip(",") for name in named} <= known


@each_page()
def test_every_variable_that_a_page_names_is_read(page) -> None:
    known = {setting.variable for setting in SETTINGS.values()} | set(OTHER_VARIABLES)
    named = set(re.findall(r"\bCAPDISC_[A-Z0-9_]+\b", page.read_text(encoding="utf-8")))
    # What --exec gets, a variable that was removed, and one of the tests.
    assert named <= known | {"CAPDISC_GENERATION", "CAPDISC_SERVER", "CAPDISC_WRITE_GOLDEN"}


@each_page()
def test_no_page_holds_the_marks_of_a_merge(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"^(?:<{7}|>{7}) ", text, re.M)
