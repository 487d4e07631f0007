"""The state of scanned files in SQLite: what is read is what was written, after any change of rows."""

from __future__ import annotations

from pathlib import Path

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.store.file_states import DeclaredId, FileState
from capdisc_indexer.store.state_database import StateDatabase, StateWriter

ODD = "a\u2028line\udcff"


def _files(*roots: str) -> dict[str, FileState]:
    card = {
        "kind": "skill",
        "name": "a",
        "category": "",
        "is_general": True,
        "hidden": False,
        "size": [1, 2, 3],
    }
    wrong = Finding(
        code="x", severity=Severity.WARNING, message="two\nlines", hint="", path=ODD, line=3
    )
    return {
        f"{root}/{number}/{ODD}": FileState(
            path=f"{root}/{number}/{ODD}",
            root=root,
            stat=(1, -2, 2**62, number),
            content_hash="c" * 64,
            declared_ids=(
                DeclaredId(
                    id="skill:a",
                    resolved_id=f"skill:a@{root}/{number}",
                    texts=("t" * 32, "u" * 32),
                    digest="d",
                    card=card,
                ),
                DeclaredId(id="b", status="copy", other_path=f"{root}/{ODD}"),
            ),
            findings=(wrong,) if number else (),
            read_as=f"linked:{ODD}",
        )
        for root in roots
        for number in range(3)
    }


def _write(folder: Path, states, source: Path | None = None, removed=()) -> StateDatabase:
    folder.mkdir()
    with StateWriter(folder, source) as writer:
        writer.update(states, removed)
    return StateDatabase(folder)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    files = _files("/two", "/one")
    state = _write(tmp_path / "a", files)
    assert list(state.items()) == list(files.items())
    one_by_one = StateDatabase(tmp_path / "a")
    assert {path: one_by_one[path] for path in files} == files
    assert one_by_one.get("/three") is None
    assert len(one_by_one) == len(files)


def test_after_a_change_of_rows_nothing_of_the_old_ones_is_left(tmp_path: Path) -> None:
    files = _files("/one", "/two")
    _write(tmp_path / "a", files)
    first, second, *rest = files
    swapped = {
        first: files[first]._replace(declared_ids=files[second].declared_ids),
        second: files[second]._replace(declared_ids=files[first].declared_ids),
    }
    now = {**{path: files[path] for path in rest if "/two" in path}, **swapped}
    gone = [path for path in files if path not in now]
    state = _write(tmp_path / "b", swapped, tmp_path / "a", gone)
    fresh = _write(tmp_path / "c", now)
    assert dict(state) == dict(fresh) == now
    assert state.ids() == fresh.ids()
    assert state.text_hashes() == fresh.text_hashes()
    empty = _write(tmp_path / "d", {}, tmp_path / "b", list(now))
    assert empty.find_text("t" * 32) is None
    assert not empty.ids()
