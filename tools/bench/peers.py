"""Other tools on the same catalogue, where a folder of their commands is given: what each does that is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from building import Place
from cold import CAPDISC
from figure import Figure
from timing import PASS, in_turn, surroundings


def figures(place: Place, programs: Path | None, rounds: int) -> Iterator[Figure]:
    """Each peer that is there, and capdisc at the same work."""
    one = next(place.catalogue.rglob("SKILL.md"))
    part = one.parent.parent
    asked = {
        "capdisc validate (one file)": [*CAPDISC, "validate", str(one)],
        "capdisc validate (1,000 files)": [*CAPDISC, "validate", str(part), "-q"],
        "skills-ref validate (one file)": ["agentskills", "validate", str(one.parent)],
        "skillcheck (one file)": ["skillcheck", str(one)],
        "skillcheck (1,000 files)": ["skillcheck", str(part)],
        "skillport list (1,000 files)": ["skillport", "--skills-dir", str(part), "list", "--json"],
    }
    commands = {"pass": PASS}
    for name, words in asked.items():
        path = programs / words[0] if programs and not name.startswith("capdisc") else None
        if path is None and name.startswith("capdisc"):
            commands[name] = words
        elif path is not None and path.exists():
            commands[name] = [str(path), *words[1:]]
    if len(commands) > 3:
        yield from _compared(place, commands, rounds)


def _compared(place: Place, commands: dict[str, list[str]], rounds: int) -> Iterator[Figure]:
    taken = in_turn(commands, rounds, surroundings({}))
    for name in list(commands)[1:]:
        ratio = round(taken[name].median / taken["pass"].median, 2)
        yield Figure(
            group="peers", name=name, size=place.size, value=1000 * taken[name].median, ratio=ratio
        )
