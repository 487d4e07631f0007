"""One call of a tool of an MCP server."""

import shutil
import sys
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_run.call_types import CallLimits, Outcome, ToolCall
from capdisc_run.prepare import execute_call

SERVER = str(Path(__file__).parent / "stdio_server.py")
PATH = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "OTHER": "hidden", "KEY": "secret-value"}
LIMITS = CallLimits(seconds=30)


def _call(*argv: str, tool="probe", environment=("KEY",), limits=LIMITS, **arguments) -> Outcome:
    call = ToolCall(
        server="probe", argv=argv or (sys.executable, SERVER), cwd=Path("/"), tool=tool,
        arguments=arguments, environment=environment,
    )  # fmt: skip
    return execute_call(call, PATH, limits)


def _python(code: str, *words: str, limits=LIMITS) -> Outcome:
    return _call(sys.executable, "-c", code, *words, limits=limits)


def test_the_text_of_the_answer_comes_back() -> None:
    outcome = _call(say="grüß dich")
    assert (outcome.status, outcome.exit_code, outcome.stdout.decode()) == ("ok", 0, "grüß dich\n")
    assert b"log: answer" in outcome.stderr
    assert b"a greeting that is no message" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "more", "status", "said"),
    [
        ({"say": "no such file", "how": "fail"}, {}, "failed", b"no such file"),
        ({}, {"tool": "nope"}, "failed", b"nope"),
        ({"how": "die"}, {}, "failed", b"did not answer"),
        ({"how": "wait"}, {"limits": CallLimits(seconds=3)}, "timeout", b""),
        (
            {"how": "wait"},
            {"limits": CallLimits(seconds=30, is_stopped=lambda: True)},
            "stopped",
            b"",
        ),
        (
            {"say": "long", "how": "flood"},
            {"limits": CallLimits(seconds=30, max_bytes=50_000)},
            "too-large",
            b"",
        ),
    ],
)
def test_a_call_that_fails_or_passes_a_limit(arguments, more, status, said) -> None:
    outcome = _call(**arguments, **more)
    assert (outcome.status, outcome.exit_code) == (status, 1)
    assert said in outcome.stdout + outcome.stderr
    assert status == "failed" or not outcome.stdout


def test_a_server_gets_what_it_declared_and_no_more() -> None:
    names = set(_call(how="environment").stdout.decode().split())
    assert {"KEY", "PATH", "HOME"} <= names
    assert "OTHER" not in names


def test_a_secret_that_a_server_tells_is_replaced() -> None:
    outcome = _call(say="it is secret-value")
    assert outcome.stdout == b"it is <secret KEY>\n"
    assert "secret-value" not in str(outcome.details)


def test_a_name_in_its_words_is_filled_in() -> None:
    outcome = _python("import sys; sys.exit(sys.argv[1:])", "${KEY}", "${GONE:-x}")
    assert b"['<secret KEY>', 'x']" in outcome.stderr


@pytest.mark.parametrize(
    "argv", [("/bin/true",), ("/bin/echo", '{"jsonrpc": "2.0"}'), ("/bin/sh", "-c", "exit 3")]
)
def test_what_is_no_server_is_a_failure(argv: tuple[str, ...]) -> None:
    assert _call(*argv).status == "failed"


def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot be started"):
        _call("/nowhere/server")


@pytest.mark.sdk
@pytest.mark.skipif(not shutil.which("mcp-server-time"), reason="mcp-server-time is not installed")
def test_a_server_of_a_registry_answers() -> None:
    program = shutil.which("mcp-server-time") or ""
    zones = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu"}
    outcome = _call(program, tool="convert_time", environment=(), **zones)
    assert outcome.status == "ok"
    assert "17:45" in outcome.stdout.decode()


def test_a_secret_in_two_pieces_of_a_log_is_one_whatever_stands_on_stdout_between_them() -> None:
    """A secret that two writes split is masked as one."""
    code = (
        "import os, time\n"
        "os.write(2, os.environ['KEY'][:6].encode()); time.sleep(0.3)\n"
        "os.write(1, b'a line\\n'); time.sleep(0.3)\n"
        "os.write(2, os.environ['KEY'][6:].encode())\n"
    )
    outcome = _python(code)
    assert outcome.stderr.endswith(b"a line\n<secret KEY>")


def test_half_a_secret_in_the_log_of_a_server_that_hangs_is_masked() -> None:
    """The part of a secret that a server wrote before it hung is masked."""
    code = "import os, time; os.write(2, os.environ['KEY'][:6].encode()); time.sleep(60)"
    outcome = _python(code, limits=CallLimits(seconds=2))
    assert (outcome.status, outcome.stderr) == ("timeout", b"<secret KEY>")
