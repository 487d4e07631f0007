"""The product's modules, parsed once, and the form of a figure over them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CORE_PACKAGES = ("cli/capdisc", "indexer/capdisc_indexer")
PLUGIN_PACKAGES = tuple(
    path.relative_to(REPOSITORY).as_posix()
    for path in sorted(REPOSITORY.glob("plugins/*/capdisc_*"))
)
PACKAGES = (*CORE_PACKAGES, *PLUGIN_PACKAGES)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Module:
    """One Python file of the product, by its dotted name; a package has the name of its folder."""

    name: str
    path: Path
    file: str  # the path below the repository
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.source)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """All nodes of the tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines of the file, without their ends."""
        return self.source.splitlines()

    @property
    def is_package(self) -> bool:
        """Whether this is an `__init__.py`, which counts of flat modules and stems leave out."""
        return self.path.stem == "__init__"

    def place(self, line: int = 0) -> str:
        """The file below the repository, with the line where there is one: `cli/capdisc/x.py:7`."""
        return f"{self.file}:{line}" if line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A count, or a percentage rounded to a tenth, with the places that make it up."""

    value: float
    places: tuple[str, ...]


def count_places(places: Iterable[str]) -> Figure:
    """The figure that counts these places."""
    places = tuple(places)
    return Figure(value=len(places), places=places)


def share_of_places(places: Iterable[str], total: int) -> Figure:
    """The figure that gives these places as a percentage of `total`."""
    places = tuple(places)
    return Figure(value=round(100 * len(places) / max(total, 1), 1), places=places)


@cache
def load_modules(
    root: Path = REPOSITORY, packages: tuple[str, ...] = PACKAGES
) -> tuple[Module, ...]:
    """Every module of the packages, in the order of their paths."""
    return tuple(
        _load_module(path, root, Path(package).parent)
        for package in packages
        for path in sorted((root / package).rglob("*.py"))
    )


def _load_module(path: Path, root: Path, base: Path) -> Module:
    parts = path.relative_to(root / base).with_suffix("").parts
    return Module(
        name=".".join(parts).removesuffix(".__init__"),
        path=path,
        file=path.relative_to(root).as_posix(),
        source=path.read_text(encoding="utf-8"),
    )


def list_functions(modules: Iterable[Module]) -> Iterator[tuple[Module, Function]]:
    """Every function and method of the modules, also those inside functions."""
    for module in modules:
        for node in module.nodes:
            if isinstance(node, Function):
                yield module, node
