"""How well does the product keep its house rules on names, grain and types?

Run `just house` for a table of all figures, and `just house MEASURE` for the places that one of
them counts. test_house.py holds each figure against a limit.

The definitions are those of the survey that the rules come from, so that figures of different days
can be compared. A name is judged by its form alone: a rename that only evades a count helps nobody.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("cli/capdisc", "indexer/capdisc_indexer")

LONG_LINE_COLUMNS = 100
SMALL_MODULE_LINES = 40

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Python file of the product, by its dotted name; a package has the name of its folder."""

    name: str
    path: Path
    file: str  # the path below the repository
    tree: ast.Module
    lines: Sequence[str]

    @property
    def is_package(self) -> bool:
        """Whether this is an `__init__.py`, which flat, small and stem counts leave out."""
        return self.path.stem == "__init__"

    def place(self, line: int = 0) -> str:
        """The file below the repository, with the line where there is one: `cli/capdisc/x.py:7`."""
        return f"{self.file}:{line}" if line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One figure: a count or, where `total` is given, a percentage; and the places it counts."""

    offenders: tuple[str, ...]
    total: int | None = None

    @property
    def value(self) -> float:
        """The count, or the percentage rounded to a tenth."""
        if self.total is None:
            return len(self.offenders)
        return round(100 * len(self.offenders) / max(self.total, 1), 1)


@cache
def load_modules(
    root: Path = REPOSITORY, packages: tuple[str, ...] = PACKAGES
) -> tuple[Module, ...]:
    """Every module of the packages, parsed once, in the order of their paths."""
    return tuple(
        _load_module(path, root, Path(package).parent)
        for package in packages
        for path in sorted((root / package).rglob("*.py"))
    )


def _load_module(path: Path, root: Path, base: Path) -> Module:
    source = path.read_text(encoding="utf-8")
    parts = path.relative_to(root / base).with_suffix("").parts
    return Module(
        name=".".join(parts).removesuffix(".__init__"),
        path=path,
        file=path.relative_to(root).as_posix(),
        tree=ast.parse(source),
        lines=source.splitlines(),
    )


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(modules: Iterable[Module]) -> Iterator[tuple[Module, Function]]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node


def is_participle(name: str) -> bool:
    """Whether a function's name is one bare past participle, such as `told` or `_printed`."""
    word = name.strip("_")
    if "_" in word:
        return False
    ends_regularly = word.endswith("ed") and len(word) > 4 and word not in NO_PARTICIPLES
    return word in IRREGULAR_PARTICIPLES or ends_regularly


def measure_participles(modules: Sequence[Module]) -> Measurement:
    """Functions whose name is one bare participle, of all functions."""
    functions = list(_functions(modules))
    offenders = (
        f"{module.place(function.lineno)} {function.name}"
        for module, function in functions
        if is_participle(function.name)
    )
    return Measurement(offenders=tuple(offenders), total=len(functions))


