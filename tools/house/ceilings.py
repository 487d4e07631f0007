"""What each figure may be at most, and what to do where it is more.

A ceiling is the goal where the product has reached it, and else the figure of the day on which it
was written down. When a figure falls, lower its ceiling here, so that it cannot rise again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from house import knots, names, size
from house.source_tree import Figure, Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The most that a figure may be today, what it is to become, and how to get there. Without a
    ceiling it is only printed.
    """

    today: float | None = None
    goal: float | None = None
    unit: str = ""
    advice: str


Measure = Callable[[tuple[Module, ...]], Figure]

MEASURES: Mapping[str, Measure] = {
    "tokens": size.measure_tokens,
    "core-tokens": size.measure_core_tokens,
    "lines": size.measure_lines,
    "modules": size.measure_modules,
    "init-code": size.measure_init_code,
    "flat-modules": size.measure_flat_modules,
    "late-constants": size.measure_late_constants,
    "long-lines": size.measure_long_lines,
    "circles": knots.measure_circles,
    "largest-circle": knots.measure_largest_circle,
    "participles": names.measure_participles,
    "pronouns": names.measure_pronouns,
    "shared-classes": names.measure_shared_classes,
    "shared-stems": names.measure_shared_stems,
    "untyped-signatures": names.measure_untyped_signatures,
}
# The figures of `walks.walk_commands`.
WALKS: Mapping[str, str] = {
    "walk-search": "Files that a search enters.",
    "walk-unchanged": "Files that an index enters where nothing changed.",
    "walk-one-changed": "Files that an index enters where one file changed.",
}
_SHORTEN_WALK = "Give the command a shorter way: call what it needs, not what might be needed."

CEILINGS: Mapping[str, Ceiling] = {
    "tokens": Ceiling(
        today=551_154,
        goal=400_000,
        advice="Replace code by a library, or by code that is here already.",
    ),
    "core-tokens": Ceiling(
        today=388_815,
        goal=265_000,
        advice="Move what no query, context or build needs into a plug-in.",
    ),
    "lines": Ceiling(advice="Lines follow the formatter; tokens have the ceiling."),
    "modules": Ceiling(
        today=426, goal=290, advice="Give a topic one file; let two of one topic become one."
    ),
    "init-code": Ceiling(
        today=1, goal=1, advice="Move the code to a module with the name of its topic."
    ),
    "flat-modules": Ceiling(
        today=4,
        goal=4,
        advice="Move it into the package of its topic; ARCHITECTURE.md lists them.",
    ),
    "late-constants": Ceiling(
        today=1, goal=1, advice="A file of several topics: split it, or put constants first."
    ),
    "long-lines": Ceiling(
        today=0.4, goal=0.4, unit="%", advice="Give a line one thought: name a part, or break it."
    ),
    "circles": Ceiling(
        today=0, goal=0, advice="Move what both sides need below both, or pass it as an argument."
    ),
    "largest-circle": Ceiling(
        today=0, goal=0, advice="Move what both sides need below both, or pass it as an argument."
    ),
    "participles": Ceiling(
        today=0.2,
        goal=0.2,
        unit="%",
        advice="Name a function after what it does, a verb with its object: `load_trust`.",
    ),
    "pronouns": Ceiling(
        today=0.6,
        goal=0.6,
        unit="%",
        advice="Name a variable after what it holds: `finding`, `header`, `match`.",
    ),
    "shared-classes": Ceiling(today=0, goal=0, advice="Name each class after what only it is."),
    "shared-stems": Ceiling(
        today=6,
        goal=6,
        advice="Name the file after its own topic, so that a search for the name finds one.",
    ),
    "untyped-signatures": Ceiling(
        today=15,
        goal=15,
        advice="Pass a frozen dataclass, or a named alias where any JSON may come.",
    ),
    "walk-search": Ceiling(today=56, goal=52, advice=_SHORTEN_WALK),
    "walk-unchanged": Ceiling(today=54, goal=54, advice=_SHORTEN_WALK),
    "walk-one-changed": Ceiling(today=109, goal=95, advice=_SHORTEN_WALK),
}
