"""Is an answer as new as what lies on disk, without a word of `capdisc index`?"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from datetime import date
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Coverage
from capdisc_indexer.store import folder_stamps, generation, publication
from capdisc_indexer.store.generation import read_pointer


@pytest.fixture
def skills(hermetic: Path) -> Path:
    """The skills of a workspace, which nobody has indexed."""
    (hermetic / ".git").mkdir()
    return hermetic / ".claude" / "skills"


@pytest.fixture
def indexed(skills: Path, write_skill, capdisc) -> Path:
    """The skills of a workspace with one skill, indexed a while ago."""
    write_skill(skills, "paper-crane", "Folds paper cranes. Use for paper cranes.")
    assert capdisc("index").code == 0
    return skills


def _freshness(capdisc, *words: str) -> dict:
    return capdisc("search", "paper cranes", "--json", *words).json["freshness"]


def _index_dir(capdisc) -> Path:
    return Path(capdisc("status", "--json").json["index_dir"])


def test_a_folder_is_not_missing_since_a_time_in_the_future(
    indexed, hermetic, write_skill, capdisc, monkeypatch
) -> None:
    path = write_skill(hermetic / "more", "swan", "Folds linen swans. Use for linen swans.")
    assert capdisc("index", "more").code == 0
    path.parent.parent.rename(hermetic / "unmounted")
    clock = time.time
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda: clock() + 365 * 24 * 3600)
        assert capdisc("index").code == 0
    in_time = date.fromtimestamp(clock() + 8 * 24 * 3600)
    assert _last_day(capdisc) > in_time
    assert capdisc("search", "linen swans", "--ids").out.split()[0] == "skill:swan"
    assert date.today() < _last_day(capdisc) <= in_time
    assert capdisc("search", "linen swans", "--ids").out.split()[0] == "skill:swan"


def _last_day(capdisc) -> date:
    """The day until which the capabilities of folders that are gone stay."""
    text = capdisc("status", "--json").json["covers"]["text"]
    return date.fromisoformat(text.rpartition("until ")[2][:10])


def test_another_writer_costs_no_answer(indexed, write_skill, capdisc) -> None:
    index_dir = _index_dir(capdisc)
    write_skill(indexed, "swan", "Folds linen swans. Use for linen swans.")
    with (index_dir / "LOCK").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = capdisc("list", "--ids")
        assert (done.code, done.out.split()) == (0, ["skill:paper-crane"])
        assert "results do not show that yet" in done.err and "is writing this index" in done.err
        refused = capdisc("list", "--ids", "--fresh", "require")
        assert (refused.code, refused.out) == (75, "")
    assert len(capdisc("list", "--ids").out.split()) == 2


def test_an_index_that_cannot_be_written_answers(
    indexed, write_skill, capdisc, monkeypatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(30, "Read-only file system", str(indexed))

    write_skill(indexed, "swan", "Folds linen swans. Use for linen swans.")
    with monkeypatch.context() as patch:
        patch.setattr("capdisc_indexer.store.locks._open_lock_file", refuse)
        done = capdisc("list", "--ids")
    assert (done.code, done.out.split()) == (0, ["skill:paper-crane"])
    assert "results do not show that yet" in done.err and "Read-only file system" in done.err


@pytest.mark.parametrize("content", [None, b"", b"{}\n", b'{"version": 1', b"\0" * 5000])
def test_lost_or_damaged_stamps_are_made_again(indexed, write_skill, capdisc, content) -> None:
    stamps = _index_dir(capdisc) / folder_stamps.FILE_NAME
    write_skill(indexed, "swan", "Folds linen swans. Use for linen swans.")
    stamps.unlink() if content is None else stamps.write_bytes(content)
    assert len(capdisc("list", "--ids").out.split()) == 2
    assert folder_stamps.look_at_disk(stamps.parent, read_pointer(stamps.parent)).is_known


def test_many_files_are_indexed_in_the_background(
    skills, write_skill, capdisc, monkeypatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr("capdisc.context.index_update.FIRST_FILES", 3)
    monkeypatch.setattr(
        "capdisc.context.background_build._start_process",
        lambda *words, **_: started.append(words),
    )
    for number in range(15):
        write_skill(skills, f"crane-{number}", f"Folds {number} paper cranes. Use for cranes.")
    done = capdisc("list", "--ids")
    assert len(done.out.split()) == 3 and len(started) == 1
    assert done.err == "notice: index 20 % built, the rest follows in the background\n"
    index_dir = Path(capdisc("status", "--json").json["index_dir"])
    shutil.rmtree(index_dir)
    assert len(capdisc("list", "--ids", "--fresh", "require").out.split()) == 15
    shutil.rmtree(index_dir)
    assert len(capdisc("list", "--ids").out.split()) == 3
    assert capdisc("index").code == 0
    assert len(capdisc("list", "--ids").out.split()) == 15


def test_a_change_of_a_very_large_index_is_taken_in_in_the_background(
    indexed, write_skill, capdisc, monkeypatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr("capdisc.context.index_update._MAX_FILES", 0)
    monkeypatch.setattr(
        "capdisc.context.background_build._start_process",
        lambda *words, **_: started.append(words),
    )
    write_skill(indexed, "swan", "Folds linen swans. Use for linen swans.")
    done = capdisc("search", "paper cranes", "--ids")
    assert done.out.split() == ["skill:paper-crane"] and len(started) == 1
    assert "1 file has changed since the index was built (" in done.err
    assert "results do not show that yet: it is being indexed" in done.err
    lag = _freshness(capdisc)
    assert (lag["state"], lag["changed"]) == ("behind", 1) and "being indexed" in lag["reason"]
    assert len(started) == 1


@pytest.fixture
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look reads 40 stamps, and more only where it has time."""
    monkeypatch.setattr(folder_stamps, "_MIN_ENTRIES", 20)
    monkeypatch.setattr(folder_stamps, "_MAX_ENTRIES", 40)
    monkeypatch.setattr(folder_stamps, "_BLOCK_ENTRIES", 5)