def measure_pronouns(modules: Sequence[Module]) -> Measurement:
    """Assignments to a pronoun or participle, of all assignments to names; loops count as such."""
    assignments = [
        (module, node)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    offenders = (
        f"{module.place(node.lineno)} {node.id}"
        for module, node in assignments
        if node.id in PRONOUNS
    )
    return Measurement(offenders=tuple(offenders), total=len(assignments))


def measure_long_lines(modules: Sequence[Module]) -> Measurement:
    """Lines of 100 columns and more, of all lines."""
    offenders = (
        f"{module.place(number)} {len(line)} columns"
        for module in modules
        for number, line in enumerate(module.lines, 1)
        if len(line) >= LONG_LINE_COLUMNS
    )
    return Measurement(
        offenders=tuple(offenders), total=sum(len(module.lines) for module in modules)
    )


def measure_modules(modules: Sequence[Module]) -> Measurement:
    """All modules, smallest first."""
    by_size = sorted(modules, key=lambda module: (len(module.lines), module.name))
    return Measurement(
        offenders=tuple(f"{module.place()} {len(module.lines)} lines" for module in by_size)
    )


def measure_small_modules(modules: Sequence[Module]) -> Measurement:
    """Modules of fewer than 40 lines, without `__init__.py`."""
    offenders = (
        f"{module.place()} {len(module.lines)} lines"
        for module in modules
        if 0 < len(module.lines) < SMALL_MODULE_LINES and not module.is_package
    )
    return Measurement(offenders=tuple(offenders))


def measure_flat_modules(modules: Sequence[Module]) -> Measurement:
    """Modules that lie in a package's root folder, beside its subpackages."""
    offenders = (
        module.place()
        for module in modules
        if module.name.count(".") == 1 and not module.is_package
    )
    return Measurement(offenders=tuple(offenders))


def measure_single_importers(modules: Sequence[Module]) -> Measurement:
    """Modules that exactly one other module imports; imports inside functions count, too."""
    by_name = {module.name: module for module in modules}
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for target in _imported_modules(module, by_name):
            importers[target].add(module.name)
    offenders = []
    for target, names in importers.items():
        other_names = names - {target}
        if target in by_name and len(other_names) == 1:
            offenders.append(f"{by_name[target].place()} only from {min(other_names)}")
    return Measurement(offenders=tuple(sorted(offenders)))


def _imported_modules(module: Module, known_modules: Iterable[str]) -> Iterator[str]:
    """The module behind each imported name: `from a import b` is `a.b` where that is a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known_modules else node.module


def measure_shared_classes(modules: Sequence[Module]) -> Measurement:
    """Class names that more than one module defines."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].setdefault(module.name, module.place(node.lineno))
    offenders = (
        f"{name}: {', '.join(by_module.values())}"
        for name, by_module in sorted(places.items())
        if len(by_module) > 1
    )
    return Measurement(offenders=tuple(offenders))


def measure_shared_stems(modules: Sequence[Module]) -> Measurement:
    """File names that more than one module has."""
    stems = Counter(module.path.stem for module in modules if not module.is_package)
    offenders = (
        f"{stem}.py: {', '.join(m.place() for m in modules if m.path.stem == stem)}"
        for stem, count in sorted(stems.items())
        if count > 1
    )
    return Measurement(offenders=tuple(offenders))


def measure_untyped_signatures(modules: Sequence[Module]) -> Measurement:
    """Functions that take or return `dict[str, Any]` or `Mapping[str, Any]`."""
    offenders = (
        f"{module.place(function.lineno)} {function.name}"
        for module, function in _functions(modules)
        if any(_UNTYPED.search(ast.unparse(note)) for note in _annotations(function))
    )
    return Measurement(offenders=tuple(offenders))


def _annotations(function: Function) -> Iterator[ast.expr]:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    yield from (argument.annotation for argument in arguments if argument.annotation)
    if function.returns:
        yield function.returns


Measure = Callable[[Sequence[Module]], Measurement]

MEASURES: dict[str, Measure] = {
    "participles": measure_participles,
    "pronouns": measure_pronouns,
    "long-lines": measure_long_lines,
    "modules": measure_modules,
    "small-modules": measure_small_modules,
    "single-importers": measure_single_importers,
    "flat-modules": measure_flat_modules,
    "shared-classes": measure_shared_classes,
    "shared-stems": measure_shared_stems,
    "untyped-signatures": measure_untyped_signatures,
}
GOALS: dict[str, float] = {
    "participles": 2.0,
    "pronouns": 1.0,
    "long-lines": 1.0,
    "modules": 300,
    "small-modules": 20,
    "single-importers": 50,
    "flat-modules": 4,
    "shared-classes": 0,
    "shared-stems": 8,
    "untyped-signatures": 90,
}


def format_table(modules: Sequence[Module]) -> str:
    """A line for each measure: its figure, its goal, and what is counted."""
    lines = [f"{'measure':<20} {'today':>7} {'goal':>7}"]
    for name, measure in MEASURES.items():
        measurement = measure(modules)
        unit = " " if measurement.total is None else "%"
        what = (measure.__doc__ or "").splitlines()[0]
        lines.append(f"{name:<20} {measurement.value:>6g}{unit} {GOALS[name]:>6g}{unit}  {what}")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Print the table, or the places that the named measures count; 2 for an unknown measure."""
    unknown = [name for name in arguments if name not in MEASURES]
    if unknown:
        print(
            f"no measure {', '.join(unknown)}; there are: {', '.join(MEASURES)}", file=sys.stderr
        )
        return 2
    modules = load_modules()
    if not arguments:
        print(format_table(modules))
    for name in arguments:
        print("\n".join(MEASURES[name](modules).offenders))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
