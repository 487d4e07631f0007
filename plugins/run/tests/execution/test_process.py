"""A program in a process group of its own, in an environment of few variables, within its limits."""

import os
import sys
import time
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_run.call_types import CallLimits, CommandCall, Outcome
from capdisc_run.prepare import execute_call
from capdisc_run.process import build_environment, check_usable, run_process
from case_rows import read_rows

LONG = 60


def _run(*argv: str, stdin: bytes | None = None, **limits) -> Outcome:
    call = CommandCall(argv=argv, cwd=Path("/"), stdin=stdin)
    return run_process(call, {"PATH": os.environ["PATH"]}, CallLimits(**limits))


def _shell(script: str, **limits) -> Outcome:
    return _run("/bin/sh", "-c", script, **limits)


@pytest.mark.parametrize(
    ("script", "status", "code", "out", "err"),
    [
        ("echo out; echo err >&2; exit 3", "failed", 3, b"out\n", b"err\n"),
        ("kill -TERM $$", "failed", 143, b"", b""),
        # Closed streams do not end the waiting.
        ("exec >&- 2>&-; sleep 0.2; exit 4", "failed", 4, b"", b""),
    ],
)
def test_both_streams_and_the_exit_status_come_back(script, status, code, out, err) -> None:
    outcome = _shell(script)
    assert (outcome.status, outcome.exit_code, outcome.is_truncated) == (status, code, False)
    assert (outcome.stdout, outcome.stderr) == (out, err)


def test_stdin_is_what_was_given_and_else_it_is_empty() -> None:
    large = b"x" * 300_000
    assert _run("/bin/cat", stdin=large).stdout == large
    assert _run("/bin/cat").stdout == b""
    # One that does not read holds nobody up.
    assert _run("/bin/true", stdin=b"x" * 1_000_000).status == "ok"


@pytest.mark.parametrize(
    ("script", "seconds", "expected"),
    [
        ("(sleep 5; touch {}) & echo began; sleep 60", 2.5, ("timeout", True, b"began\n")),
        ("(sleep 5; touch {}) & echo done", LONG, ("ok", False, b"done\n")),
    ],
)
def test_all_that_it_started_is_killed_at_its_end_and_past_its_time(
    tmp_path, script, seconds, expected
) -> None:
    mark = tmp_path / "mark"
    outcome = _shell(script.format(mark), seconds=seconds)
    assert (outcome.status, outcome.is_truncated, outcome.stdout) == expected
    time.sleep(5.5)
    assert not mark.exists()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_above_its_bytes_it_is_killed(stream: str) -> None:
    call = CommandCall(argv=("/bin/sh", "-c", f"yes >&{stream}"), cwd=Path("/"))
    limits = CallLimits(max_bytes=10_000, seconds=LONG)
    outcome = execute_call(call, {"PATH": os.environ["PATH"]}, limits)
    assert (outcome.status, outcome.is_truncated) == ("too-large", True)
    assert len(outcome.stdout + outcome.stderr) == 10_000


def test_as_many_bytes_as_allowed_are_fine() -> None:
    outcome = _run(sys.executable, "-c", "print('x' * 9_999)", max_bytes=10_000)
    assert (outcome.status, len(outcome.stdout)) == ("ok", 10_000)


def test_it_is_killed_once_nobody_wants_it_any_more() -> None:
    assert _run("/bin/sleep", str(LONG), seconds=LONG, is_stopped=lambda: True).status == "stopped"


def test_it_has_no_terminal_to_ask_on() -> None:
    assert _shell("echo trick > /dev/tty").exit_code != 0


@pytest.mark.parametrize("argv", [("/nowhere/program",), ("/",), ("/bin/echo", "x" * 10_000_000)])
def test_a_program_that_cannot_be_started_is_an_error(argv: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="cannot be started"):
        _run(*argv)


@pytest.mark.parametrize(("environ", "names", "given"), read_rows(__file__, "environments"))
def test_a_program_gets_path_home_language_and_what_it_declared(environ, names, given) -> None:
    assert build_environment(environ, names) == given


def test_all_secrets_that_are_missing_are_named() -> None:
    with pytest.raises(InputError, match="A, B"):
        build_environment({"PATH": "/bin", "B": "", "C": "x"}, ["A", "B", "C"])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"available": False}, "switched off"),
        ({"bins": ("sh", "no-such-1", "no-such-2")}, "no-such-1, no-such-2"),
    ],
)
def test_what_is_switched_off_or_lacks_a_program_is_not_run(described, fields, said) -> None:
    with pytest.raises(InputError, match=said):
        check_usable(described(**fields), {"PATH": "/bin:/usr/bin"})
