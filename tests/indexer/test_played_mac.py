"""What differs on macOS, played on Linux: calls that are missing or take no effect, and tables that are not there."""

import ctypes
import errno
import fcntl
import importlib.util
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import capdisc_indexer.platforms.posix as posix_here
from capdisc_indexer.diagnosis import surroundings
from capdisc_indexer.store import durable_files
from played_mac import LACKING

TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def mac(monkeypatch):
    """The module for POSIX as macOS loads it, under another name."""
    monkeypatch.setattr(sys, "platform", "darwin")
    for name in LACKING:
        monkeypatch.delattr(os, name, raising=False)
    spec = importlib.util.spec_from_file_location("played_posix", posix_here.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def synced(monkeypatch):
    """The calls that make a file survive a power cut, in their order."""
    calls = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command: calls.append(command))
    monkeypatch.setattr(os, "fsync", lambda handle: calls.append("fsync"))
    return calls


def test_a_file_is_written_out_of_the_memory_of_the_disk(mac, synced):
    mac.sync_file(1)
    assert synced == [51]


def test_where_the_file_system_cannot_do_that_it_is_synced_as_elsewhere(mac, synced, monkeypatch):
    def refuse(handle, command):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    mac.sync_file(1)
    assert synced == ["fsync"]


def test_a_file_is_replaced_only_once_its_content_is_written_out(
    mac, synced, monkeypatch, tmp_path
):
    monkeypatch.setattr(durable_files, "system", mac)
    durable_files.replace_file(tmp_path / "CURRENT", b"1")
    assert synced == [51]  # which writes out all that was synced before
    assert (tmp_path / "CURRENT").read_bytes() == b"1"


