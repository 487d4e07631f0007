"""The house rules as a ratchet: no figure of tests/house.py may pass its limit.

A limit is the goal where the product has reached it, and else the figure of the day on which it was
recorded. When a figure falls, lower its limit here, so that it cannot rise again.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from house import GOALS, MEASURES, Module, is_participle, load_modules, main

# Percent for the first three, counts for the others.
LIMITS = {
    "participles": 2.0,
    "pronouns": 1.0,
    "long-lines": 1.0,
    "modules": 406,
    "small-modules": 20,
    "single-importers": 67,
    "flat-modules": 4,
    "shared-classes": 0,
    "shared-stems": 8,
    "untyped-signatures": 90,
}
ADVICE = {
    "participles": "Name a function after what it does, a verb with its object: `load_trust`.",
    "pronouns": "Name a variable after what it holds: `finding`, `header`, `match`.",
    "long-lines": "Give a line one thought: name a part of it, or break it.",
    "modules": "Fold a module into its only importer, or a family of modules into one topic.",
    "small-modules": "Fold it into the module that uses it.",
    "single-importers": "Fold it into its importer, or give it a topic that a second module uses.",
    "flat-modules": "Move it into the package of its topic; ARCHITECTURE.md lists them.",
    "shared-classes": "Name each class after what only it is.",
    "shared-stems": "Name the file after its own topic, so that a search for the name finds one.",
    "untyped-signatures": "Pass a frozen dataclass, or a named alias where any JSON may come.",
}
SHOWN_OFFENDERS = 60


@pytest.fixture(scope="module")
def modules() -> tuple[Module, ...]:
    return load_modules()


def failure_message(name: str, value: float, offenders: tuple[str, ...]) -> str:
    """What is counted, the limit, what to do, and the places; a long list is cut and says so."""
    lines = [
        f"{name}: {value:g}, and the limit is {LIMITS[name]:g} (goal {GOALS[name]:g}).",
        ADVICE[name],
        *offenders[:SHOWN_OFFENDERS],
    ]
    if len(offenders) > SHOWN_OFFENDERS:
        lines.append(f"… and {len(offenders) - SHOWN_OFFENDERS} more: just house {name}")
    return "\n".join(lines)


@pytest.mark.parametrize("name", MEASURES)
def test_a_figure_keeps_within_its_limit(modules, name) -> None:
    measurement = MEASURES[name](modules)
    if measurement.value > LIMITS[name]:
        pytest.fail(failure_message(name, measurement.value, measurement.offenders), pytrace=False)


def test_every_measure_has_a_limit_a_goal_and_advice() -> None:
    assert LIMITS.keys() == GOALS.keys() == ADVICE.keys() == MEASURES.keys()
    assert all(LIMITS[name] >= GOALS[name] for name in MEASURES)


def test_the_message_names_places_and_what_to_do() -> None:
    offenders = tuple(f"cli/capdisc/x.py:{line} told" for line in range(1, 63))
    message = failure_message("participles", 2.4, offenders).splitlines()
    assert message[0] == "participles: 2.4, and the limit is 2 (goal 2)."
    assert message[1] == ADVICE["participles"]
    assert message[2] == "cli/capdisc/x.py:1 told"
    assert message[-1] == "… and 2 more: just house participles"


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
    "alpha/deep/__init__.py": "",
    "alpha/deep/notes.py": (
        "from typing import Any\n\nclass Finding: ...\n\n"
        "def told(header: dict[str, Any]) -> None:\n    each = header\n"
    ),
    "alpha/deep/places.py": (
        "def load():\n    import alpha.deep.notes\n    for one in ():\n        text = '"
        + "x" * 90
        + "'\n"
    ),
    "beta/notes.py": "from alpha import flat\n\nasync def find(*, a: 'Mapping[str, Any]'): ...\n",
}


@pytest.fixture
def small_tree(tmp_path: Path) -> tuple[Module, ...]:
    for name, source in SOURCES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return load_modules(tmp_path, ("src/alpha", "src/beta"))


@pytest.mark.parametrize(
    ("name", "offenders"),
    [
        ("participles", ["src/alpha/deep/notes.py:5 told"]),
        ("pronouns", ["src/alpha/deep/notes.py:6 each", "src/alpha/deep/places.py:3 one"]),
        ("long-lines", ["src/alpha/deep/places.py:4 107 columns"]),
        ("flat-modules", ["src/alpha/flat.py", "src/beta/notes.py"]),
        ("single-importers", ["src/alpha/flat.py only from beta.notes"]),
        ("shared-classes", ["Finding: src/alpha/deep/notes.py:3, src/alpha/flat.py:3"]),
        ("shared-stems", ["notes.py: src/alpha/deep/notes.py, src/beta/notes.py"]),
        (
            "untyped-signatures",
            ["src/alpha/deep/notes.py:5 told", "src/beta/notes.py:3 find"],
        ),
        (
            "small-modules",
            [
                "src/alpha/deep/notes.py 6 lines",
                "src/alpha/deep/places.py 4 lines",
                "src/beta/notes.py 3 lines",
            ],
        ),
    ],
)
def test_a_measure_names_what_it_counts(small_tree, name, offenders) -> None:
    assert list(MEASURES[name](small_tree).offenders) == offenders


def test_shares_are_of_all_functions_assignments_and_lines(small_tree) -> None:
    assert MEASURES["participles"](small_tree).value == 33.3  # 1 of 3
    assert MEASURES["pronouns"](small_tree).value == 4.7  # 2 of 43
    assert MEASURES["long-lines"](small_tree).value == 1.8  # 1 of 56
    assert MEASURES["modules"](small_tree).value == 6


def test_the_command_prints_a_table_or_places_and_refuses_other_names(capsys) -> None:
    assert main([]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table] == ["measure", *MEASURES]
    assert main(["flat-modules"]) == 0
    assert "cli/capdisc/__main__.py\n" in capsys.readouterr().out
    assert main(["beauty"]) == 2
    assert "there are: participles" in capsys.readouterr().err


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
