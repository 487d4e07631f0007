"""Standard input is read up to a limit and no further."""

import io
import sys

import pytest

from capdisc.output import command_process
from capdisc_indexer.model.errors import InputError

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "argv",
    [
        ("search", "-"),
        ("render", "-"),
        ("render",),
        ("tools", "-"),
        ("call", "list_skills", "-"),
        ("run", "merge-pdfs", "-"),
        ("session", "note", "trip", "-"),
    ],
)
def test_a_text_on_stdin_that_is_too_large_is_an_error(capdisc, small, argv) -> None:
    capdisc("session", "new", "trip")
    done = capdisc(*argv, stdin="word " * MIB)
    assert (done.code, done.out) == (3, "")
    assert "stdin has more than 1,024 KiB" in done.err
    assert "hint: " in done.err


def test_no_more_is_read_than_the_limit(monkeypatch) -> None:
    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert 0 < size <= 2 * MIB
            return b"a" * size

    class Stdin:
        buffer = Endless()

    monkeypatch.setattr(sys, "stdin", Stdin())
    with pytest.raises(InputError):
        command_process.read_stdin_text()


def test_validate_reads_stdin_to_the_limit_of_its_files(capdisc) -> None:
    done = capdisc("validate", "-", stdin="a" * (80 * MIB))
    assert done.code == 1
    assert "file-too-large" in done.out
