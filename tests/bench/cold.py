"""Cold commands: a fresh process each, as an agent's shell starts them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from building import Place
from figure import Figure
from timing import PASS, in_turn, surroundings

QUERY = "put two PDF files into one"
CAPDISC = [sys.executable, "-m", "capdisc"]


def figures(place: Place, rounds: int) -> Iterator[Figure]:
    """The commands that an agent waits for."""
    large = place.size > 10_000
    one = next(place.catalogue.rglob("SKILL.md"))
    aims = {
        "--version": (["--version"], 3),
        "--help": (["--help"], 8),
        "search": (["search", QUERY], 13 if large else 10),
        "search --mode lexical": (["search", QUERY, "--mode", "lexical"], None if large else 7),
        "render --budget 1850": (["render", QUERY, "--budget", "1850"], 13 if large else 10),
        "validate (one file)": (["validate", str(one)], 8),
    }
    commands = {"pass": PASS} | {name: [*CAPDISC, *words] for name, (words, _) in aims.items()}
    env = surroundings({"CAPDISC_INDEX_DIR": str(place.index)})
    taken = in_turn(commands, rounds, env)
    base = taken["pass"].median
    yield Figure(
        group="cold", name="python -c pass", size=place.size, value=1000 * base, ratio=1.0
    )
    for name, (_, most) in aims.items():
        median = taken[name].median
        ratio = round(median / base, 2)
        yield Figure(
            group="cold", name=name, size=place.size, value=1000 * median, ratio=ratio, most=most
        )
