"""One writer at a time; a waiting writer learns who holds the lock; readers never wait."""

import errno
import os
import subprocess
import sys

import pytest

from capdisc_indexer.model.errors import BusyError, IndexStateError
from capdisc_indexer.store import locks
from capdisc_indexer.store.durable_files import Mount

HOLD = "import sys, time; from pathlib import Path; from capdisc_indexer.store import locks\n"
HOLD += "with locks.write_lock(Path(sys.argv[1]), 1): print('held', flush=True); time.sleep(60)"


@pytest.fixture
def written_index(tmp_path):
    """An index folder that another process is writing to."""
    index_dir = tmp_path / "index"
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(index_dir)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"held\n"
    yield index_dir, child
    child.kill()
    child.communicate()


def test_who_asks_for_the_holder_gets_it_and_disturbs_nobody(written_index) -> None:
    index_dir, child = written_index
    before = (index_dir / "LOCK").stat().st_mtime_ns
    assert [str(part) for part in locks.lock_status(index_dir)] == ["True", f"process {child.pid}"]
    assert (index_dir / "LOCK").stat().st_mtime_ns == before


def test_a_writer_that_is_done_leaves_no_name(tmp_path) -> None:
    with locks.write_lock(tmp_path / "index", 0):
        pass
    assert locks.lock_status(tmp_path / "index") == (False, None)


def test_a_name_from_another_machine_stops_a_writer_where_locks_may_not_be_shared(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "LOCK").write_text("17 another-host\n")
    with locks.write_lock(tmp_path, 0):  # a local disk: the lock alone decides
        pass
    (tmp_path / "LOCK").write_text("17 another-host\n")
    monkeypatch.setattr(locks, "find_mount", lambda _: Mount(point="/", kind="nfs4"))
    with (
        pytest.raises(BusyError, match=r"process 17 .on another-host.") as caught,
        locks.write_lock(tmp_path, 0),
    ):
        pass
    assert f"rm {tmp_path / 'LOCK'}" in caught.value.hint


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_nobody_writes_and_everybody_reads(tmp_path, monkeypatch, number) -> None:
    def flock(fd: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "LEASE").touch()
    import fcntl

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(IndexStateError, match="without locks"), locks.write_lock(tmp_path, 0):
        pass
    os.close(locks.acquire_lease(tmp_path / "LEASE"))
    assert locks.lock_status(tmp_path)[0] is False


def test_a_reader_does_not_wait_for_who_removes_its_generation(tmp_path) -> None:
    (tmp_path / "LEASE").touch()
    with locks.try_exclusive(tmp_path / "LEASE") as is_free:
        assert is_free
        with pytest.raises(IndexStateError, match="being removed"):
            locks.acquire_lease(tmp_path / "LEASE")


def test_a_generation_with_readers_is_in_use(tmp_path) -> None:
    (tmp_path / "LEASE").touch()
    for fd in [locks.acquire_lease(tmp_path / "LEASE") for _ in range(2)]:
        with locks.try_exclusive(tmp_path / "LEASE") as is_free:
            assert not is_free
        os.close(fd)


@pytest.mark.parametrize("text", ["", "no number", "-5", "9" * 400, "\udcff", "7"])
def test_anything_may_stand_in_the_lock_file(tmp_path, text) -> None:
    path = tmp_path / "LOCK"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    fd = os.open(path, os.O_RDONLY)
    assert str(locks.read_holder(fd)) in {
        "None",
        "process 7",
        "process 7 (gone)",
        "process 7 (stopped)",
    }
    os.close(fd)
