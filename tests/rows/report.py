"""Which test shows each need of the designs, as a user meets it?

Run `just rows --verbose`, or `python tests/rows/report.py [--verbose]`.

rows.toml holds the 322 needs. A test names those that it shows in its docstring, as S1 to S322. It
counts where it goes in by a door of users: the command line, the MCP server, or the front door of
the library (`import capdisc_indexer as cd`). A test of inner functions proves a part and shows
nothing. words.toml holds the words and keys in which a design states a need; the tests that show it
hold all of them. answered.toml holds the other needs: how capdisc meets the need in another way, or
that it does not meet it, and where a reader finds out.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
TESTS = (REPOSITORY / "tests", *sorted(REPOSITORY.glob("plugins/*/tests")))
_ROW_NUMBERS = re.compile(r"\bS(\d{1,3})(?:\s*[–-]\s*S(\d{1,3}))?\b")
# The names by which a test reaches capdisc as users do, and what is said of it in the report.
# Fixtures that only prepare an index are none of them.
DOORS: Mapping[str, str] = {
    **dict.fromkeys(("capdisc", "process", "command", "subprocess", "terminal"), "command line"),
    **dict.fromkeys(("run_on_terminal", "ask", "Popen"), "command line"),
    **dict.fromkeys(("run_session", "call_once", "stdio_client"), "MCP server"),
    "cd": "library",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowingTest:
    """A test that names rows: its name with its file, the doors that it uses, and its source with
    what stands in its file outside of other tests.
    """

    name: str
    doors: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCoverage:
    """The needs by number; for each the tests that show it through a door, those that prove parts
    of it inside, the sentence that answers it, and the words of the design that no test holds.
    """

    needs: Mapping[int, str]
    tests: Mapping[int, tuple[ShowingTest, ...]]
    answers: Mapping[int, str]
    inner_tests: Mapping[int, tuple[ShowingTest, ...]] = field(default_factory=dict)
    missing_words: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def silent(self) -> tuple[int, ...]:
        """The rows that neither a test through a door nor an answer names."""
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


def load_words(path: Path = HERE / "words.toml") -> dict[int, tuple[str, ...]]:
    """The words of the designs, by the number of their row; none without the file."""
    if not path.exists():
        return {}
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["words"]
    return {int(number): tuple(words) for number, words in entries.items()}


def find_coverage(
    folders: Sequence[Path] = TESTS,
    needs_file: Path = HERE / "rows.toml",
    answers_file: Path = HERE / "answered.toml",
    words_file: Path = HERE / "words.toml",
) -> RowCoverage:
    """What is known of each row, read from the source of the tests without running them."""
    shown: dict[int, list[ShowingTest]] = defaultdict(list)
    inner: dict[int, list[ShowingTest]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("test_*.py")):
            for test, docstring in _iter_tests(path, folder):
                for number in row_numbers(docstring):
                    (shown if test.doors else inner)[number].append(test)
    missing = {
        number: tuple(
            word for word in words if not any(word in test.text for test in shown[number])
        )
        for number, words in load_words(words_file).items()
        if number in shown
    }
    return RowCoverage(
        needs=load_needs(needs_file),
        tests={number: tuple(shown[number]) for number in sorted(shown)},
        answers=load_answers(answers_file),
        inner_tests={number: tuple(inner[number]) for number in sorted(inner)},
        missing_words={number: words for number, words in missing.items() if words},
    )


def row_numbers(text: str) -> tuple[int, ...]:
    """The rows that a text names, singly or as a range, sorted and each once."""
    ranges = (
        range(int(first), int(last or first) + 1) for first, last in _ROW_NUMBERS.findall(text)
    )
    return tuple(sorted({number for numbers in ranges for number in numbers}))


def _iter_tests(path: Path, folder: Path) -> Iterator[tuple[ShowingTest, str]]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    fixtures = {name for name, node in functions.items() if _is_fixture(node)}
    test_nodes = [node for name, node in functions.items() if name.startswith("test_")]
    lines = source.splitlines()
    common = [line for number, line in enumerate(lines, 1) if not _is_inside(test_nodes, number)]
    for node in test_nodes:
        used = _used_names(node)
        # Helpers of the file may hold the door; fixtures that prepare something do not count.
        for name in list(used & functions.keys() - fixtures):
            used |= _used_names(functions[name])
        doors = tuple(dict.fromkeys(DOORS[name] for name in sorted(used & DOORS.keys())))
        own = lines[node.lineno - 1 - len(node.decorator_list) * 8 : node.end_lineno]
        text = "\n".join([*common, *own])
        test = ShowingTest(name=f"{path.relative_to(folder)}::{node.name}", doors=doors, text=text)
        yield test, ast.get_docstring(node) or ""


def _is_fixture(node: ast.FunctionDef) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


def _is_inside(nodes: list[ast.FunctionDef], line: int) -> bool:
    return any(node.lineno <= line <= (node.end_lineno or 0) for node in nodes)


def _used_names(node: ast.FunctionDef) -> set[str]:
    """The names that a function takes as arguments, reads, or reads from a module."""
    names = {argument.arg for argument in node.args.args}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            names.add(inner.attr)
    return names


def summary(coverage: RowCoverage) -> str:
    """How many rows are shown by tests, answered in another way, and silent."""
    return (
        f"shown {len(coverage.tests)}, answered otherwise {len(coverage.answers)}, "
        f"silent {len(coverage.silent)}"
    )


def _report_lines(coverage: RowCoverage) -> Iterator[str]:
    for number, need in coverage.needs.items():
        yield f"S{number:<4} {need}"
        for test in coverage.tests.get(number, ()):
            yield f"      shown by {' and '.join(test.doors)}: {test.name}"
        if words := coverage.missing_words.get(number):
            yield f"      no test holds: {', '.join(words)}"
        if number not in coverage.tests:
            yield f"      {coverage.answers.get(number, 'silent')}"


def main(arguments: list[str]) -> int:
    """Print the report; the exit status is 1 where a row is silent or its words are in no test."""
    coverage = find_coverage()
    if "--verbose" in arguments:
        print("\n".join(_report_lines(coverage)))
    print(summary(coverage))
    return int(bool(coverage.silent or coverage.missing_words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
