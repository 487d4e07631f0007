"""What `audit`, `eval` and `tools` as functions print, typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_audit.client_listings import CLIENT_LISTINGS
from rows.table import Row
from typed_cases import load_cases

HERE = Path(__file__).parent
# Variables of clients that change what an audit says.
_VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "SKILL_CHAR_BUDGET",
    "SLASH_COMMAND_TOOL_CHAR_BUDGET",
)
CASES = [
    case
    for name in ("audit", "eval", "savings", "stubs")
    for case in load_cases(HERE / f"{name}.toml")
]


@pytest.mark.parametrize("case", CASES)
def test_what_is_typed_gives_what_the_case_says(
    type_in_workspace: Callable[[Row], None], monkeypatch: pytest.MonkeyPatch, case: Row
) -> None:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    type_in_workspace(case)


def test_every_figure_has_a_source_and_a_date() -> None:
    for rule in CLIENT_LISTINGS.values():
        assert rule.sources
        for source in rule.sources:
            assert source.figure and source.source and source.date >= "2026"
