"""Small state files that several processes change."""

import os
import subprocess
import sys

import pytest

from capdisc_indexer.model.errors import BusyError, InputError
from capdisc_indexer.store import state_file


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


def test_what_is_written_is_read_by_its_owner_alone(folder) -> None:
    with state_file.lock_folder(folder):
        state_file.replace_state_file(folder / "a.json", b"{}")
    assert state_file.read_state_file(folder / "a.json") == b"{}"
    assert (folder / "a.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_missing_file_is_none_and_makes_nothing(folder) -> None:
    assert state_file.read_state_file(folder / "a.json") is None
    assert not folder.exists()


@pytest.mark.parametrize("what", ["file", "fifo", "folder"])
def test_neither_reads_nor_writes_through_a_link_or_a_special_file(folder, tmp_path, what) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder.mkdir(mode=0o700)
    path = folder / "a.json"
    {
        "file": lambda: path.symlink_to(secret),
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }[what]()
    with pytest.raises(InputError, match="cannot read"):
        state_file.read_state_file(path)
    if what != "fifo":
        with state_file.lock_folder(folder), pytest.raises(InputError, match="cannot write"):
            state_file.replace_state_file(path, b"{}")
    assert secret.read_text() == "secret"


def test_a_folder_that_is_a_link_is_not_used(folder, tmp_path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "real")
    with pytest.raises(InputError, match="it is a link"):
        state_file.read_state_file(folder / "a.json")


def test_a_folder_that_others_may_write_to_is_not_used(folder) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(InputError, match="others may write"):
        state_file.read_state_file(folder / "a.json")
    with pytest.raises(InputError, match="others may write"), state_file.lock_folder(folder):
        pass


def test_a_file_that_is_too_long_is_refused(folder) -> None:
    folder.mkdir(mode=0o700)
    (folder / "a.json").write_bytes(b" " * (state_file.MAX_BYTES + 1))
    with pytest.raises(InputError, match="more than 4 MiB"):
        state_file.read_state_file(folder / "a.json")
    with state_file.lock_folder(folder), pytest.raises(InputError, match="more than 4 MiB"):
        state_file.replace_state_file(folder / "b.json", b" " * (state_file.MAX_BYTES + 1))


def test_one_that_waits_too_long_for_another_process_is_told(folder) -> None:
    with state_file.lock_folder(folder):
        script = (
            "import sys; from pathlib import Path\n"
            "from capdisc_indexer.model.errors import BusyError; from capdisc_indexer.store import state_file\n"
            "try:\n"
            f"    with state_file.lock_folder(Path({str(folder)!r}), 0.0): pass\n"
            "except BusyError: sys.exit(75)"
        )
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 75
    assert issubclass(BusyError, Exception)


def test_what_an_ended_writer_left_is_no_hindrance(folder) -> None:
    folder.mkdir(mode=0o700)
    (folder / ".a.json.new").write_text("half")
    with state_file.lock_folder(folder):
        state_file.replace_state_file(folder / "a.json", b"whole")
    assert state_file.read_state_file(folder / "a.json") == b"whole"
    assert not (folder / ".a.json.new").exists()
