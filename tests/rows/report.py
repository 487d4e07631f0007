"""Which needs of the designs a test shows: python tests/rows/report.py [--verbose]; `just rows` does the same.

The needs are numbered 1 to 322, and a test names those that it shows in its docstring, an S before each. The others are
answered in answered.toml: how capdisc meets the need by another way, or that it does not, and where a reader learns so.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
ALL = range(1, 323)
_NUMBERS = re.compile(r"\bS(\d{1,3})(?:\s*[–-]\s*S(\d{1,3}))?\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """For each number the tests that show it, or the one sentence that answers it."""

    shown: Mapping[int, tuple[str, ...]]
    answered: Mapping[int, str]

    @property
    def silent(self) -> tuple[int, ...]:
        """The numbers that nobody speaks of."""
        return tuple(
            number for number in ALL if number not in self.shown and number not in self.answered
        )


def rows(tests: Path = TESTS, answers: Path = HERE / "answered.toml") -> Rows:
    """All that is known about the rows, read from the files of the tests without running them."""
    shown: dict[int, list[str]] = defaultdict(list)
    for path in sorted(tests.rglob("test_*.py")):
        for name, docstring in _documented(path):
            for number in numbers(docstring):
                shown[number].append(f"{path.relative_to(tests)}::{name}")
    entries = tomllib.loads(answers.read_text(encoding="utf-8"))["answered"]
    return Rows(
        shown={number: tuple(names) for number, names in sorted(shown.items())},
        answered={entry["row"]: entry["where"] for entry in entries},
    )


def numbers(text: str) -> tuple[int, ...]:
    """The rows that a text names, one by one or as a range, in their order and without repetition."""
    found = [range(int(first), int(last or first) + 1) for first, last in _NUMBERS.findall(text)]
    return tuple(sorted({number for each in found for number in each}))


def _documented(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def summary(known: Rows) -> str:
    """The three counts."""
    return f"shown {len(known.shown)}, answered otherwise {len(known.answered)}, silent {len(known.silent)}"


def _lines(known: Rows) -> Iterator[str]:
    for number in ALL:
        for text in known.shown.get(number, (known.answered.get(number, "silent"),)):
            yield f"S{number:<4} {text}"


def main(arguments: list[str]) -> int:
    """Print it; the exit status is 1 where a row is silent."""
    known = rows()
    if "--verbose" in arguments:
        print("\n".join(_lines(known)))
    print(summary(known))
    return int(bool(known.silent))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
