"""Cold commands as multiples of `python -c pass`, medians of interleaved fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
CATALOG = Path(__file__).resolve().parents[2] / "fixtures" / "catalogs" / "office"
QUERY = "put two PDF files into one"
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "--version": [sys.executable, "-m", "capdisc", "--version"],
    "--help": [sys.executable, "-m", "capdisc", "--help"],
    "search": [sys.executable, "-m", "capdisc", "search", QUERY],
    "search --mode lexical": [sys.executable, "-m", "capdisc", "search", QUERY, "--mode", "lexical"],
    "render --budget 1850": [sys.executable, "-m", "capdisc", "render", QUERY, "--budget", "1850"],
    "render --format xml": [sys.executable, "-m", "capdisc", "render", QUERY, "--format", "xml"],
}


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "CAPDISC_INDEX_DIR": folder}
        catalog = sys.argv[1] if len(sys.argv) > 1 else str(CATALOG)
        subprocess.run([sys.executable, "-m", "capdisc", "index", catalog, "-q"], env=env, check=False)
        times: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(ROUNDS + 1):
            for name, command in COMMANDS.items():
                started = time.perf_counter()
                subprocess.run(command, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False)
                times[name].append(time.perf_counter() - started)
    base = statistics.median(times["python -c pass"][1:])
    for name, taken in times.items():
        median = statistics.median(taken[1:])
        print(f"{name:24s} {1000 * median:8.1f} ms {median / base:7.1f} ×")


if __name__ == "__main__":
    main()
