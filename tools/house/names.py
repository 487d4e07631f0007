"""Names: of functions, variables, classes and files, judged by their form alone.

A rename that only evades a count helps nobody.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from house.source_tree import (
    Figure,
    Function,
    Module,
    count_places,
    list_functions,
    share_of_places,
)

# Participles that do not end in -ed. Words that are infinitives as well (`read`, `put`, `cut`,
# `set`, `bound`) are good names of functions and are not among them.
IRREGULAR_PARTICIPLES = frozenset(
    "held told made given said found known kept left gone done seen sent taken shown written meant "
    "brought lost met built hidden chosen broken drawn worn sought bent spent thought taught caught "
    "fed led sat stood understood won hung spun stuck struck swept thrown torn woken".split()
)
# Infinitives and nouns that end in -ed.
NO_PARTICIPLES = frozenset({"embed", "feed", "need", "seed", "speed"})
# Local names that say that there is a value, and not what it is.
PRONOUNS = frozenset(
    "each one ones given said found made wanted asked told held known kept more others fresh last "
    "whole own beside seen lost rest such this that it them none some every all other both least "
    "most".split()
)
_UNTYPED = re.compile(r"(dict|Mapping)\[str, Any\]")


def is_participle(name: str) -> bool:
    """Whether a function's name is one bare past participle, such as `told` or `_printed`."""
    word = name.strip("_")
    if "_" in word:
        return False
    ends_regularly = word.endswith("ed") and len(word) > 4 and word not in NO_PARTICIPLES
    return word in IRREGULAR_PARTICIPLES or ends_regularly


def measure_participles(modules: Sequence[Module]) -> Figure:
    """Functions whose name is one bare participle, of all functions."""
    functions = list(list_functions(modules))
    places = (
        f"{module.place(function.lineno)} {function.name}"
        for module, function in functions
        if is_participle(function.name)
    )
    return share_of_places(places, len(functions))


def measure_pronouns(modules: Sequence[Module]) -> Figure:
    """Assignments to a pronoun or participle, of all assignments to names; loops count as such."""
    assignments = [
        (module, node)
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    places = (
        f"{module.place(node.lineno)} {node.id}"
        for module, node in assignments
        if node.id in PRONOUNS
    )
    return share_of_places(places, len(assignments))


def measure_shared_classes(modules: Sequence[Module]) -> Figure:
    """Class names that more than one module defines."""
    by_name: dict[str, dict[str, str]] = defaultdict(dict)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                by_name[node.name].setdefault(module.name, module.place(node.lineno))
    return count_places(
        f"{name}: {', '.join(by_module.values())}"
        for name, by_module in sorted(by_name.items())
        if len(by_module) > 1
    )


def measure_shared_stems(modules: Sequence[Module]) -> Figure:
    """File names that more than one module has."""
    stems = Counter(module.path.stem for module in modules if not module.is_package)
    return count_places(
        f"{stem}.py: {', '.join(m.place() for m in modules if m.path.stem == stem)}"
        for stem, count in sorted(stems.items())
        if count > 1
    )


def measure_untyped_signatures(modules: Sequence[Module]) -> Figure:
    """Functions that take or return `dict[str, Any]` or `Mapping[str, Any]`."""
    return count_places(
        f"{module.place(function.lineno)} {function.name}"
        for module, function in list_functions(modules)
        if any(_UNTYPED.search(ast.unparse(note)) for note in _annotations(function))
    )


def _annotations(function: Function) -> Iterator[ast.expr]:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    yield from (argument.annotation for argument in arguments if argument.annotation)
    if function.returns:
        yield function.returns
