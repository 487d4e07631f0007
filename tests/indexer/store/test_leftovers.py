"""What killed processes leave behind, and who removes it."""

import os
import time

import pytest

from capdisc_indexer.store import documents, durable_files


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "_TEMPORARY_FOLDERS", (str(tmp_path),))
    return tmp_path


def test_a_build_removes_the_folders_of_readers_that_were_killed_long_ago(
    folders, capdisc, hermetic, write_skill
) -> None:
    two_hours_ago = time.time() - 7200
    for name in ("capdisc-17-4711", "capdisc-17-4712", "capdisc-mine"):
        (folders / name).mkdir()
        (folders / name / "meta.json").symlink_to("/nowhere")
        if name != "capdisc-17-4712":
            os.utime(folders / name, (two_hours_ago, two_hours_ago))
    write_skill(hermetic / "skills", "fold")
    assert capdisc("index", "skills").code == 0
    left = {path.name for path in folders.glob("capdisc-*")}
    assert left == {"capdisc-17-4712", "capdisc-mine"}


def test_a_reader_removes_what_a_killed_one_left(capdisc, hermetic, write_skill) -> None:
    """Its name was one of a process: nobody removed it."""
    skill = write_skill(hermetic / "skills", "fold")
    capdisc("index", "skills", "--index-dir", "index")
    (hermetic / "index" / ".checked.json.new").write_text("half")
    (hermetic / "index" / "checked.json").unlink(missing_ok=True)
    old = time.time() - 60
    for path in (skill, *(hermetic / "index").rglob("*")):
        os.utime(path, (old, old))
    capdisc("search", "does a thing", "--index-dir", "index")
    assert not (hermetic / "index" / ".checked.json.new").exists()


@pytest.mark.parametrize("is_private", [False, True])
def test_a_file_of_the_user_keeps_its_mode_and_is_never_half(tmp_path, is_private) -> None:
    path = tmp_path / "home" / "settings.json"
    umask = os.umask(0o022)
    try:
        durable_files.replace_user_file(path, b"one", is_private)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == (0o600 if is_private else 0o644)
    path.chmod(0o640)

    def blocks():
        yield b"tw"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        durable_files.replace_user_file(path, blocks())
    assert path.read_bytes() == b"one"
    durable_files.replace_user_file(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two", 0o640)
    assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["settings.json"]
