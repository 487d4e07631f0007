"""Damaged files, closed streams and small limits end in one line and a status."""

import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from adopting import adopt

from capdisc_indexer.store import native_errors

SEED = int(os.environ.get("CAPDISC_SEED", "1"))
HARMS = {
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "emptied": lambda data, rng: b"",
    "zeroed": lambda data, rng: bytes(len(data)),
    "flipped": lambda data, rng: _flipped(data, rng.randrange(len(data))),
    "replaced": lambda data, rng: rng.randbytes(len(data)),
}


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


@pytest.fixture
def copy(indexed_catalogs, hermetic, monkeypatch) -> Path:
    """An index of its own to harm."""
    shutil.copytree(indexed_catalogs["small"], hermetic / "copy")
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "copy"))
    monkeypatch.setenv("CAPDISC_FRESH", "off")  # else a lost index is built anew
    return adopt(hermetic / "copy")


def _files(copy: Path) -> list[Path]:
    """All that an answer rests on; a build does without the stamps, a reader without those of
    checked files, and the matrix answers without the LanceDB table.
    """
    aside = ("LOCK", "stamps.bin", "checked.json")
    found = (
        path
        for path in copy.rglob("*")
        if path.is_file() and path.stat().st_size and path.name not in aside
        if "table" not in path.relative_to(copy).parts
    )
    files = sorted(path for path in found if path.parent.name != "text" or path.suffix != ".lock")
    assert files
    return files


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_every_file_may_be_damaged(capdisc, copy, monkeypatch, harm, large) -> None:
    """As `large`, files are compared by size alone at open, so that the harm is met where it is read."""
    if large:
        monkeypatch.setattr(native_errors, "MAX_CHECKED_BYTES", -1)
    rng = random.Random(SEED)
    for path in _files(copy):
        data = path.read_bytes()
        path.write_bytes(HARMS[harm](data, rng))
        for argv in (
            ("search", "merge pdf files"),
            ("render", "merge pdf files"),
            ("show", "merge-pdfs"),
            ("list",),
        ):
            done = capdisc(*argv)
            assert done.code in ((0, 1, 2, 4) if large else (4,)), (path, argv, done)
            assert done.code != 4 or (done.out == "" and "hint: run: capdisc index" in done.err), (
                path,
                argv,
                done,
            )
        path.write_bytes(data)


def test_a_deleted_file_is_missed_by_every_command(capdisc, copy) -> None:
    for path in _files(copy):
        kept = path.rename(copy.parent / "kept")
        codes = {
            capdisc(*argv).code
            for argv in (("search", "pdf"), ("render", "pdf"), ("status",), ("doctor",))
        }
        assert codes == {4}, path
        kept.rename(path)


def test_a_damaged_table_harms_no_answer(capdisc, copy) -> None:
    rng = random.Random(SEED)
    assert capdisc("index", "--again", "--wait").code == 0
    files = [path for path in (copy / "table").rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(HARMS["replaced"](path.read_bytes(), rng))
    for argv in (("search", "merge pdf files"), ("show", "merge-pdfs"), ("list",), ("status",)):
        assert capdisc(*argv).code == 0, argv


def _limited(
    *argv: str, limit: int = 0, value: int = 0, **streams
) -> subprocess.CompletedProcess[bytes]:
    def narrow() -> None:
        if limit:
            resource.setrlimit(limit, (value, value))

    return subprocess.run(
        [sys.executable, "-m", "capdisc", *argv], check=False, preexec_fn=narrow, **streams
    )


def test_sixty_four_open_files_are_enough(hermetic, write_skill) -> None:
    for number in range(100):
        write_skill(
            hermetic / "skills",
            f"skill-{number}",
            f"Folds paper crane number {number}. Use when asked.",
        )
    for argv in (
        ("index", "skills", "--index-dir", "index"),
        ("search", "fold a crane", "--index-dir", "index"),
    ):
        done = _limited(*argv, limit=resource.RLIMIT_NOFILE, value=64, capture_output=True)
        assert (done.returncode, done.stderr[:6]) in ((0, b""), (0, b"notice")), done


def test_four_gigabytes_of_addresses_are_enough(hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "alpha", "Folds paper cranes. Use when asked.")
    for argv in (
        ("index", "skills", "--index-dir", "index"),
        ("search", "fold a crane", "--index-dir", "index"),
    ):
        done = _limited(*argv, limit=resource.RLIMIT_AS, value=4 << 30, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b""), done


def test_too_little_memory_for_a_library_is_said_in_one_line(hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "alpha")
    argv = ("index", "skills", "--index-dir", "index")
    done = _limited(*argv, limit=resource.RLIMIT_AS, value=400 << 20, capture_output=True)
    assert done.returncode == 4, done
    lines = done.stderr.splitlines()
    assert [line.partition(b": ")[0] for line in lines[-2:]] == [b"error", b"hint"]
    assert b"Traceback" not in done.stderr
