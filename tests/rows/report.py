"""Which test shows each need of the designs?

Run `just rows --verbose`, or `python tests/rows/report.py [--verbose]`.

rows.toml holds the 322 needs. A test names those that it shows in its docstring, as S1 to S322.
answered.toml holds the others: how capdisc meets the need in another way, or that it does not meet
it, and where a reader finds out.
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
_ROW_NUMBERS = re.compile(r"\bS(\d{1,3})(?:\s*[–-]\s*S(\d{1,3}))?\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCoverage:
    """The needs by number, and for each the tests that show it or the sentence that answers it."""

    needs: Mapping[int, str]
    tests: Mapping[int, tuple[str, ...]]
    answers: Mapping[int, str]

    @property
    def silent(self) -> tuple[int, ...]:
        """The rows that neither a test nor an answer names."""
        return tuple(
            number
            for number in self.needs
            if number not in self.tests and number not in self.answers
        )


def load_needs(path: Path = HERE / "rows.toml") -> dict[int, str]:
    """The text of every row, by number. The tables of the file are only headings for readers."""
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    return {int(number): text for section in sections.values() for number, text in section.items()}


def load_answers(path: Path = HERE / "answered.toml") -> dict[int, str]:
    """The sentence for each row that no test shows, by number."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["answered"]
    return {entry["row"]: entry["where"] for entry in entries}


def find_coverage(
    tests: Path = TESTS,
    needs_file: Path = HERE / "rows.toml",
    answers_file: Path = HERE / "answered.toml",
) -> RowCoverage:
    """What is known of each row, read from the source of the tests without running them."""
    names: dict[int, list[str]] = defaultdict(list)
    for path in sorted(tests.rglob("test_*.py")):
        for name, docstring in _test_docstrings(path):
            for number in row_numbers(docstring):
                names[number].append(f"{path.relative_to(tests)}::{name}")
    return RowCoverage(
        needs=load_needs(needs_file),
        tests={number: tuple(names[number]) for number in sorted(names)},
        answers=load_answers(answers_file),
    )


def row_numbers(text: str) -> tuple[int, ...]:
    """The rows that a text names, singly or as a range, sorted and each once."""
    ranges = (
        range(int(first), int(last or first) + 1) for first, last in _ROW_NUMBERS.findall(text)
    )
    return tuple(sorted({number for numbers in ranges for number in numbers}))


def _test_docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def summary(coverage: RowCoverage) -> str:
    """How many rows are shown by tests, answered in another way, and silent."""
    return (
        f"shown {len(coverage.tests)}, answered otherwise {len(coverage.answers)}, "
        f"silent {len(coverage.silent)}"
    )


def _report_lines(coverage: RowCoverage) -> Iterator[str]:
    for number, need in coverage.needs.items():
        yield f"S{number:<4} {need}"
        answers = coverage.tests.get(number, (coverage.answers.get(number, "silent"),))
        yield from (f"      {answer}" for answer in answers)


def main(arguments: list[str]) -> int:
    """Print the report; the exit status is 1 where a row is silent."""
    coverage = find_coverage()
    if "--verbose" in arguments:
        print("\n".join(_report_lines(coverage)))
    print(summary(coverage))
    return int(bool(coverage.silent))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
