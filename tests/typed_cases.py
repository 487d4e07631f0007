"""Cases that are typed: transcripts in TOML files, each under a sentence that it shows, in the form of
the rows of the designs (tests/rows/table.py and transcript.py).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rows.conftest import open_workspace, shared_folder
from rows.table import REPOSITORY, Row
from rows.transcript import find_failure

__all__ = ["load_cases", "open_workspace", "shared_folder", "type_case", "type_in_workspace"]


def load_cases(path: Path) -> list[Any]:
    """The cases of a file, as parameters of a test."""
    cases = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        pytest.param(Row(name=name, need=name, workspace=case.pop("in", ""), **case), id=name)
        for name, case in cases.items()
    ]


@pytest.fixture
def type_case(capdisc: Callable[..., Any]) -> Callable[[Row], None]:
    """Types a case in the current folder; fails with what the first line that failed gave."""

    def run(case: Row) -> None:
        if failure := find_failure(case.typed, capdisc, dict(os.environ)):
            pytest.fail(f"{case.name}\n{failure}", pytrace=False)

    return run


@pytest.fixture
def type_in_workspace(
    open_workspace: Callable[[Row], Path],
    type_case: Callable[[Row], None],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Callable[[Row], None]:
    """Types a case in its own workspace; $CASES is the folder of the test, $FIXTURES the shipped
    one.
    """

    def run(case: Row) -> None:
        monkeypatch.setenv("CASES", str(request.path.parent))
        monkeypatch.setenv("FIXTURES", str(REPOSITORY / "fixtures"))
        open_workspace(case)
        type_case(case)

    return run
