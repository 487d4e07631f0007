"""The comparison with the engine of the second design is skipped where its package is missing."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "tools" / "bench" / "second_engine.py"


def test_without_the_package_nothing_is_measured_and_a_command_installs_it(tmp_path) -> None:
    finished = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), "--modules", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("not measured: ")
    assert "npm install" in finished.stdout or "install Node.js" in finished.stdout
