"""One call of a tool of an MCP server."""

import shutil
import sys
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_run.call_types import CallLimits, Outcome, ToolCall
from capdisc_run.prepare import execute_call

SERVER = str(Path(__file__).parent / "stdio_server.py")
PATH = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "OTHER": "hidden"}


def _call(
    argv=(sys.executable, SERVER),
    tool="probe",
    environ=PATH,
    environment=(),
    limits=None,
    **arguments,
) -> Outcome:
    call = ToolCall(
        server="probe", argv=argv, cwd=Path("/"), tool=tool, arguments=arguments, environment=environment
    )  # fmt: skip
    return execute_call(call, environ, limits or CallLimits(seconds=30))


def test_the_text_of_the_answer_comes_back() -> None:
    outcome = _call(say="grüß dich")
    assert (outcome.status, outcome.exit_code, outcome.stdout.decode()) == ("ok", 0, "grüß dich\n")
    assert b"log: answer" in outcome.stderr
    assert b"a greeting that is no message" in outcome.stderr


def test_an_error_of_the_tool_is_a_failure_with_its_text() -> None:
    outcome = _call(say="no such file", how="fail")
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert b"no such file" in outcome.stdout


def test_a_tool_that_is_not_there_is_a_failure() -> None:
    outcome = _call(tool="nope")
    assert outcome.status == "failed"
    assert b"nope" in outcome.stdout + outcome.stderr


def test_a_server_that_does_not_answer_in_time_is_ended() -> None:
    assert _call(how="wait", limits=CallLimits(seconds=3)).status == "timeout"


def test_an_answer_above_the_limit_is_not_passed_on() -> None:
    outcome = _call(say="long", how="flood", limits=CallLimits(seconds=30, max_bytes=50_000))
    assert (outcome.status, outcome.stdout) == ("too-large", b"")


def test_a_server_that_dies_is_a_failure() -> None:
    outcome = _call(how="die")
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert b"did not answer" in outcome.stderr


def test_a_server_gets_what_it_declared_and_no_more() -> None:
    outcome = _call(
        how="environment", environ=PATH | {"KEY": "secret-value"}, environment=("KEY",)
    )
    assert {"KEY", "PATH", "HOME"} <= set(outcome.stdout.decode().split())
    assert "OTHER" not in outcome.stdout.decode()


def test_a_secret_that_a_server_tells_is_replaced() -> None:
    outcome = _call(
        say="it is secret-value", environ=PATH | {"KEY": "secret-value"}, environment=("KEY",)
    )
    assert outcome.stdout == b"it is <secret KEY>\n"
    assert "secret-value" not in str(outcome.details)


def test_a_name_in_its_words_is_filled_in() -> None:
    argv = (sys.executable, "-c", "import sys; sys.exit(sys.argv[1:])", "${KEY}", "${GONE:-x}")
    outcome = _call(argv=argv, environ=PATH | {"KEY": "secret-value"}, environment=("KEY",))
    assert b"['<secret KEY>', 'x']" in outcome.stderr


@pytest.mark.parametrize(
    "argv", [("/bin/true",), ("/bin/echo", '{"jsonrpc": "2.0"}'), ("/bin/sh", "-c", "exit 3")]
)
def test_what_is_no_server_is_a_failure(argv: tuple[str, ...]) -> None:
    assert _call(argv=argv).status == "failed"


def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot be started"):
        _call(argv=("/nowhere/server",))


def test_it_is_ended_once_nobody_wants_it_any_more() -> None:
    assert (
        _call(how="wait", limits=CallLimits(seconds=30, is_stopped=lambda: True)).status
        == "stopped"
    )


@pytest.mark.sdk
@pytest.mark.skipif(not shutil.which("mcp-server-time"), reason="mcp-server-time is not installed")
def test_a_server_of_a_registry_answers() -> None:
    program = shutil.which("mcp-server-time") or ""
    zones = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu"}
    outcome = _call(argv=(program,), tool="convert_time", **zones)
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
    outcome = _call(
        argv=(sys.executable, "-c", code),
        environ=PATH | {"KEY": "secret-value"},
        environment=("KEY",),
    )
    assert outcome.stderr.endswith(b"a line\n<secret KEY>")


def test_half_a_secret_in_the_log_of_a_server_that_hangs_is_masked() -> None:
    """The part of a secret that a server wrote before it hung is masked."""
    code = "import os, time; os.write(2, os.environ['KEY'][:6].encode()); time.sleep(60)"
    call = (sys.executable, "-c", code)
    limits = CallLimits(seconds=2)
    outcome = _call(
        argv=call, environ=PATH | {"KEY": "secret-value"}, environment=("KEY",), limits=limits
    )
    assert (outcome.status, outcome.stderr) == ("timeout", b"<secret KEY>")
