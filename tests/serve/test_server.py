"""Start, end and crash of a server; who may ask it; and bad clients, who harm nobody."""

import os
import random
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from served import PATIENCE_S, message, until

from capdisc.serve import protocol
from capdisc.serve.worker import Connections

QUERY = ("search", "put two PDF files into one", "--ids")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def test_it_says_where_and_ends_with_its_socket_by_signal(small, serving) -> None:
    server = serving()
    assert until(lambda: server.text == f"answering at {server.path}\n")
    assert server.path.parent.stat().st_mode & 0o777 == 0o700
    assert server.path.stat().st_mode & 0o077 == 0
    assert server.end(signal.SIGTERM) == 143
    assert not server.path.exists()
    assert until(lambda: not server.workers())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_one_that_cannot_say_where_ends(small, runtime) -> None:
    """It started workers for ever, each of which ended when it was to be told of."""
    with open("/dev/full", "wb") as full:
        argv = [sys.executable, "-m", "capdisc", "serve"]
        done = subprocess.run(
            argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 4
    assert done.stderr.startswith("error: No space left on device\n")


def test_in_a_folder_that_is_gone_none_starts(hermetic, runtime) -> None:
    (hermetic / "gone").mkdir()
    code = "import os, sys; os.chdir('gone'); os.rmdir('../gone'); os.execv(sys.executable, sys.argv[1:])"
    argv = [sys.executable, "-c", code, sys.executable, "-P", "-m", "capdisc", "serve"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "error: the current folder is gone\nhint: change to another folder\n"


def test_it_ends_when_nobody_asks(small, serving) -> None:
    server = serving("serve", "--idle", "300ms")
    assert server.process.wait(60) == 0
    assert not server.path.exists()


def test_of_two_servers_one_stays(small, serving, client) -> None:
    server = serving()
    code, out, err = client("serve")
    assert (code, out) == (75, "")
    assert f"a server runs here already (process {server.process.pid})" in err
    assert server.asked(*QUERY)[0] == protocol.ANSWERED


def test_many_at_once_are_one(small, serving, client) -> None:
    argv = [sys.executable, "-m", "capdisc", "serve"]
    all_of = [
        subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert until(lambda: sum(each.poll() is None for each in all_of) == 1)
    (left,) = (each for each in all_of if each.poll() is None)
    assert until(lambda: client(*QUERY, "--server", "require")[0] == 0)
    left.terminate()
    assert [each.wait() for each in all_of if each is not left] == [75] * 3
    assert left.wait() == 143


def test_after_a_kill_the_next_one_starts_and_clients_answer_meanwhile(
    small, serving, client
) -> None:
    server = serving()
    expected = client(*QUERY, "--server", "require")
    server.end(signal.SIGKILL)
    assert until(lambda: not server.workers())  # its worker ends with it
    assert server.path.is_socket()
    assert client(*QUERY) == expected
    again = serving()
    assert again.path == server.path
    assert client(*QUERY, "--server", "require") == expected


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_worker_that_dies_is_replaced(small, serving, client, number) -> None:
    server = serving()
    (worker,) = server.workers()
    os.kill(worker, number)
    assert client(*QUERY)[0] == 0
    assert until(lambda: server.workers() not in ([], [worker]))
    assert client(*QUERY, "--server", "require")[0] == 0
    assert server.process.poll() is None


def test_of_several_workers_each_is_replaced_and_all_end_together(small, serving, client) -> None:
    server = serving("serve", "--workers", "2")
    assert until(lambda: len(server.workers()) == 2)
    before = server.workers()
    os.kill(before[0], signal.SIGKILL)
    assert until(lambda: len(now := server.workers()) == 2 and now != before)
    assert client(*QUERY, "--server", "require")[0] == 0
    assert server.end(signal.SIGTERM) == 143
    assert until(lambda: not server.workers())


def test_where_there_are_two_processors_two_workers_answer(small, serving) -> None:
    server = serving("serve")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert until(lambda: len(server.workers()) == min(2, usable))
    assert server.end() == 143
    assert until(lambda: not server.workers())


def test_a_client_whose_worker_dies_meanwhile_answers_itself(small, serving) -> None:
    server = serving()
    (worker,) = server.workers()
    os.kill(worker, signal.SIGSTOP)
    argv = [sys.executable, "-m", "capdisc", *QUERY]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.kill(worker, signal.SIGKILL)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, b"")
    assert out.startswith(b"skill:merge-pdfs\n")


@pytest.mark.parametrize(
    "make", [Path.touch, lambda path: path.symlink_to("/etc/passwd"), Path.mkdir]
)
def test_what_lies_in_the_place_of_the_socket_stays(small, serving, client, make) -> None:
    path = protocol.own_socket_path()
    path.parent.mkdir(mode=0o700)
    make(path)
    before = path.lstat()
    code, out, err = client("serve")
    assert (code, out) == (4, "")
    assert f"{path} is no socket" in err
    assert path.lstat() == before
    assert client(*QUERY)[0] == 0


def test_a_socket_that_is_replaced_ends_the_server_and_the_new_file_stays(small, serving) -> None:
    server = serving()
    server.path.unlink()
    server.path.write_text("mine")
    server.end()
    assert server.path.read_text() == "mine"


def test_a_path_that_is_too_long_is_said(small, client, runtime) -> None:
    code, out, err = client("serve", XDG_RUNTIME_DIR=f"{runtime}/{'long/' * 30}")
    assert (code, out) == (3, "")
    assert "too long for a socket" in err
    assert "XDG_RUNTIME_DIR" in err


def test_a_folder_that_others_reach_into_is_not_used(small, serving, client, capdisc) -> None:
    server = serving()
    server.path.parent.chmod(0o777)
    code, _, err = client(*QUERY, "--server", "require")
    assert code == 75
    assert client(*QUERY)[0] == 0
    checks = {each["name"]: each for each in capdisc("doctor", "--json").json["checks"]}
    assert checks["server"]["fix"] == f"chmod 700 {server.path.parent}"
    server.end()
    code, _, err = client("serve")
    assert code == 4
    assert f"chmod 700 {server.path.parent}" in err


@as_root
def test_another_user_is_refused_whatever_the_modes(small, serving) -> None:
    server = serving()
    sent = message(QUERY)
    for mode, came in ((0o700, "refused"), (0o777, b"")):
        server.path.parent.chmod(mode)
        server.path.parent.parent.chmod(0o777 if mode == 0o777 else 0o700)
        server.path.chmod(mode)
        assert [_as_nobody(server.path, sent) for _ in range(3)] == [came] * 3
    assert server.asked(*QUERY)[0] == protocol.ANSWERED


def _as_nobody(path: Path, sent: bytes) -> bytes | str:
    code = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534); one = socket.socket(socket.AF_UNIX)\n"
        "try: one.connect(sys.argv[1])\n"
        "except PermissionError: sys.exit(9)\n"
        "try:\n one.sendall(sys.stdin.buffer.read()); sys.stdout.buffer.write(one.recv(9))\n"
        "except ConnectionError: pass"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], input=sent, capture_output=True, check=False
    )
    return "refused" if done.returncode == 9 else done.stdout + done.stderr


