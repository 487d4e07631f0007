"""capdisc doctor beside other processes, file systems and kernels; transcripts/doctor.txt has the rest."""

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from capdisc_indexer.diagnosis import published_generation, surroundings
from capdisc_indexer.store import generation
from capdisc_indexer.store.durable_files import Mount


@pytest.fixture
def found(capdisc, two_generations):
    """The checks of `capdisc doctor` that are not ok, by name, once the command has run."""

    def run(*options: str) -> dict:
        report = capdisc("doctor", "--json", *options).json
        return {each["name"]: each for each in report["checks"] if each["state"] != "ok"}

    return run


def test_a_stopped_writer_is_named_with_what_wakes_it(found, two_generations) -> None:
    hold = "import sys, time; from pathlib import Path; from capdisc_indexer.store import locks\n"
    hold += (
        "with locks.write_lock(Path(sys.argv[1]), 1): print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", hold, str(two_generations)], stdout=subprocess.PIPE
    )
    child.stdout.readline()
    assert found()["lock"]["text"] == f"process {child.pid} is writing"
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert found()["lock"]["fix"] == f"kill -CONT {child.pid}"
    child.kill()
    child.communicate()
    assert "lock" not in found()


@pytest.mark.parametrize(
    ("kind", "words"),
    [("nfs4", "other machines"), ("vfat", "no permissions"), ("overlay", "container")],
)
def test_odd_file_systems_are_a_notice(found, monkeypatch, kind, words) -> None:
    monkeypatch.setattr(
        published_generation, "find_mount", lambda _: Mount(point="/mnt", kind=kind)
    )
    assert words in found()["file system"]["text"]


def test_a_disk_without_room_is_a_problem(found, monkeypatch) -> None:
    values = os.statvfs("/")
    monkeypatch.setattr(
        os, "statvfs", lambda _: os.statvfs_result((*values[:2], values[2], 10, 10, *values[5:]))
    )
    assert "0 MB free" in found()["space"]["text"]


def test_more_folders_than_the_kernel_watches_is_a_notice(found, monkeypatch, tmp_path) -> None:
    for name, value in (("max_user_watches", "2"), ("max_user_instances", "128")):
        (tmp_path / name).write_text(value)
    monkeypatch.setattr(surroundings, "_INOTIFY_FOLDER", tmp_path)
    assert found()["watching"]["fix"] == "sudo sysctl fs.inotify.max_user_watches=65536"


def test_a_reader_and_a_lock_of_the_text_engine_do_not_disturb(found, two_generations) -> None:
    gen = generation.generation_folder(two_generations, 2)
    with (gen / "text" / ".tantivy-meta.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert found() == {}
