"""A program in a process group of its own, within its limits."""

import os
import sys
import time
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_run.call_types import CallLimits, CommandCall, Outcome
from capdisc_run.prepare import execute_call
from capdisc_run.process import run_process

LONG = 60


def _run(*argv: str, stdin: bytes | None = None, **limits) -> Outcome:
    call = CommandCall(argv=argv, cwd=Path("/"), stdin=stdin)
    return run_process(call, {"PATH": os.environ["PATH"]}, CallLimits(**limits))


def _python(code: str, **limits) -> Outcome:
    return _run(sys.executable, "-c", code, **limits)


def test_both_streams_and_the_exit_status_come_back() -> None:
    outcome = _run("/bin/sh", "-c", "echo out; echo err >&2; exit 3")
    assert (outcome.status, outcome.exit_code, outcome.is_truncated) == ("failed", 3, False)
    assert (outcome.stdout, outcome.stderr) == (b"out\n", b"err\n")


def test_a_signal_is_128_and_its_number() -> None:
    assert _run("/bin/sh", "-c", "kill -TERM $$").exit_code == 143


def test_stdin_is_what_was_given_and_else_it_is_empty() -> None:
    large = b"x" * 300_000
    assert _run("/bin/cat", stdin=large).stdout == large
    assert _run("/bin/cat").stdout == b""


def test_a_program_that_does_not_read_holds_nobody_up() -> None:
    assert _run("/bin/true", stdin=b"x" * 1_000_000).status == "ok"


def test_past_its_time_it_is_killed_with_all_it_started(tmp_path) -> None:
    mark = tmp_path / "mark"
    outcome = _run(
        "/bin/sh", "-c", f"(sleep 2; touch {mark}) & echo began; sleep {LONG}", seconds=0.3
    )
    assert (outcome.status, outcome.is_truncated, outcome.stdout) == ("timeout", True, b"began\n")
    time.sleep(2.2)
    assert not mark.exists()


def test_what_it_left_running_is_killed_when_it_ends(tmp_path) -> None:
    mark = tmp_path / "mark"
    outcome = _run("/bin/sh", "-c", f"(sleep 1; touch {mark}) & echo done")
    assert (outcome.status, outcome.stdout) == ("ok", b"done\n")
    time.sleep(1.2)
    assert not mark.exists()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_above_its_bytes_it_is_killed(stream: str) -> None:
    call = CommandCall(argv=("/bin/sh", "-c", f"yes >&{stream}"), cwd=Path("/"))
    outcome = execute_call(
        call, {"PATH": os.environ["PATH"]}, CallLimits(max_bytes=10_000, seconds=LONG)
    )
    assert (outcome.status, outcome.is_truncated) == ("too-large", True)
    assert len(outcome.stdout + outcome.stderr) == 10_000


def test_as_many_bytes_as_allowed_are_fine() -> None:
    outcome = _python("print('x' * 9_999)", max_bytes=10_000)
    assert (outcome.status, len(outcome.stdout)) == ("ok", 10_000)


def test_it_is_killed_once_nobody_wants_it_any_more() -> None:
    assert _run("/bin/sleep", str(LONG), seconds=LONG, is_stopped=lambda: True).status == "stopped"


def test_it_has_no_terminal_to_ask_on() -> None:
    assert _run("/bin/sh", "-c", "echo trick > /dev/tty").exit_code != 0


def test_closed_streams_do_not_end_the_waiting() -> None:
    outcome = _run("/bin/sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 4")
    assert (outcome.status, outcome.exit_code) == ("failed", 4)


@pytest.mark.parametrize("argv", [("/nowhere/program",), ("/",), ("/bin/echo", "x" * 10_000_000)])
def test_a_program_that_cannot_be_started_is_an_error(argv: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="cannot be started"):
        _run(*argv)
