"""What the tools answer over the data catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rows.table import Row
from typed_cases import load_cases


@pytest.mark.parametrize("case", load_cases(Path(__file__).with_name("answers.toml")))
def test_a_tool_answers_what_the_case_says(
    data: Path, type_case: Callable[[Row], None], case: Row
) -> None:
    type_case(case)