def _stamp_files(folder: Path) -> None:
    """Write a hundred files and their stamps."""
    files = []
    for number in range(100):
        path = folder / f"{number}.md"
        path.write_text("x")
        os.utime(path, (1_000 + number, 1_000 + number))
        files.append((str(path), folder_stamps.read_stamp(str(path))))
    tree = folder_stamps.StampedTree(
        roots=[], coverage=Coverage(), awaited=(), sections=((), files, ())
    )
    folder_stamps.save_stamps(folder, "1", tree)


def test_a_look_reads_stamps_by_turns_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_looks: None
) -> None:
    monkeypatch.setattr(folder_stamps, "_LOOK_S", -1.0)
    _stamp_files(tmp_path)
    (tmp_path / "99.md").write_text("the newest is always looked at")
    (tmp_path / "0.md").unlink()
    found = set()
    for second in range(40):
        monkeypatch.setattr(time, "time", lambda second=second: float(second))
        look = folder_stamps.look_at_disk(tmp_path, "1")
        assert look.looked_at <= 40 and not look.is_complete
        assert str(tmp_path / "99.md") in look.changed
        found |= set(look.changed)
    assert found == {str(tmp_path / "99.md"), str(tmp_path / "0.md")}


def test_a_look_goes_on_while_it_has_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_looks: None
) -> None:
    monkeypatch.setattr(folder_stamps, "_LOOK_S", 3600.0)
    _stamp_files(tmp_path)
    (tmp_path / "0.md").unlink()
    look = folder_stamps.look_at_disk(tmp_path, "1")
    assert look.is_complete and look.changed == (str(tmp_path / "0.md"),)


def test_an_index_of_an_earlier_version_is_built_anew(
    skills, write_skill, capdisc, monkeypatch
) -> None:
    write_skill(skills, "zebra-care", "Feeds zebras. Use when a zebra is hungry.")
    assert capdisc("search", "feed a zebra").code == 0
    monkeypatch.setattr(generation, "SCHEMA_VERSION", generation.SCHEMA_VERSION + 1)
    monkeypatch.setattr(publication, "SCHEMA_VERSION", generation.SCHEMA_VERSION)
    assert capdisc("search", "feed a zebra", "--fresh", "off").code == 4
    done = capdisc("search", "feed a zebra")
    assert done.code == 0 and "zebra-care" in done.out
    assert "indexed 1 file" in done.err
