"""Output is masked first and cut afterwards, so that no part of a secret remains."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_run.call_types import CallLimits, CommandCall
from capdisc_run.output_masking import (
    LEAST_PARTIAL,
    mask_json,
    mask_secrets,
    mask_stream,
    unmasked_secrets,
)
from capdisc_run.prepare import execute_call
from case_rows import read_rows

SECRET = "hush-0123456789-value"


def _printed(code: str, **limits):
    call = CommandCall(argv=(sys.executable, "-c", code), cwd=Path("/"), environment=("KEY",))
    return execute_call(call, {"PATH": os.environ["PATH"], "KEY": SECRET}, CallLimits(**limits))


@pytest.mark.parametrize(("data", "secrets", "masked"), read_rows(__file__, "secrets"))
def test_secrets_are_replaced_by_their_names(data, secrets, masked) -> None:
    assert mask_secrets(data.encode(), secrets) == masked.encode()


@pytest.mark.parametrize("size", range(1, len(SECRET)))
def test_the_beginning_of_a_secret_at_the_end_of_what_was_cut_is_no_beginning_any_more(
    size: int,
) -> None:
    masked = mask_stream(b"out: " + SECRET[:size].encode(), {"KEY": SECRET}, is_cut=True)
    assert masked == (b"out: <secret KEY>" if size >= LEAST_PARTIAL else b"out: ")


@pytest.mark.parametrize(("data", "secret", "is_cut", "masked"), read_rows(__file__, "ends"))
def test_the_end_of_an_output(data, secret, is_cut, masked) -> None:
    assert mask_stream(data.encode(), {"KEY": secret}, is_cut) == masked.encode()


@given(
    st.text("ab-", min_size=6, max_size=12),
    st.text("ab- ", max_size=30),
    st.text("ab- ", max_size=30),
    st.integers(0),
)
def test_wherever_an_output_ends_no_beginning_of_a_secret_is_its_end(
    secret, before, after, at
) -> None:
    whole = f"{before}{secret}{after}".encode()
    masked = mask_stream(whole[: at % (len(whole) + 1)], {"K": secret}, is_cut=True)
    assert not any(
        masked.endswith(secret[:size].encode()) for size in range(LEAST_PARTIAL, len(secret))
    )
    assert secret.encode() not in masked


def test_json_stays_json_whatever_a_secret_holds() -> None:
    secrets = {"KEY": 'a", "b": "c'}
    value = {"x": 'a", "b": "c', "n": 3, "y": [None, 'a", "b": "c!']}
    assert mask_json(value, secrets) == {"x": "<secret KEY>", "n": 3, "y": [None, "<secret KEY>!"]}


def test_short_secrets_are_named() -> None:
    environ = {"PIN": "1234", "KEY": SECRET, "EMPTY": ""}
    assert unmasked_secrets(["PIN", "KEY", "EMPTY", "GONE", "PIN"], environ) == ["PIN"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("cut", [12, 3, 20])
def test_the_limit_of_output_cuts_no_secret(stream: str, cut: int) -> None:
    """Once output was cut first and masked afterwards, so that a secret's first bytes came out."""
    code = (
        f"import os, sys; sys.{stream}.write('x' * (1024 - {cut}) + os.environ['KEY'] + 'y' * 100)"
    )
    outcome = _printed(code, max_bytes=1024)
    data = getattr(outcome, stream)
    assert (outcome.status, len(data)) == ("too-large", 1024)
    assert data == (b"x" * (1024 - cut) + b"<secret KEY>" + b"y" * 100)[:1024]


def test_the_limit_of_output_in_one_read_and_the_rest_of_a_secret_in_the_next() -> None:
    code = (
        "import os, sys, time\n"
        "half = os.environ['KEY'][:9]\n"
        "os.write(1, b'x' * 1020 + half.encode())\n"
        "time.sleep(0.5)\n"
        "os.write(1, os.environ['KEY'][9:].encode())\n"
    )
    assert _printed(code, max_bytes=1024).stdout == b"x" * 1020 + b"<sec"


@pytest.mark.parametrize("number", [1, 2])
def test_a_limit_of_time_between_two_writes_cuts_no_secret(number: int) -> None:
    """Once half of a secret was written before the time limit."""
    code = f"import os, time\nos.write({number}, b'key: ' + os.environ['KEY'][:9].encode())\ntime.sleep(60)\n"
    outcome = _printed(code, seconds=5)
    assert outcome.status == "timeout"
    assert (outcome.stdout, outcome.stderr)[number - 1] == b"key: <secret KEY>"


def test_a_secret_in_two_reads_is_one_on_both_streams() -> None:
    code = (
        "import os, time\n"
        "for n in 1, 2: os.write(n, os.environ['KEY'][:9].encode())\n"
        "time.sleep(0.3)\n"
        "for n in 1, 2: os.write(n, os.environ['KEY'][9:].encode() + b'!')\n"
    )
    outcome = _printed(code)
    assert (outcome.stdout, outcome.stderr) == (b"<secret KEY>!", b"<secret KEY>!")
