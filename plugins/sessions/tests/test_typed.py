"""What `session`, `learn` and the tools for facts print, typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rows.table import Row
from typed_cases import load_cases

HERE = Path(__file__).parent
CASES = [
    case for name in ("session", "learn", "facts") for case in load_cases(HERE / f"{name}.toml")
]


@pytest.mark.parametrize("case", CASES)
def test_what_is_typed_gives_what_the_case_says(
    type_in_workspace: Callable[[Row], None], case: Row
) -> None:
    type_in_workspace(case)
