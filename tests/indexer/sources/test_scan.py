"""What a scan finds, in which order, and where it stops."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
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


def test_files_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b/SKILL.md", "a/z/SKILL.md", "a/CAPABILITY.yml", "SKILL.md", "a/notes.md"):
        put(tmp_path / name)
    result = scan_roots([tmp_path])
    assert relatives(result) == ["SKILL.md", "a/CAPABILITY.yml", "a/z/SKILL.md", "b/SKILL.md"]
    assert [file.format for file in result.files] == ["skill", "capability", "skill", "skill"]


def test_a_file_carries_what_tells_a_change(tmp_path: Path) -> None:
    path = put(tmp_path / "a/SKILL.md", "four")
    (file,) = scan_roots([tmp_path]).files
    status = path.stat()
    assert (file.size, file.mtime_ns, file.inode) == (4, status.st_mtime_ns, status.st_ino)
    assert (file.path, file.root, file.root_order) == (str(path), str(tmp_path), 0)


@pytest.mark.parametrize("folder", [".git", "node_modules", "__pycache__", ".venv"])
def test_folders_of_tools_are_skipped(tmp_path: Path, folder: str) -> None:
    put(tmp_path / folder / "a/SKILL.md")
    assert scan_roots([tmp_path]) == ScanResult(files=(), findings=())


def test_a_skill_beside_a_manifest_is_its_companion(tmp_path: Path) -> None:
    for name in ("CAPABILITY.yaml", "SKILL.md", "schema.json", "other.json"):
        put(tmp_path / "a" / name)
    (file,) = scan_roots([tmp_path]).files
    assert file.relative == "a/CAPABILITY.yaml"
    assert [Path(companion.path).name for companion in file.companions] == [
        "SKILL.md",
        "schema.json",
    ]


def test_a_schema_alone_is_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a/schema.json")
    assert relatives(scan_roots([tmp_path])) == []


def test_of_two_casings_the_right_one_is_read(tmp_path: Path) -> None:
    put(tmp_path / "SKILL.MD")
    put(tmp_path / "SKILL.md")
    put(tmp_path / "b/skill.md")
    result = scan_roots([tmp_path])
    assert relatives(result) == ["SKILL.md", "b/skill.md"]
    assert found_codes(result) == ["misnamed-manifest"]


def test_a_link_to_a_folder_inside_gives_no_second_copy(tmp_path: Path) -> None:
    put(tmp_path / "z/real/SKILL.md")
    (tmp_path / "a").symlink_to(tmp_path / "z")
    result = scan_roots([tmp_path])
    assert relatives(result) == ["z/real/SKILL.md"]
    assert result.findings == ()


def test_a_link_is_followed_to_a_place_that_is_skipped_otherwise(tmp_path: Path) -> None:
    """A link is followed, once, into a folder that is skipped otherwise (S160, S314)."""
    put(tmp_path / "node_modules/kit/SKILL.md")
    (tmp_path / "kit").symlink_to(tmp_path / "node_modules/kit")
    (tmp_path / "same").symlink_to(tmp_path / "node_modules/kit")
    assert relatives(scan_roots([tmp_path])) == ["kit/SKILL.md"]


def test_a_link_into_another_root_is_fine(tmp_path: Path) -> None:
    put(tmp_path / "two/tool/SKILL.md")
    put(tmp_path / "one/SKILL.md")
    (tmp_path / "one/link").symlink_to(tmp_path / "two")
    result = scan_roots([tmp_path / "one", tmp_path / "two"])
    assert [(file.root_order, file.relative) for file in result.files] == [
        (0, "SKILL.md"),
        (1, "tool/SKILL.md"),
    ]
    assert result.findings == ()


def test_loops_of_links_end(tmp_path: Path) -> None:
    """Links that form a loop end the scan with each file listed once (S160, S314)."""
    put(tmp_path / "a/SKILL.md")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "a/self").symlink_to(tmp_path / "a/self")
    assert relatives(scan_roots([tmp_path])) == ["a/SKILL.md"]


@pytest.mark.parametrize("target", ["outside", "outside/SKILL.md"])
def test_a_link_that_leads_out_is_reported_and_not_followed(tmp_path: Path, target: str) -> None:
    """A link that leads out of the root is reported and not followed (S160)."""
    put(tmp_path / "outside/SKILL.md", "secret")
    put(tmp_path / "root/b/SKILL.md")
    link = tmp_path / "root/a" if target == "outside" else tmp_path / "root/SKILL.md"
    link.symlink_to(tmp_path / target)
    result = scan_roots([tmp_path / "root"])
    assert relatives(result) == ["b/SKILL.md"]
    assert found_codes(result) == ["symlink"]
    assert result.findings[0].path == str(link)


def test_a_companion_that_leads_out_is_not_read(tmp_path: Path) -> None:
    put(tmp_path / "outside.json")
    put(tmp_path / "root/CAPABILITY.yaml")
    (tmp_path / "root/schema.json").symlink_to(tmp_path / "outside.json")
    (file,) = scan_roots([tmp_path / "root"]).files
    assert file.companions == ()
    assert [each.code for each in file.lost] == ["symlink"]


def test_a_dangling_link_of_a_capability_name_is_reported(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").symlink_to(tmp_path / "gone")
    (tmp_path / "other").symlink_to(tmp_path / "gone")
    assert found_codes(scan_roots([tmp_path])) == ["symlink"]


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path / "real/a/SKILL.md")
    (tmp_path / "root").symlink_to(tmp_path / "real")
    (file,) = scan_roots([tmp_path / "root"]).files
    assert file.path == str(tmp_path / "root/a/SKILL.md")
    assert file.resolved == str(tmp_path / "real/a/SKILL.md")


def test_of_nested_roots_the_first_holds_the_file(tmp_path: Path) -> None:
    put(tmp_path / "a/b/SKILL.md")
    outer_first = scan_roots([tmp_path, tmp_path / "a"])
    assert [(file.root_order, file.relative) for file in outer_first.files] == [
        (0, "a/b/SKILL.md")
    ]
    inner_first = scan_roots([tmp_path / "a", tmp_path])
    assert [(file.root_order, file.relative) for file in inner_first.files] == [(0, "b/SKILL.md")]


def test_a_root_may_be_one_file(tmp_path: Path) -> None:
    put(tmp_path / "a/SKILL.md")
    put(tmp_path / "a/b/SKILL.md")
    (file,) = scan_roots([tmp_path / "a/SKILL.md"]).files
    assert (file.relative, file.root) == ("SKILL.md", str(tmp_path / "a"))


def test_a_companion_as_root_stands_for_its_manifest(tmp_path: Path) -> None:
    put(tmp_path / "CAPABILITY.yaml")
    put(tmp_path / "SKILL.md")
    assert relatives(scan_roots([tmp_path / "SKILL.md", tmp_path / "CAPABILITY.yaml"])) == [
        "CAPABILITY.yaml"
    ]


@pytest.mark.parametrize("name", ["gone", "notes.txt"])
def test_a_root_that_cannot_be_used_is_an_error_with_a_hint(tmp_path: Path, name: str) -> None:
    put(tmp_path / "notes.txt")
    with pytest.raises(InputError) as error:
        scan_roots([tmp_path / name])
    assert name in error.value.message
    assert error.value.hint


def test_folders_deeper_than_the_limit_are_reported(tmp_path: Path) -> None:
    put(tmp_path.joinpath(*["d"] * 40, "SKILL.md"))
    put(tmp_path.joinpath(*["d"] * 32, "SKILL.md"))
    result = scan_roots([tmp_path])
    assert len(result.files) == 1
    assert found_codes(result) == ["path-too-deep"]


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
    assert found_codes(result) == ["unreadable"]
    assert read_code(read_bytes(result.files[0], 100)) == "unreadable"


def test_odd_characters_in_a_path_are_reported(tmp_path: Path) -> None:
    put(tmp_path / "a\nb/SKILL.md")
    result = scan_roots([tmp_path])
    assert relatives(result) == ["a\nb/SKILL.md"]
    assert found_codes(result) == ["path-character"]


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
