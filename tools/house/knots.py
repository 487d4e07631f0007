"""Knots: sets of modules of which each imports all others, directly or by way of others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from house.source_tree import Figure, Module, count_places


def measure_circles(modules: tuple[Module, ...]) -> Figure:
    """Sets of modules that import each other; imports inside functions count, too."""
    return count_places(
        f"{len(circle)} modules: {', '.join(circle)}" for circle in find_circles(modules)
    )


def measure_largest_circle(modules: tuple[Module, ...]) -> Figure:
    """Modules of the largest of these sets."""
    return count_places(next(iter(find_circles(modules)), ()))


@cache
def find_circles(modules: tuple[Module, ...]) -> list[tuple[str, ...]]:
    """The sets by the names of their modules, the largest first."""
    names = [module.name for module in modules]
    numbers = {name: number for number, name in enumerate(names)}
    reachable = [
        sum(1 << number for number in set(_imported_numbers(module, numbers)))
        for module in modules
    ]
    # Warshall 1962, with a row of the matrix as one integer: bit j of row i says that i reaches j.
    for middle, _ in enumerate(names):
        for start, row in enumerate(reachable):
            if row >> middle & 1:
                reachable[start] |= reachable[middle]
    circles = {
        tuple(
            name
            for name, number in numbers.items()
            if row >> number & 1 and reachable[number] >> start & 1
        )
        for start, row in enumerate(reachable)
    }
    return sorted(filter(None, circles), key=lambda circle: (-len(circle), circle))


def _imported_numbers(module: Module, numbers: Mapping[str, int]) -> Iterator[int]:
    """The module behind each imported name: `from a import b` is `a.b` where that is a module."""
    for node in module.nodes:
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full_names = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [name if name in numbers else node.module for name in full_names]
        yield from (numbers[name] for name in targets if name in numbers and name != module.name)
