"""Size and grain: tokens, lines and modules, and what stands in the wrong part of a file or tree."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from tokenize import TokenInfo

from house.source_tree import (
    Figure,
    Function,
    Module,
    count_places,
    share_of_places,
)

LONG_LINE_COLUMNS = 100
INIT_LINES = 40
LATE_CONSTANTS = 3
_LAYOUT_TOKENS = frozenset(
    "COMMENT NL NEWLINE INDENT DEDENT ENCODING ENDMARKER FSTRING_END".split()
)


def list_code_tokens(module: Module) -> Iterator[TokenInfo]:
    """The tokens that no formatter changes: no comment, docstring or line end. An f-string is one
    token, as it is before Python 3.12, so that figures of all versions agree.
    """
    docstring_lines = set(_docstring_lines(module))
    depth = 0  # of f-strings in f-strings
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        kind = tokenize.tok_name[token.type]
        depth -= kind == "FSTRING_END"
        is_docstring = kind == "STRING" and token.start[0] in docstring_lines
        if not depth and kind not in _LAYOUT_TOKENS and not is_docstring:
            yield token
        depth += kind == "FSTRING_START"


def _docstring_lines(module: Module) -> Iterator[int]:
    for node in module.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(
            node, False
        ):
            docstring = node.body[0]
            yield from range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1)


def is_core(module: Module) -> bool:
    """Whether the module is part of no plug-in, whose modules lie in one flat folder."""
    return not module.file.startswith("plugins/")


@cache
def count_code(module: Module) -> tuple[int, int]:
    """The numbers of tokens of code, and of lines that hold one."""
    tokens = list(list_code_tokens(module))
    spans = (range(token.start[0], token.end[0] + 1) for token in tokens)
    return len(tokens), len({line for span in spans for line in span})


def measure_tokens(modules: Sequence[Module]) -> Figure:
    """Tokens of code, without comments and docstrings; the places are packages."""
    return _sum_by_package({module: count_code(module)[0] for module in modules})


def measure_core_tokens(modules: Sequence[Module]) -> Figure:
    """Those of the core: what is in no plug-in."""
    return measure_tokens(list(filter(is_core, modules)))


def measure_lines(modules: Sequence[Module]) -> Figure:
    """Lines that hold code; the places are packages."""
    return _sum_by_package({module: count_code(module)[1] for module in modules})


def _sum_by_package(counts: dict[Module, int]) -> Figure:
    packages: Counter[str] = Counter()
    for module, count in counts.items():
        parts = module.name.split(".")
        packages[".".join(parts[: 2 if is_core(module) else 1])] += count
    places = (f"{package} {count:,}" for package, count in packages.most_common())
    return Figure(value=packages.total(), places=tuple(places))


def measure_modules(modules: Sequence[Module]) -> Figure:
    """All modules, smallest first."""
    by_size = sorted(modules, key=lambda module: (len(module.lines), module.name))
    return count_places(f"{module.place()} {len(module.lines)} lines" for module in by_size)


def measure_init_code(modules: Sequence[Module]) -> Figure:
    """Packages with more than 40 lines of code in their `__init__.py`."""
    sizes = {module: count_code(module)[1] for module in modules if module.is_package}
    return count_places(
        f"{module.place()} {size} lines" for module, size in sizes.items() if size > INIT_LINES
    )


def measure_late_constants(modules: Sequence[Module]) -> Figure:
    """Modules with three or more assignments below their first function."""
    counts = {module: _count_late_constants(module.tree) for module in modules}
    return count_places(
        f"{module.place()} {count}" for module, count in counts.items() if count >= LATE_CONSTANTS
    )


def _count_late_constants(tree: ast.Module) -> int:
    first = next(
        (place for place, node in enumerate(tree.body) if isinstance(node, Function)),
        len(tree.body),
    )
    return sum(isinstance(node, ast.Assign | ast.AnnAssign) for node in tree.body[first:])


def measure_long_lines(modules: Sequence[Module]) -> Figure:
    """Lines of 100 columns and more, of all lines."""
    places = (
        f"{module.place(number)} {len(line)} columns"
        for module in modules
        for number, line in enumerate(module.lines, 1)
        if len(line) >= LONG_LINE_COLUMNS
    )
    return share_of_places(places, sum(len(module.lines) for module in modules))


def measure_flat_modules(modules: Sequence[Module]) -> Figure:
    """Modules that lie in a root folder of the core, beside its subpackages."""
    return count_places(
        module.place()
        for module in modules
        if is_core(module) and module.name.count(".") == 1 and not module.is_package
    )
