"""What builds in the background has limits, and `doctor` says when one was met."""

from __future__ import annotations

import resource
import signal
import time
from pathlib import Path

import pytest

from capdisc.context import background_process

REPORT = """
import os, resource

def main():
    cpu, data = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_CPU, resource.RLIMIT_DATA))
    with open("report", "w") as stream:
        print(cpu, data, os.nice(0), file=stream)
"""
BUSY = """
import resource

def main():
    resource.setrlimit(resource.RLIMIT_CPU, (1, 60))
    while True:
        pass
"""
HUNGRY = """
import resource, sys
from capdisc.hook import quiet_build
from capdisc.args import command_table

def main():
    resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
    command_table.load_command = lambda name: bytearray(1 << 30)
    quiet_build.main()
"""


@pytest.fixture
def run_in_background(hermetic: Path, monkeypatch: pytest.MonkeyPatch):
    """The exit status of `main()` of a module with this source, run as a build is."""
    monkeypatch.syspath_prepend(hermetic)

    def run(source: str, *words: str) -> int:
        (hermetic / "duty.py").write_text(source)
        return background_process.start_process("duty", words).wait(60)

    return run


def test_a_build_in_the_background_has_limits(run_in_background, hermetic) -> None:
    assert run_in_background(REPORT) == 0
    cpu_s, data_bytes, niceness = map(int, (hermetic / "report").read_text().split())
    assert cpu_s == background_process.MAX_CPU_S
    assert 0 < data_bytes < resource.RLIM_INFINITY or data_bytes >= 4 * 1024**3
    assert niceness >= 5


def test_doctor_names_a_build_that_took_too_much_time(run_in_background, capdisc) -> None:
    assert run_in_background(BUSY) == 128 + signal.SIGXCPU
    done = capdisc("doctor").out
    assert (
        "in the background, just now: the index could not be built: it took more than 30" in done
    )
    assert "capdisc index, which has no limits" in done


def test_doctor_names_a_build_that_crashed(run_in_background, capdisc) -> None:
    assert run_in_background("import os\nmain = os.abort\n") == 128 + signal.SIGABRT
    assert "the index could not be built: SIGABRT ended it" in capdisc("doctor").out


def test_doctor_names_a_build_that_ran_out_of_memory(run_in_background, capdisc) -> None:
    assert run_in_background(HUNGRY, "claude") == 0
    line = "the index could not be built: there is not enough memory within the limit of 0.2 GiB"
    assert line in capdisc("doctor").out


def test_a_build_that_somebody_stops_is_no_failure(hermetic, monkeypatch, capdisc) -> None:
    monkeypatch.syspath_prepend(hermetic)
    (hermetic / "duty.py").write_text(
        "import time\ndef main():\n    open('started', 'w').close()\n    time.sleep(60)\n"
    )
    process = background_process.start_process("duty", [])
    while not (hermetic / "started").exists():
        time.sleep(0.05)
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert "no error in the last seven days" in capdisc("doctor").out