BAD = [
    b"", b"\n", b"\xff" * 64, b"{" * 100_000, b'{"q":', b"[" * 200_001, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    (protocol.MAX_REQUEST + 1).to_bytes(4, "big"), protocol.encode_parts([]), protocol.encode_parts([b""] * 7),
    protocol.encode_parts([b"x"] * 50), (8).to_bytes(4, "big") + b"\xff" * 8, (4).to_bytes(4, "big") + b"\0\0\0\1", b"\0\0\0",
]  # fmt: skip


def test_bad_frames_are_closed_or_declined(small, serving) -> None:
    server = serving()
    for data in BAD:
        said = server.said(data)
        assert not said or protocol.decode_parts(said)[0] == protocol.DECLINED, data
    assert server.asked(*QUERY)[0] == protocol.ANSWERED


def test_random_frames_change_nothing(small, serving) -> None:
    server, rng = serving(), random.Random(35)
    (worker,), whole = server.workers(), message(QUERY)
    for _ in range(300):
        data = bytearray(whole if rng.random() < 0.7 else rng.randbytes(rng.randrange(300)))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data) or 1) : rng.randrange(len(data) + 1)] = rng.randbytes(
                rng.randrange(4)
            )
        server.said(bytes(data))
    assert server.asked(*QUERY)[0] == protocol.ANSWERED
    assert server.workers() == [worker]


