"""The state of scanned files: a line a file, and unchanged lines are copied."""

from __future__ import annotations

from pathlib import Path

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.store import file_states
from capdisc_indexer.store.file_states import DeclaredId, FileState, SavedStates

ODD = "a\u2028line\udcff"


def _files(*roots: str) -> dict[str, FileState]:
    card = {
        "kind": "skill",
        "name": "a",
        "category": "",
        "is_general": True,
        "hidden": False,
        "size": [1, 2],
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
                    id="skill:a", resolved_id="skill:a", texts=("t" * 32,), digest="d", card=card
                ),
                DeclaredId(id="b"),
            ),
            findings=(wrong,) if number else (),
        )
        for root in roots
        for number in range(3)
    }


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    files = _files("/one", "/two")
    file_states.save_states(tmp_path / "a", files, SavedStates())
    assert file_states.load_states(tmp_path / "a").files == files


def test_a_file_of_copied_lines_is_the_one_that_would_be_written_from_nothing(
    tmp_path: Path,
) -> None:
    file_states.save_states(tmp_path / "a", _files("/one", "/two"), SavedStates())
    before = file_states.load_states(tmp_path / "a")
    first, *rest = before.files
    now = {
        first: before.files[first]._replace(content_hash="e" * 64),
        **{path: before.files[path] for path in rest},
    }
    for files in (now, {path: one for path, one in now.items() if one.root == "/two"}, {}):
        file_states.save_states(tmp_path / "b", files, before)
        file_states.save_states(tmp_path / "c", files, SavedStates())
        assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()
        assert file_states.load_states(tmp_path / "b").files == files
