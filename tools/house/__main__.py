"""Prints all figures, or the places that one of them counts: `just house`, `just house circles`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from house.ceilings import CEILINGS, MEASURES, WALKS
from house.source_tree import Figure, load_modules
from house.walks import count_functions, walk_commands


def main(arguments: Sequence[str]) -> int:
    """Print the table, or the places of the named figures; 2 where there is no such figure."""
    unknown = [name for name in arguments if name not in CEILINGS]
    if unknown:
        there = ", ".join(CEILINGS)
        print(f"no figure {', '.join(unknown)}; there are: {there}", file=sys.stderr)
        return 2
    modules = load_modules()
    names = arguments or [*MEASURES, *WALKS]
    walks = walk_commands() if set(names) & WALKS.keys() else {}
    if not arguments:
        print(f"{'figure':<20} {'today':>8} {'ceiling':>8} {'goal':>8}")
    for name in names:
        figure = walks[name] if name in WALKS else MEASURES[name](modules)
        if arguments:
            print("\n".join(figure.places))
        else:
            print(format_row(name, figure))
    return 0


def format_row(name: str, figure: Figure) -> str:
    """A line of the table: the figure, what it may be, what it is to become, and what it counts."""
    ceiling = CEILINGS[name]
    values = [
        " " * 9 if value is None else f"{value:>8,g}{ceiling.unit or ' '}"
        for value in (figure.value, ceiling.today, ceiling.goal)
    ]
    about = WALKS.get(name) or (MEASURES[name].__doc__ or "").splitlines()[0]
    functions = f" {count_functions(figure):,} functions." if name in WALKS else ""
    return f"{name:<20} {''.join(values)}  {about}{functions}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
