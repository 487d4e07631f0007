"""The house rules as a ratchet: no figure of tools/house may pass its ceiling."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from house import __main__ as command
from house.ceilings import CEILINGS, MEASURES, WALKS
from house.names import is_participle
from house.size import list_code_tokens
from house.source_tree import Figure, Module, load_modules
from house.walks import count_functions, walk_commands

SHOWN_PLACES = 60


@pytest.fixture(scope="module")
def modules() -> tuple[Module, ...]:
    return load_modules()


@pytest.fixture(scope="module")
def walks() -> dict[str, Figure]:
    return walk_commands()


def failure_message(name: str, figure: Figure) -> str:
    """What is counted, the ceiling, what to do, and the places; a long list is cut and says so."""
    ceiling = CEILINGS[name]
    lines = [
        f"{name}: {figure.value:,g}, and the ceiling is {ceiling.today:,g} (goal {ceiling.goal:,g}).",
        ceiling.advice,
        *figure.places[:SHOWN_PLACES],
    ]
    if len(figure.places) > SHOWN_PLACES:
        lines.append(f"… and {len(figure.places) - SHOWN_PLACES} more: just house {name}")
    return "\n".join(lines)


def check_ceiling(name: str, figure: Figure) -> None:
    ceiling = CEILINGS[name].today
    if ceiling is not None and figure.value > ceiling:
        pytest.fail(failure_message(name, figure), pytrace=False)


@pytest.mark.parametrize("name", MEASURES)
def test_a_figure_keeps_below_its_ceiling(modules, name) -> None:
    check_ceiling(name, MEASURES[name](modules))


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_keeps_below_its_ceiling(walks, name) -> None:
    check_ceiling(name, walks[name])


def test_every_figure_has_a_ceiling_no_lower_than_its_goal() -> None:
    assert CEILINGS.keys() == MEASURES.keys() | WALKS.keys()
    ceilings = {name: ceiling for name, ceiling in CEILINGS.items() if name != "lines"}
    assert all(ceiling.today >= ceiling.goal for ceiling in ceilings.values())


def test_the_message_names_places_and_what_to_do() -> None:
    places = tuple(f"cli/capdisc/x.py:{line} told" for line in range(1, 63))
    message = failure_message("circles", Figure(value=62, places=places)).splitlines()
    assert re.fullmatch(r"circles: 62, and the ceiling is \d+ \(goal 0\)\.", message[0])
    assert message[1] == CEILINGS["circles"].advice
    assert message[2] == "cli/capdisc/x.py:1 told"
    assert message[-1] == "… and 2 more: just house circles"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("told", True),
        ("_printed", True),
        ("load_trust", False),
        ("read", False),
        ("embed", False),
        ("bed", False),
        ("printed_lines", False),
    ],
)
def test_a_bare_participle_is_a_whole_name(name, expected) -> None:
    assert is_participle(name) is expected


SOURCES = {
    "alpha/__init__.py": "",
    "alpha/flat.py": "from alpha.deep import notes\n\nclass Finding: ...\n" + "x = 1\n" * 40,
    "alpha/deep/__init__.py": '"""Says what it is."""\n' + "x = 1\n\n" * 41,
    "alpha/deep/notes.py": (
        "from typing import Any\n\nclass Finding: ...\n\n"
        "def told(header: dict[str, Any]) -> None:\n    each = header\n"
        "A = 1\nB: int = 2\nclass Last:\n    C = 3\nD = 4\n"
    ),
    "alpha/deep/places.py": (
        "def load():\n    import alpha.deep.notes\n    for one in ():\n        text = '"
        + "x" * 90
        + "'\nfrom beta.notes import find\nE = 1\nF = 2\n"
    ),
    "beta/notes.py": (
        "from alpha import flat\nfrom alpha.deep import places\n\n"
        "async def find(*, a: 'Mapping[str, Any]'): ...\n"
    ),
}


@pytest.fixture
def small_tree(tmp_path: Path) -> tuple[Module, ...]:
    for name, source in SOURCES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return load_modules(tmp_path, ("src/alpha", "src/beta"))


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("participles", ["src/alpha/deep/notes.py:5 told"]),
        ("pronouns", ["src/alpha/deep/notes.py:6 each", "src/alpha/deep/places.py:3 one"]),
        ("long-lines", ["src/alpha/deep/places.py:4 107 columns"]),
        ("flat-modules", ["src/alpha/flat.py", "src/beta/notes.py"]),
        ("shared-classes", ["Finding: src/alpha/deep/notes.py:3, src/alpha/flat.py:3"]),
        ("shared-stems", ["notes.py: src/alpha/deep/notes.py, src/beta/notes.py"]),
        (
            "untyped-signatures",
            ["src/alpha/deep/notes.py:5 told", "src/beta/notes.py:4 find"],
        ),
        ("init-code", ["src/alpha/deep/__init__.py 41 lines"]),
        ("late-constants", ["src/alpha/deep/notes.py 3"]),
        ("circles", ["2 modules: alpha.deep.places, beta.notes"]),
        ("largest-circle", ["alpha.deep.places", "beta.notes"]),
    ],
)
def test_a_measure_names_what_it_counts(small_tree, name, places) -> None:
    assert list(MEASURES[name](small_tree).places) == places


def test_shares_are_of_all_functions_assignments_and_lines(small_tree) -> None:
    assert MEASURES["participles"](small_tree).value == 33.3  # 1 of 3
    assert MEASURES["pronouns"](small_tree).value == 2.2  # 2 of 91
    assert MEASURES["long-lines"](small_tree).value == 0.7  # 1 of 148
    assert MEASURES["modules"](small_tree).value == 6


def test_tokens_and_lines_are_those_of_code(tmp_path) -> None:
    path = tmp_path / "src" / "alpha" / "sums.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        '"""A page\nof words."""\n\n# a remark\n'
        'def add(\n    a,\n    b,\n):\n    """Words."""\n    return f"{a + b} and {f\'{a}\'}"\n'
    )
    modules = load_modules(tmp_path, ("src/alpha",))
    texts = [token.string for token in list_code_tokens(modules[0])]
    assert texts[:-1] == "def add ( a , b , ) : return".split()
    assert texts[-1].startswith('f"')  # one token in every version of Python
    assert MEASURES["tokens"](modules) == Figure(value=11, places=("alpha.sums 11",))
    assert MEASURES["lines"](modules).value == 5


def test_a_walk_names_files_and_the_functions_that_ran(walks) -> None:
    (entry,) = (p for p in walks["walk-search"].places if p.startswith("cli/capdisc/__main__.py "))
    assert re.fullmatch(r"cli/capdisc/__main__\.py \d+: main:\d+, .*_run_command:\d+.*", entry)
    places = [place.split()[0] for place in walks["walk-one-changed"].places]
    assert "cli/capdisc/commands/index.py" in places
    assert "cli/capdisc/commands/search.py" not in places
    assert count_functions(walks["walk-search"]) > len(walks["walk-search"].places)


def test_the_command_prints_a_table_or_places_and_refuses_other_names(
    capsys, monkeypatch, walks
) -> None:
    monkeypatch.setattr(command, "walk_commands", lambda: walks)
    assert command.main([]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table] == ["figure", *MEASURES, *WALKS]
    assert command.main(["flat-modules", "walk-search"]) == 0
    printed = capsys.readouterr().out
    assert "cli/capdisc/__main__.py\n" in printed
    assert "cli/capdisc/commands/search.py " in printed
    assert command.main(["beauty"]) == 2
    assert "there are: tokens" in capsys.readouterr().err


def test_no_repeated_group_is_possessive() -> None:
    """Before 3.11.5, Python matches `(?:...)*+` beyond its end; `(?>(?:...)*)` is the same."""
    possessive = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
    offenders = [
        f"{module.path}: {constant.value[:60]!r}"
        for module in load_modules()
        for constant in ast.walk(module.tree)
        if isinstance(constant, ast.Constant)
        and isinstance(constant.value, str)
        and "(?:" in constant.value
        and possessive.search(constant.value)
    ]
    assert offenders == []