def test_the_state_of_a_process_is_known_without_the_tables_of_the_kernel(mac, monkeypatch):
    def refuse(name, *_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", name)

    monkeypatch.setattr(mac, "open", refuse, raising=False)
    child = subprocess.Popen(["sleep", "60"])
    assert mac.process_state(child.pid) == "running"
    child.kill()
    child.wait()
    assert mac.process_state(child.pid) == "gone"
    assert mac.process_state(10**18) == "gone"
    assert mac.process_state(1) == "running"


def test_a_child_has_ended_or_not(mac):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        assert not mac.has_ended(child)
        child.stdin.close()
        child.wait()
        assert mac.has_ended(child)


def test_processors_are_counted_and_files_are_opened(mac, tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert mac.count_processors() == os.cpu_count()
    real = os.path.realpath(tmp_path)
    with open(mac.open_without_links(f"{real}/file"), "rb") as file:
        assert file.read() == b"text"
    with pytest.raises(OSError, match="symbolic links"):
        mac.open_without_links(f"{real}/link")


def test_limits_that_take_no_effect_are_no_error(mac, monkeypatch):
    kept = {}

    def limit(kind, values):
        if kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            raise ValueError("current limit exceeds maximum limit")
        kept[kind] = values[0]

    monkeypatch.setattr(resource, "setrlimit", limit)
    mac.limit_process(7, address_bytes=1 << 20, data_bytes=1 << 20)
    assert kept == {resource.RLIMIT_CPU: 7, resource.RLIMIT_CORE: 0}


class FakeLibrary:
    """statfs(2) as the 64-bit struct of macOS lays it out."""

    kind, point, code = b"apfs", b"/System/Volumes/Data", 0

    def statfs(self, path, data):
        data[72 : 72 + len(self.kind)] = self.kind
        data[88 : 88 + len(self.point)] = self.point
        return self.code


@pytest.mark.parametrize(
    ("kind", "point", "code", "expected"),
    [
        (b"apfs", b"/System/Volumes/Data", 0, ("apfs", False, False)),
        (b"smbfs", b"/Volumes/Team share", 0, ("smbfs", True, False)),
        (b"exfat", b"/Volumes/STICK", 0, ("exfat", False, True)),
        (b"apfs", b"/", -1, ("", False, False)),
        (b"\x01\x02", b"garbage", 0, ("", False, False)),
    ],
)
def test_the_system_is_asked_what_holds_a_folder(mac, monkeypatch, kind, point, code, expected):
    library = FakeLibrary()
    library.kind, library.point, library.code = kind, point, code
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(durable_files, "system", mac)
    mount = durable_files.find_mount(Path("/Users/me"), mac.MOUNT_TABLE)
    assert (mount.kind, mount.is_shared, mount.is_limited) == expected
    assert mount.point == (point.decode() if expected[0] else "")


def test_the_doctor_does_not_ask_for_limits_of_linux(mac, monkeypatch, tmp_path):
    monkeypatch.setattr(surroundings, "system", mac)
    check = surroundings._examine_watch_limits([str(tmp_path)])
    assert (check.state, check.text) == ("ok", "the system sets no limit to watching")


@pytest.fixture
def played(tmp_path):
    """Run a command line in a process that takes itself for one on macOS."""

    def run(*words, limits="", **options):
        line = f'{limits} exec "$0" "$@"'
        command = ["sh", "-c", line, sys.executable, str(TESTS / "played_mac.py"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


def test_an_index_is_built_searched_and_examined_there(played, tmp_path):
    for number in range(300):
        folder = tmp_path / "skills" / f"fold-{number}"
        folder.mkdir(parents=True)
        text = f"name: fold-{number}\ndescription: Folds shape {number}. Use for shape {number}."
        (folder / "SKILL.md").write_text(f"---\n{text}\n---\n")
    built = played("index", str(tmp_path / "skills"), limits="ulimit -n 256 &&")
    assert (built.returncode, built.stderr) == (0, "")
    assert built.stdout.startswith("300 capabilities from 300 files")
    found = played("search", "shape 7", "--ids", limits="ulimit -n 256 &&")
    assert found.stdout.splitlines()[0] == "skill:fold-7"
    examined = played("doctor", "--all")
    assert examined.returncode == 0
    assert "unknown" in next(
        line for line in examined.stdout.splitlines() if line.startswith("file system")
    )
    assert "inotify" not in examined.stdout
    assert all(line.split(maxsplit=2)[2:] for line in examined.stdout.splitlines() if line)


def test_links_above_a_home_and_an_index_as_those_of_macos(played, tmp_path):
    """/var, /tmp and /etc are links into /private there."""
    (tmp_path / "private" / "var" / "me").mkdir(parents=True)
    (tmp_path / "private" / "tmp").mkdir()
    for name in ("var", "tmp"):
        (tmp_path / name).symlink_to(f"private/{name}")
    home, project = tmp_path / "var" / "me", tmp_path / "var" / "me" / "project"
    skill = project / ".agents" / "skills" / "fold-crane" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    text = "---\nname: fold-crane\ndescription: Folds a crane. Use for paper.\nallowed-tools: [Read]\n---\n"
    skill.write_text(text)
    environ = {
        **os.environ,
        "HOME": str(home),
        "TMPDIR": str(tmp_path / "tmp"),
        "PWD": str(project),
    }

    def run(*words):
        done = played(*words, cwd=project, env=environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder = ("--index-dir", str(tmp_path / "tmp" / "index"))
    assert run("index", *folder).startswith("1 capability from 1 file ")
    real = tmp_path / "private" / "var" / "me" / "project" / ".agents" / "skills"
    assert "1 capability from 1 file " in run("index", str(real), *folder)
    listed = Path(
        run("list", "--paths", "--index-dir", str(tmp_path / "private" / "tmp" / "index")).strip()
    )
    assert listed.samefile(skill)
    assert "Id: skill:fold-crane" in run("show", str(real / "fold-crane"), *folder)
    assert run("trust").startswith("nothing to trust")
    run("validate", "--fix", "--write", str(real))
    assert "allowed-tools: Read\n" in skill.read_text()
