"""What a scan finds, in which order, and where it stops."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.file_scan import ScanResult, scan_roots


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def relatives(result: ScanResult) -> list[str]:
    return [file.relative for file in result.files]


def found_codes(result: ScanResult) -> list[str]:
    return [finding.code for finding in result.findings]


def test_a_file_carries_what_tells_a_change(tmp_path: Path) -> None:
    path = put(tmp_path / "a/SKILL.md", "four")
    (file,) = scan_roots([tmp_path]).files
    status = path.stat()
    assert (file.size, file.mtime_ns, file.inode) == (4, status.st_mtime_ns, status.st_ino)
    assert (file.path, file.root, file.root_order) == (str(path), str(tmp_path), 0)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / "CAPABILITY.yaml").mkdir()
    else:
        os.mkfifo(tmp_path / "CAPABILITY.yaml")
    assert found_codes(scan_roots([tmp_path])) == ["path-not-file"]


def test_a_file_that_becomes_a_pipe_after_the_scan_does_not_block(tmp_path: Path) -> None:
    path = put(tmp_path / "SKILL.md")
    (file,) = scan_roots([tmp_path]).files
    path.unlink()
    os.mkfifo(path)
    assert read_code(read_bytes(file, 100)) == "path-not-file"


@pytest.mark.parametrize("part", ["a/b", "a/b/SKILL.md"])
def test_a_path_that_becomes_a_link_after_the_scan_is_not_followed(
    tmp_path: Path, part: str
) -> None:
    put(tmp_path / "root/a/b/SKILL.md", "mine")
    put(tmp_path / "outside/SKILL.md", "secret")
    (file,) = scan_roots([tmp_path / "root"]).files
    (tmp_path / "root" / part).rename(tmp_path / "moved")
    outside = tmp_path / "outside" / ("SKILL.md" if part.endswith("md") else "")
    (tmp_path / "root" / part).symlink_to(outside)
    assert isinstance(read_bytes(file, 100), Finding)


def test_a_file_that_vanished_is_a_finding(tmp_path: Path) -> None:
    path = put(tmp_path / "SKILL.md")
    (file,) = scan_roots([tmp_path]).files
    path.unlink()
    assert read_code(read_bytes(file, 100)) == "vanished"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    put(tmp_path / "SKILL.md", "x" * 101)
    (file,) = scan_roots([tmp_path]).files
    assert read_code(read_bytes(file, 100)) == "file-too-large"
    assert read_bytes(file, 101) == b"x" * 101


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_finding(tmp_path: Path) -> None:
    put(tmp_path / "a/SKILL.md")
    closed = put(tmp_path / "b/SKILL.md")
    closed.chmod(0)
    (tmp_path / "a").chmod(0)
    try:
        result = scan_roots([tmp_path])
    finally:
        (tmp_path / "a").chmod(0o700)
    assert found_codes(result) == ["path-unreadable"]
    assert read_code(read_bytes(result.files[0], 100)) == "path-unreadable"


def test_a_path_that_is_not_utf8_is_read_with_a_warning(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system takes only UTF-8")
    put(Path(os.fsdecode(folder)) / "SKILL.md")
    result = scan_roots([tmp_path])
    assert len(result.files) == 1
    assert found_codes(result) == ["path-character"]
    assert result.findings[0].path.endswith("caf\\xe9/SKILL.md")


def read_code(result: bytes | Finding) -> str:
    assert isinstance(result, Finding)
    return result.code


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_may_be(
    tmp_path, monkeypatch
) -> None:
    """Its size is asked for first, and some file systems do not know it."""
    (tmp_path / "SKILL.md").write_bytes(b"x" * 100)
    [file] = scan_roots([tmp_path]).files
    real = os.fstat
    small = os.stat_result((*real(0)[:6], 10, *real(0)[7:]))
    monkeypatch.setattr(os, "fstat", lambda handle: small if handle > 2 else real(handle))
    monkeypatch.setattr("stat.S_ISREG", lambda mode: True)
    assert read_bytes(file, 1000) == b"x" * 100
    assert isinstance(read_bytes(file, 50), Finding)
