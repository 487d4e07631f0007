"""R21: a signal ends a command at once, with its own status and no output."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
WAITING = """
import hashlib, threading
from capdisc.output import command_process
stop = command_process.StopSignal()
try:
    print("ready", flush=True)
    {body}
except BaseException:
    pass
"""
# Stands in for a native call that takes long: no step of Python's own, but other threads may run.
NATIVE = (
    WAITING
    + """
while True:
    try:
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
    except BaseException:
        pass
"""
)


_children: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """No child outlives its test, whatever the test met: some of them compute for hours."""
    yield
    while _children:
        child = _children.pop()
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe:
                pipe.close()


def _started(*argv: str, **streams: int) -> subprocess.Popen[bytes]:
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    } | streams
    _children.append(subprocess.Popen([sys.executable, *argv], **pipes))
    return _children[-1]


@pytest.mark.parametrize("sent", STATUS)
def test_a_command_that_waits_for_its_input_ends_quietly(small, sent) -> None:
    child = _started("-m", "capdisc", "render", "-")
    while _state(child.pid) != "S" or b"tantivy" not in _maps(child.pid):
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(sent)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (STATUS[sent], b"", b"")


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def _maps(pid: int) -> bytes:
    with open(f"/proc/{pid}/maps", "rb") as file:
        return file.read()


@pytest.mark.parametrize("sent", STATUS)
def test_a_build_that_is_stopped_leaves_no_folder_and_the_last_index(
    hermetic, write_skill, process, sent
) -> None:
    for number in range(20):
        write_skill(hermetic / "skills", f"skill-{number}")
    process("index", "skills", "--index-dir", "index")
    before = (hermetic / "index" / "CURRENT").read_bytes()
    child = _started("-m", "capdisc", "index", "skills", "--index-dir", "index", "--rebuild")
    while not list((hermetic / "index" / "gens").glob(".tmp-*/text/*.store")):
        assert child.poll() is None
        time.sleep(0.005)
    child.send_signal(sent)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (STATUS[sent], b"", b"")
    assert not list((hermetic / "index" / "gens").glob(".*"))
    assert (hermetic / "index" / "CURRENT").read_bytes() == before


@pytest.mark.parametrize("body", ["pass", "threading.Event().wait()"], ids=["before", "swallowed"])
@pytest.mark.parametrize("sent", STATUS)
def test_native_code_that_does_not_come_back_is_ended_too(sent, body) -> None:
    """Also when a library has kept what the signal raised to itself."""
    child = _started("-c", NATIVE.format(body=body))
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(sent)
    child.communicate(timeout=20)
    assert child.returncode == STATUS[sent]


def test_what_a_library_keeps_to_itself_is_not_reported() -> None:
    """Its import was under way: what the signal raised was ignored inside, and Python said so on stderr."""
    script = """
import time
from capdisc.output import command_process
class Closing:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(20)
stop = command_process.StopSignal()
Closing()
stop.leave()
"""
    child = _started("-c", script)
    child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (143, b"", b"")


def test_a_second_signal_ends_it_at_once() -> None:
    # A lock that is waited for without end may miss the signal: it came just before. And as if its patience had no
    # end either, so that it is the second signal that ends it.
    script = WAITING.format(body="while True: time.sleep(0.01)")
    script = "import time\n" + script.replace(
        "stop =", "command_process._GRACE_SECONDS = 60; stop ="
    )
    script += "print('once', flush=True)\nwhile True: time.sleep(0.01)"
    child = _started("-c", script)
    child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    assert child.stdout.readline() == b"once\n"
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)
    assert child.returncode == 143


def test_what_nohup_ignores_stays_ignored(small) -> None:
    child = subprocess.Popen(
        ["nohup", sys.executable, "-m", "capdisc", "render", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while b"tantivy" not in _maps(child.pid):
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGHUP)
    out, _ = child.communicate(b"merge PDF files", timeout=20)
    assert (child.returncode, b"merge-pdfs" in out) == (0, True)


# A signal that comes while a program is being started, as if Popen took long.
_SLOW = """
import os, signal, subprocess
from pathlib import Path
from capdisc.commands.watch import run_shell_command
from capdisc.output import command_process
from capdisc_run import process
from capdisc_run.mcp_client import call_tool
from capdisc_run.call_types import CommandCall, CallLimits, ToolCall
argv, here = ("/bin/sh", "-c", "sleep 1; touch lingered"), Path.cwd()
stop = command_process.StopSignal()
class Slow(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        os.kill(os.getpid(), signal.SIGTERM)
        print("known", flush=True)
subprocess.Popen = Slow
"""


@pytest.mark.parametrize(
    "call",
    [
        "run_shell_command(argv[2], os.environ, 60)",
        "process.run_process(CommandCall(argv=argv, cwd=here), os.environ, CallLimits())",
        "call_tool(ToolCall(server='', argv=argv, cwd=here, tool='', arguments={}), os.environ, CallLimits())",
    ],
)
def test_a_program_that_is_being_started_is_ended_by_a_signal_too(hermetic, call: str) -> None:
    child = _started("-c", f"{_SLOW}try:\n    {call}\nfinally:\n    stop.leave()")
    out, _ = child.communicate(timeout=20)
    assert (out, child.returncode) == (b"known\n", 143)
    time.sleep(1.5)
    assert not (hermetic / "lingered").exists()


def test_what_is_run_has_its_status_where_the_parent_ignores_the_end_of_children() -> None:
    script = "import os, signal\nfrom pathlib import Path\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    script += "from capdisc.output import command_process\nfrom capdisc_run import process\n"
    script += "from capdisc_run.call_types import CommandCall, CallLimits\ncommand_process.StopSignal()\n"
    script += "call = CommandCall(argv=('/bin/sh', '-c', 'exit 3'), cwd=Path('/'))\n"
    script += "print(process.run_process(call, os.environ, CallLimits()).exit_code, flush=True)"
    out, _ = _started("-c", script).communicate(timeout=20)
    assert out == b"3\n"


def test_a_user_who_may_have_no_more_threads_is_told_so(hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "alpha", "Folds paper cranes. Use when asked.")
    code = (
        "import _thread, sys, threading\n"
        'def refused(*_, **__): raise RuntimeError("can\'t start new thread")\n'
        "_thread.start_new_thread = threading._start_new_thread = refused\n"
        "threading._start_joinable_thread = refused\n"  # from Python 3.13 on
        "from capdisc.__main__ import main\n"
        "main()"
    )
    argv = [sys.executable, "-c", code, "index", "skills"]
    # Only the LanceDB table needs threads of Python's.
    with_table = {**os.environ, "CAPDISC_TABLE": "wait"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=with_table)
    assert (done.returncode, done.stdout.startswith("1 capability ")) == (0, True)
    assert "table is behind: Resource temporarily unavailable" in done.stderr
    assert "bug" not in done.stderr
