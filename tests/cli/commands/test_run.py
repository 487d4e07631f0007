"""capdisc run: a capability that declares how it is run, run with its checks and consent."""

import json
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


def test_at_a_terminal_the_call_is_shown_and_a_yes_is_remembered(capdisc, tool, terminal) -> None:
    path = tool("echo", ECHO)
    terminal()
    done = capdisc("run", "echo", '{"text": "a"}', stdin="no\n")
    assert (done.code, done.out) == (5, "")
    done = capdisc("run", "echo", '{"text": "a"}', stdin="y\n")
    assert (done.code, done.out) == (0, "a 1\n")
    assert "echo a 1" in done.err
    assert str(path) in done.err
    done = capdisc("run", "echo", '{"text": "a"}', stdin="")
    assert (done.code, done.out, done.err) == (0, "a 1\n", "")


def test_a_yes_holds_for_these_arguments_but_for_numbers_and_choices(
    capdisc, tool, terminal
) -> None:
    """Once a yes to `hello` let every later value through without asking."""
    tool("echo", ECHO)
    terminal()
    assert capdisc("run", "echo", '{"text": "a"}', stdin="y\n").code == 0
    done = capdisc("run", "echo", '{"text": "other"}', stdin="")
    assert (done.code, done.out) == (5, "")
    assert "note: it has not been run with these arguments\n" in done.err
    done = capdisc("run", "echo", '{"text": "a", "times": 3}', stdin="")
    assert (done.code, done.out, done.err) == (0, "a 3\n", "")
    assert capdisc("run", "echo", '{"text": "other"}', "--dry-run", "--json").json["asks"] == [
        "it has not been run with these arguments"
    ]


def test_a_person_may_say_yes_to_any_arguments(capdisc, tool, monkeypatch) -> None:
    tool("echo", ECHO)
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        done = capdisc("run", "echo", '{"text": "a"}', stdin="any\n")
    assert (done.code, done.out) == (0, "a 1\n")
    assert (
        "note: any says yes to every argument from now on, also where an agent runs it\n"
        in done.err
    )
    assert "Run it? [y/N/any] " in done.err
    assert capdisc("run", "echo", '{"text": "b"}').out == "b 1\n"
    tool("echo", ECHO.replace("echo,", "echo, changed,"))
    assert capdisc("run", "echo", '{"text": "b"}').code == 5


@pytest.mark.parametrize(
    "field", ["hasSideEffects: true", "riskLevel: high", "requiresConfirmation: true"]
)
def test_any_arguments_are_not_on_offer_where_each_call_is_asked_about(
    capdisc, tool, terminal, field: str
) -> None:
    tool("echo", f"{ECHO}{field}\n")
    terminal()
    done = capdisc("run", "echo", '{"text": "a"}', stdin="any\n")
    assert (done.code, done.out) == (5, "")
    assert "Run it? [y/N] " in done.err


def test_any_arguments_are_not_on_offer_where_there_are_none(capdisc, tool, terminal) -> None:
    tool("hello", "run: {command: [echo, hello]}\n")
    terminal()
    assert "Run it? [y/N] " in capdisc("run", "hello", stdin="y\n").err


def test_a_yes_from_before_arguments_counted_is_no_yes_to_any(
    capdisc, tool, hermetic, monkeypatch
) -> None:
    tool("echo", ECHO)
    kept = json.dumps(
        {"version": 1, "approved": {"0" * 64: {"id": "tool:echo", "at": "2026-01-01"}}}
    )
    monkeypatch.setenv("CAPDISC_STATE_DIR", str(hermetic / "state"))
    (hermetic / "state" / "running").mkdir(parents=True, mode=0o700)
    (hermetic / "state" / "running" / "approved.json").write_text(kept)
    assert capdisc("run", "echo", '{"text": "a"}').code == 5


def test_what_a_person_agreed_to_runs_unattended_until_it_changes(
    capdisc, tool, terminal, monkeypatch
) -> None:
    tool("echo", ECHO)
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        capdisc("run", "echo", '{"text": "a"}', stdin="y\n")
    assert capdisc("run", "echo", '{"text": "a"}').out == "a 1\n"
    tool("echo", ECHO.replace("echo,", "echo, changed,"))
    assert capdisc("run", "echo", '{"text": "a"}').code == 5


@pytest.mark.parametrize(
    "field",
    [
        "hasSideEffects: true",
        "requiresConfirmation: true",
        "riskLevel: medium",
        "riskLevel: critical",
    ],
)
def test_side_effects_and_risk_are_asked_about_each_time(
    capdisc, tool, monkeypatch, field: str
) -> None:
    """Risk above low and `requiresConfirmation` need a yes, else status 5 (S280, S281)."""
    tool("echo", f"{ECHO}{field}\n")
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        assert capdisc("run", "echo", '{"text": "a"}', stdin="yes\n").code == 0
        assert capdisc("run", "echo", '{"text": "a"}', stdin="").code == 5
    assert capdisc("run", "echo", '{"text": "a"}').code == 5
    assert capdisc("run", "echo", '{"text": "a"}', "--yes").code == 0


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


def test_no_word_paints_a_line_of_its_own_where_it_is_asked_about(capdisc, tool, terminal) -> None:
    tool(
        "paint",
        """run: {command: [sh, -c, "echo evil #\\n\\n  echo good\\n\\tRun it? [y/N]"]}\n""",
    )
    terminal()
    for done in (capdisc("run", "paint", "--dry-run"), capdisc("run", "paint", stdin="n\n")):
        lines = (done.out + done.err).splitlines()
        assert r"$'echo evil #\n\n  echo good\n\tRun it? [y/N]'" in done.out + done.err
        assert "  echo good" not in lines
        assert lines.count("Run it? [y/N]") + lines.count("Run it? [y/N/any]") <= 1


def test_a_word_too_long_to_read_is_cut_where_it_is_asked_about(capdisc, tool, terminal) -> None:
    tool("long", f"run: {{command: [echo, {'x' * 5_000}]}}\n")
    terminal()
    assert "…<3,000 more characters>" in capdisc("run", "long", stdin="n\n").err
    assert "x" * 5_000 in capdisc("run", "long", "--dry-run").out


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
