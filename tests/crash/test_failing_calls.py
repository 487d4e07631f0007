"""R11 in seconds: some calls of each operation fail; `just torture --only R11` lets all of them fail."""

import importlib
import os
import shutil
import sys
from pathlib import Path

import pytest

TORTURE = Path(__file__).resolve().parents[2] / "tools" / "torture"
SEED = int(os.environ.get("CAPDISC_SEED", "1"))
SCALE = float(os.environ.get("CAPDISC_TORTURE", "0"))
_NAMES = (
    "build", "update", "setup claude", "undo claude", "setup opencode", "undo opencode",
    "setup more", "undo a part", "hook", "hook forgets", "trust", "approve",
)  # fmt: skip


@pytest.mark.crash
@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library, as Linux does it")
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler (cc)")
@pytest.mark.parametrize("name", _NAMES)
def test_a_call_that_fails_leaves_the_old_or_the_new_and_the_next_run_ends_well(
    tmp_path, monkeypatch, name
) -> None:
    monkeypatch.syspath_prepend(str(TORTURE))
    failing_calls = importlib.import_module("failing_calls")
    report = failing_calls.try_operation(tmp_path / "failing", name, f"{SEED} {name}", SCALE)
    assert set(report.runs) == set(failing_calls.KINDS)
    assert report.broken == []
