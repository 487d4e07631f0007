"""capdisc run: a capability that declares how it is run, run with its checks and consent."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from capdisc.context import surroundings

SCHEMA = """inputSchema:
  type: object
  properties:
    text: {type: string}
    times: {type: integer, minimum: 1, maximum: 9, default: 1}
    tone: {enum: [loud, soft]}
  required: [text]
"""
ECHO = SCHEMA + 'run: {command: [echo, "{text}", "{times}"]}\n'


@pytest.fixture
def tool(hermetic, monkeypatch, capdisc):
    """Write a capability and index it: `tool("echo", "run: ...")`."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def write(name: str, fields: str, kind: str = "tool") -> Path:
        path = hermetic / "tools" / name / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"name: {name}\nkind: {kind}\ndescription: Says what it is told, {name}.\n{fields}"
        )
        assert capdisc("index", "tools").code == 0
        return path

    return write


@pytest.fixture
def terminal(monkeypatch):
    """stdin and stderr are a terminal, and so is stdout if it is asked for."""

    def sit(stdout: bool = False) -> None:
        def is_terminal(stream: object) -> bool:
            return stdout if stream is sys.stdout else True

        monkeypatch.setattr(surroundings, "is_terminal", is_terminal)

    return sit


def test_what_a_terminal_would_obey_is_made_visible_there(capdisc, tool, terminal) -> None:
    tool("raw", r"""run: {command: [printf, '\033[2Ja\342\200\256b\n\377']}""" + "\n")
    terminal(stdout=True)
    done = capdisc("run", "raw", stdin="y\n")
    assert done.out == "<U+001B>[2Ja<U+202E>b\n\N{REPLACEMENT CHARACTER}"


def test_into_a_pipe_bytes_go_as_they_are(process, tool, hermetic) -> None:
    tool("raw", r"""run: {command: [printf, '\033[1m\377\000']}""" + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "capdisc", "run", "raw", "--yes"],
        capture_output=True,
        check=False,
        env=os.environ,
    )
    assert (done.returncode, done.stdout) == (0, b"\x1b[1m\xff\x00")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_runs(tool, hermetic, number: int) -> None:
    tool("linger", 'run: {command: [sh, -c, "touch began; sleep 4; touch lingered"]}\n')
    with subprocess.Popen([sys.executable, "-m", "capdisc", "run", "linger", "--yes"]) as running:
        ends = time.monotonic() + 30
        while not (hermetic / "began").exists():
            assert time.monotonic() < ends
            time.sleep(0.05)
        running.send_signal(number)
    time.sleep(4.5)
    assert running.returncode == 128 + number
    assert not (hermetic / "lingered").exists()


@pytest.mark.parametrize(("is_early", "code"), [(True, 5), (False, 0)])
def test_what_was_typed_before_the_question_is_no_yes(
    tool, hermetic, is_early: bool, code: int
) -> None:
    tool("echo", ECHO)
    ours, theirs = pty.openpty()
    if is_early:
        os.write(ours, b"y\n")
    argv = [sys.executable, "-m", "capdisc", "run", "echo", '{"text": "a"}']
    with subprocess.Popen(argv, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL) as running:
        seen, ended = b"", None
        while b"[y/N" not in seen:
            assert select.select([ours], [], [], 60)[0], seen
            seen += os.read(ours, 4096)
        # The question is printed a moment before what was typed is dropped, so the answer may have to be said again.
        while ended is None:
            os.write(ours, b"n\n" if is_early else b"y\n")
            with suppress(subprocess.TimeoutExpired):
                ended = running.wait(0.5)
        assert ended == code
    os.close(ours)
    os.close(theirs)


def test_the_core_runs_a_capability_without_the_terminal(tool, hermetic) -> None:
    """Python runs a descriptor without the terminal or an SDK (S112, S123, S218)."""
    tool("echo", ECHO)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from capdisc_indexer.store.snapshot import Index\n"
        "from capdisc_run.prepare import execute_call\n"
        "from capdisc_run.prepare import prepare_call\n"
        "from capdisc_indexer.tools.call_context import ExecutionContext\n"
        "from capdisc_run.call_types import CallLimits\n"
        "with Index(Path('index')) as index: tool = index.descriptor('echo')\n"
        "call = prepare_call(tool, {'text': 'hi'}, ExecutionContext(environ=os.environ, cwd=Path('.')))\n"
        "sys.stdout.write(execute_call(call, os.environ, CallLimits()).stdout.decode())\n"
        "assert not {'capdisc', 'mcp', 'asyncio', 'typer'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("hi 1\n", "")


def test_without_the_sdk_its_installation_is_named(capdisc, tool, monkeypatch) -> None:
    tool("server", "run: {mcp: {command: cat, tool: read}}\n")
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = capdisc("run", "server", "--yes")
    assert (done.code, done.out) == (4, "")
    assert "install all that capdisc needs: " in done.err
