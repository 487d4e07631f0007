"""The table of the 322 needs of the designs: what is typed for each, and what must come.

Run `just rows`, or `python tests/rows/table.py [S21 …]`, to print it. A file holds the rows of a
design; each row has its need and one of

- `typed`: a transcript, see transcript.py; `in` names the folder of fixtures/designs or
  fixtures/catalogs in which it is typed, copied and indexed, and `files` are written there first.
  Without both it begins in an empty folder. With `changes_files` it has a copy of its own.
- `test`: the test that shows it, where a row needs a terminal, a server, another process or time;
- `answer`: how capdisc meets the need in another way, or that it does not meet it; beside `typed`
  the same of a part of the need.

`open` says why a row that is typed does not hold yet; the test fails once it does.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
FILES = ("constat", "teradata", "agentos", "pbj", "cms", "beyond")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A need of a design with what shows it."""

    name: str
    need: str
    workspace: str = ""
    typed: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    changes_files: bool = False
    test: str = ""
    answer: str = ""
    open: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether it is typed in a workspace that other rows see, too."""
        return bool(self.workspace) and not (self.files or self.changes_files)

    @property
    def state(self) -> str:
        """In a word: open, typed, test or answered; `silent` where there is none of these."""
        states = {"open": self.open, "typed": self.typed, "test": self.test}
        states["answered"] = self.answer
        return next((state for state, given in states.items() if given), "silent")


def load_rows(folder: Path = HERE, files: tuple[str, ...] = FILES) -> tuple[Row, ...]:
    """Every row of the table, in the order of the designs."""
    rows = []
    for name in files:
        for row, entry in tomllib.loads((folder / f"{name}.toml").read_text("utf-8")).items():
            rows.append(Row(name=row, workspace=entry.pop("in", ""), **entry))
    return tuple(rows)


def count_states(rows: tuple[Row, ...]) -> str:
    """How many rows are typed, shown by a named test, and answered otherwise."""
    counts = Counter(row.state for row in rows)
    return ", ".join(f"{state} {count}" for state, count in counts.most_common())


def print_rows(rows: tuple[Row, ...]) -> None:
    for row in rows:
        print(f"{row.name}  {row.state}: {row.need}")
        for line in f"{row.typed}{row.test}\n{row.answer}".strip().splitlines():
            print(f"      {line}")


def main(arguments: list[str]) -> int:
    """Print the rows that are named, or all of them with their count."""
    rows = load_rows()
    print_rows(tuple(row for row in rows if not arguments or row.name in arguments))
    print(count_states(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