def test_idle_slow_and_unreading_clients_hold_nobody_up(small, serving) -> None:
    server = serving()
    with ExitStack() as stack:
        _idle, deaf = (
            [stack.enter_context(server.connected()) for _ in range(count)] for count in (64, 20)
        )
        slow = stack.enter_context(server.connected())
        slow.sendall(message(QUERY)[:40])
        for one in deaf:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            one.sendall(message(["list", "--cost", "--json"]))
        assert server.asked(*QUERY)[0] == protocol.ANSWERED
        assert until(lambda: _closed(slow))


def _closed(one: socket.socket) -> bool:
    one.settimeout(0.01)
    try:
        one.sendall(b"\0")
    except OSError:
        return True
    return False


def test_a_question_that_was_dropped_to_make_room_ends_nobody(runtime) -> None:
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(runtime / "many.sock"))
        listening.listen()
        kept = Connections(listening)
        for _ in range(300):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(str(runtime / "many.sock"))
            one.sendall(message(QUERY))
            kept.serve(kept.selector.get_key(listening))
        questions = list(iter(kept.next, None))
        assert len(questions) == len(kept) < 300
        for one, _ in questions:
            kept.answer(one, [protocol.DECLINED, b"enough"])
        assert len(kept) == 0
        kept.selector.close()


def test_a_variable_without_a_name_is_no_variable(small, serving) -> None:
    server = serving()
    (worker,) = server.workers()
    parts = protocol.decode_parts(message(QUERY))
    parts[2] += b"\0=x\0="
    said = server.said(protocol.encode_parts(parts))
    assert protocol.decode_parts(said)[0] == protocol.ANSWERED
    assert server.workers() == [worker]


def test_memory_stays_flat_over_many_requests(small, serving) -> None:
    server = serving()
    (worker,) = server.workers()
    for number in range(100):
        server.asked("search", f"put {number} PDF files into one")
    before = _resident(worker)
    for number in range(400):
        server.asked("search", f"put {number} PDF files into {number}")
    assert _resident(worker) < before + 4_000_000


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_status_and_doctor_know_it(small, serving, capdisc) -> None:
    assert capdisc("status", "--json").json["server"] is None
    server = serving()
    assert capdisc("status", "--json").json["server"] == server.process.pid
    assert f"process {server.process.pid}" in capdisc("status").out
    assert f"process {server.process.pid} answers" in capdisc("doctor").out


def test_watch_serves_what_it_builds_and_both_end_together(
    hermetic, write_skill, serving, client
) -> None:
    write_skill(hermetic / "skills", "alpha", "Folds paper cranes. Use when asked.")
    server = serving("watch", "skills", "--serve", "--debounce", "100ms")
    asking = ("search", "paper cranes", "--ids", "--server", "require")
    assert until(lambda: client(*asking)[1] == "skill:alpha\n")
    write_skill(hermetic / "skills", "beta", "Folds paper cranes. Use when asked.")
    assert until(lambda: "skill:beta" in client(*asking)[1])
    assert server.end(signal.SIGINT) == 130
    assert until(lambda: not server.workers())
    assert not server.path.exists()
