"""Which environment variables a program gets, and which of them its output may not show."""

import sys
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_run.call_types import CallLimits, CommandCall
from capdisc_run.output_masking import mask_secrets
from capdisc_run.prepare import execute_call
from capdisc_run.process import build_environment, check_usable

SECRET = 'p"ä/ss wört'


def test_a_program_gets_path_home_language_and_what_it_declared() -> None:
    environ = {
        "PATH": "/bin:.:rel:/usr/bin",
        "HOME": "/h",
        "LANG": "de",
        "OTHER": "x",
        "LD_PRELOAD": "y",
        "KEY": "k",
    }
    assert build_environment(environ, ["KEY"]) == {
        "PATH": "/bin:/usr/bin",
        "HOME": "/h",
        "LANG": "de",
        "KEY": "k",
    }


def test_a_variable_that_steers_programs_is_not_handed_on_even_when_it_is_named() -> None:
    """Once relative parts of PATH came back in this way."""
    environ = {
        "PATH": ".:/bin",
        "HOME": "/h",
        "LD_PRELOAD": "./x.so",
        "PYTHONPATH": "",
        "KEY": "k",
    }
    names = ["PATH", "HOME", "LD_PRELOAD", "KEY"]
    assert build_environment(environ, names) == {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C.UTF-8",
        "KEY": "k",
    }


def test_all_secrets_that_are_missing_are_named() -> None:
    with pytest.raises(InputError, match="A, B"):
        build_environment({"PATH": "/bin", "B": "", "C": "x"}, ["A", "B", "C"])


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        'p\\"ä/ss wört',
        'p\\"\\u00e4/ss w\\u00f6rt',
        "p%22%C3%A4%2Fss%20w%C3%B6rt",
        "p%22%C3%A4%2Fss+w%C3%B6rt",
    ],
)
def test_a_secret_is_replaced_however_it_is_written(written: str) -> None:
    assert mask_secrets(f"a {written} b".encode(), {"KEY": SECRET}) == b"a <secret KEY> b"


def test_a_value_too_short_to_be_a_secret_is_left() -> None:
    assert mask_secrets(b"no 12345", {"KEY": "12345"}) == b"no 12345"


def test_what_a_program_prints_of_its_secret_is_replaced() -> None:
    code = "import os, sys; print(os.environ['KEY']); print(os.environ['KEY'], file=sys.stderr)"
    call = CommandCall(argv=(sys.executable, "-c", code), cwd=Path("/"), environment=("KEY",))
    outcome = execute_call(call, {"PATH": "/bin", "KEY": "secret-value-1"}, CallLimits())
    assert (outcome.stdout, outcome.stderr) == (b"<secret KEY>\n", b"<secret KEY>\n")


def test_what_is_switched_off_or_lacks_a_program_is_not_run(described) -> None:
    tool = described(available=False)
    with pytest.raises(InputError, match="switched off"):
        check_usable(tool, {"PATH": "/bin"})


def test_missing_programs_are_named(described) -> None:
    with pytest.raises(InputError, match="no-such-1, no-such-2"):
        check_usable(described(bins=("sh", "no-such-1", "no-such-2")), {"PATH": "/bin:/usr/bin"})
