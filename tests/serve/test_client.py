"""What a command does where a server answers, is missing, or fails."""

import os
import signal
import subprocess
import sys
import time

import pytest
from served import message, until

from capdisc.serve import protocol

QUERY = ("search", "put two PDF files into one", "--ids")


def test_without_a_server_the_command_runs_as_ever_and_require_says_so(small, client) -> None:
    assert client(*QUERY)[0] == 0
    code, out, err = client(*QUERY, "--server", "require")
    assert (code, out) == (75, "")
    assert err.startswith("error: no server answers: none runs for this workspace\nhint: ")
    assert client(*QUERY, CAPDISC_SERVER="require")[0] == 75


def test_the_wish_may_stand_anywhere_and_must_be_a_known_one(small, client) -> None:
    expected = client(*QUERY)
    assert (
        client("search", "--server", "off", *QUERY[1:])
        == client(*QUERY, "--server=off")
        == expected
    )
    code, out, err = client(*QUERY, "--server", "maybe")
    assert (code, out) == (2, "")
    assert "one of: auto, off, require" in err
    assert client(*QUERY, "--server")[0] == 2
    assert (
        '"--server off"' in client("search", "--json", "--", "--server", "off")[1]
    )  # there it is the query


def test_what_writes_or_takes_long_is_never_asked_of_a_server(
    small, serving, client, hermetic
) -> None:
    serving()
    for words in (
        [*QUERY, "--session", "s"],
        ["show", "merge-pdfs", "--link", "x", "--network"],
        ["search", "--help"],
    ):
        assert "never asked" in client(*words, "--server", "require")[2]
    assert client("index", "--server", "require")[0] == 2  # no such option there


def test_a_secret_stays_in_the_process(small, serving, client, monkeypatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "canary-of-a-secret")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("CAPDISC_LIMIT", "3")
    sent = message(["search", "x"])
    assert b"canary" not in sent
    assert b"SLACK_BOT_TOKEN\0" in sent + b"\0"
    assert b"EMPTY=" in sent
    assert b"CAPDISC_LIMIT=3" in sent


def test_a_server_knows_which_secrets_are_set(small, serving, client) -> None:
    serving()
    for env in ({}, {"SLACK_BOT_TOKEN": "canary", "MAIL_API_KEY": "canary"}):
        argv = (
            ("list", "--json"),
            ("search", "send a message", "--available", "--json"),
            ("show", "slack", "--json"),
        )
        for words in argv:
            assert client(*words, "--server", "require", **env) == client(
                *words, "--server", "off", **env
            )


def test_an_answer_of_another_version_is_not_used(small, serving, monkeypatch) -> None:
    server = serving()
    monkeypatch.setattr(protocol, "__version__", "0.0.0")
    assert server.asked(*QUERY) == [protocol.DECLINED, b"it is of another version"]


def test_a_folder_that_is_another_one_there_is_declined(
    small, serving, monkeypatch, hermetic
) -> None:
    server = serving()
    (hermetic / "sub").mkdir()
    monkeypatch.chdir(hermetic / "sub")
    here = message(QUERY)
    (hermetic / "sub").rename(hermetic / "moved")
    (hermetic / "sub").mkdir()
    assert b"the current folder is another one here" in server.said(here)


def test_a_server_that_hangs_costs_a_third_of_a_second(small, serving, client) -> None:
    server = serving()
    expected = client(*QUERY, "--server", "require")
    (worker,) = server.workers()
    os.kill(worker, signal.SIGSTOP)
    try:
        assert client(*QUERY) == expected
    finally:
        os.kill(worker, signal.SIGCONT)
    assert client(*QUERY, "--server", "require") == expected


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_waiting_ends_it_as_any_command(small, serving, number, code) -> None:
    server = serving()
    (worker,) = server.workers()
    os.kill(worker, signal.SIGSTOP)
    argv = [sys.executable, "-m", "capdisc", *QUERY, "--server", "require"]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert until(lambda: _caught(child.pid) >> (number - 1) & 1)
    time.sleep(0.1)
    child.send_signal(number)
    assert (*child.communicate(timeout=60), child.returncode) == (b"", b"", code)


def _caught(pid: int) -> int:
    """The signals that the process handles, of which an interpreter alone handles SIGINT only."""
    with open(f"/proc/{pid}/status") as status:
        line = next((line for line in status if line.startswith("SigCgt")), "SigCgt: 0")
    caught = int(line.split()[1], 16)
    return caught if caught >> (signal.SIGTERM - 1) & 1 else 0


def test_a_reader_that_has_seen_enough_and_a_full_disk_end_it_as_ever(small, serving) -> None:
    serving()
    for wish in ("require", "off"):
        argv = [sys.executable, "-m", "capdisc", "list", "--json", "--server", wish]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdout.close()
        err = child.stderr.read()
        child.stderr.close()
        assert (child.wait(), err) == (0, b"")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (
            4, b"error: No space left on device\nhint: check the disk and its permissions\n",
        )  # fmt: skip


def test_a_closed_stream_is_answered_without_a_server(small, serving) -> None:
    serving()
    shell = f"exec {sys.executable} -m capdisc {QUERY[0]} PDF --ids --server %s >&-"
    for wish, code in (("auto", 0), ("require", 75)):
        assert (
            subprocess.run(
                shell % wish, shell=True, stderr=subprocess.DEVNULL, check=False
            ).returncode
            == code
        )


def test_stdin_that_was_read_for_a_server_is_there_for_the_command(small, serving, client) -> None:
    expected = client("search", "-", "--ids", "--server", "off", stdin=QUERY[1])
    server = serving()
    for more in (-100, 100):  # both too long for a request, and the second for a command
        big = QUERY[1] + "\n" * (protocol.MAX_REQUEST + more)
        cold = client("search", "-", "--ids", "--server", "off", stdin=big)
        assert client("search", "-", "--ids", stdin=big) == cold
        assert cold == expected or more > 0
    server.end()
    assert client("search", "-", "--ids", stdin=QUERY[1]) == expected


def test_files_of_the_process_itself_are_read_there(small, serving, client) -> None:
    serving()
    argv = ("render", QUERY[1], "--append", "/dev/stdin")
    assert "never asked" in client(*argv, "--server", "require", stdin="More.")[2]


@pytest.mark.parametrize(
    ("marks", "folder", "workspace"),
    [
        ((), "home/a/b", "home/a/b"),
        (("home/a/.git/",), "home/a/b", "home/a"),
        (("home/a/.git/", "home/a/b/capdisc.toml"), "home/a/b", "home/a/b"),
        (("home/a/.git/",), "home/a/.git/c", "home/a"),
        (("home/.git/",), "home/a/b", "home/a/b"),
        (("home/.git/",), "home", "home"),
        (("home/.git/", "home/a/.capdisc/"), "home/a/b", "home/a"),
        (("repository/.git",), "repository/d", "repository"),
        (("home/.git/", "capdisc.toml"), "home/a", ""),
    ],
)
def test_the_workspace_is_the_nearest_marked_folder(
    marks: tuple[str, ...], folder: str, workspace: str, tmp_path
) -> None:
    for mark in marks:
        place = tmp_path / mark
        (place if mark.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not mark.endswith("/"):
            place.touch()
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    found = protocol.workspace_folder(str(tmp_path / folder), str(tmp_path / "home"))
    assert found == str(tmp_path / workspace)


def test_the_client_imports_next_to_nothing(small, serving) -> None:
    serving()
    code = (
        "import sys; before = set(sys.modules); sys.argv[1:] = ['search', 'PDF', '--server', 'require']\n"
        "from capdisc.serve import client; code = client.run_on_server()\n"
        "print(sorted(name for name in set(sys.modules) - before if 'capdisc' not in name), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] in (
        "['__future__', '_socket']",
        "['__future__', '_signal', '_socket']",
    )


def test_an_index_on_a_network_is_left_to_who_has_the_credentials(small, serving, client) -> None:
    serving()
    code, out, err = client(*QUERY, "--server", "require", CAPDISC_INDEX_DIR="s3://nowhere/index")
    assert (code, out) == (75, "")
    assert "s3://nowhere/index is not looked after here" in err
