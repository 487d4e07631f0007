"""The LanceDB table equals the documents: after a build, after changes, and after anything else."""

from __future__ import annotations

import random

import pytest

from capdisc_indexer.indexing import table_update
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.indexing.table_update import find_stale_rows, update_table
from capdisc_indexer.model.errors import BusyError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store import lance_table
from capdisc_indexer.store.snapshot import Index

CHANGES = 30


@pytest.fixture
def root(hermetic, write_skill):
    for number in range(12):
        write_skill(
            hermetic / "skills", f"skill-{number}", f"Handles case {number}. Use when asked."
        )
    return hermetic


def _build(root) -> None:
    build_index([root / "skills"], root / "index", BuildOptions())


def _rows(root) -> list[dict]:
    import lancedb

    table = lancedb.connect(str(root / "index" / "table")).open_table("capability_index")
    return sorted(table.search().to_list(), key=lambda row: (row["id"], row["part"]))


def _stale(root) -> str:
    with Index(root / "index") as index:
        return find_stale_rows(index)


def test_who_asks_for_the_table_gets_one_that_equals_the_documents(root, write_skill) -> None:
    path = write_skill(
        root / "skills", "merge-pdfs", "Merges PDFs. Use when asked to.", "Run qpdf."
    )
    _build(root)
    assert not (root / "index" / "table").exists()
    update_table(root / "index")
    assert lance_table.equals_index(root / "index")
    rows = {row["id"]: row for row in _rows(root)}
    row = rows["skill:merge-pdfs"]
    assert (row["kind"], row["name"], row["section"], row["part"]) == (
        "skill",
        "merge-pdfs",
        "",
        0,
    )
    assert row["description"] == "Merges PDFs. Use when asked to."
    assert (row["path"], row["root"]) == (str(path), str(root / "skills"))
    assert len(row["text_hash"]) == 32
    assert row["text"].startswith("Merge Pdfs: Merges PDFs.")
    assert abs(sum(value * value for value in row["vector"]) - 1) < 0.01
    assert len(rows) == 13


def test_the_table_is_behind_after_a_small_change_until_it_is_updated(root, write_skill) -> None:
    _build(root)
    update_table(root / "index")
    write_skill(root / "skills", "skill-3", "Folds paper into cranes. Use when asked.")
    (root / "skills" / "skill-4" / "SKILL.md").unlink()
    _build(root)
    assert not lance_table.equals_index(root / "index")
    assert _stale(root) == "1 removed since, 1 changed since"
    state = update_table(root / "index")
    assert (state.generation, state.rows, state.changes) == (2, 11, 1)
    assert _stale(root) == ""
    assert [row["id"] for row in _rows(root) if "cranes" in row["text"]] == ["skill:skill-3"]


@pytest.mark.parametrize("seed", range(2))
def test_after_random_changes_no_row_is_stale(root, write_skill, monkeypatch, seed) -> None:
    monkeypatch.setattr(lance_table, "CHANGES_BETWEEN_MERGES", 7)
    rng = random.Random(seed)
    body = "# First\n\nShort.\n\n" + "# Deep section\n\nRun qpdf. " * 200
    for turn in range(CHANGES):
        path = root / "skills" / f"skill-{rng.randrange(16)}" / "SKILL.md"
        if path.exists() and rng.random() < 0.3:
            path.unlink()
        else:
            long_body = body if rng.random() < 0.2 else "Do it."
            write_skill(path.parent.parent, path.parent.name, f"Handles turn {turn}.", long_body)
        _build(root)
        if rng.random() < 0.7:
            update_table(root / "index")
    update_table(root / "index")
    assert _stale(root) == ""
    rows = _rows(root)
    build_index([root / "skills"], root / "fresh", BuildOptions())
    with Index(root / "fresh") as index:
        source = table_update.RowSource(index)
        expected = list(source.all_rows())
    assert [(row["id"], row["part"], row["text"], row["section"]) for row in rows] == [
        (row.id, row.part, row.text, row.section) for row in expected
    ]


def test_passages_of_a_body_are_rows_with_their_section(root, write_skill) -> None:
    body = "# Merge\n\n" + "Run qpdf. " * 150 + "\n\n# Decrypt\n\n" + "Use a password. " * 100
    write_skill(root / "skills", "pdf", "Works on PDFs. Use when asked.", body)
    _build(root)
    update_table(root / "index")
    passages = [row for row in _rows(root) if row["labels"][0] == "row:passage"]
    assert {row["section"] for row in passages} == {"Merge", "Decrypt"}
    assert {row["id"] for row in passages} == {"skill:pdf"}
    assert all(row["words"] is None for row in passages)


def test_a_killed_change_is_done_by_the_next_one(root, write_skill, monkeypatch) -> None:
    _build(root)
    update_table(root / "index")
    write_skill(root / "skills", "skill-3", "Folds paper into cranes. Use when asked.")
    _build(root)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(lance_table, "write_state", fail)
        update_table(root / "index")
    assert not lance_table.equals_index(root / "index")
    write_skill(root / "skills", "skill-5", "Boils an egg. Use when asked.")
    _build(root)
    update_table(root / "index")
    assert _stale(root) == ""
    assert len(_rows(root)) == 12


def test_a_damaged_table_is_written_anew(root, write_skill) -> None:
    _build(root)
    update_table(root / "index")
    for path in (root / "index" / "table" / "capability_index.lance" / "data").iterdir():
        path.write_bytes(b"nothing")
    write_skill(root / "skills", "skill-3", "Folds paper into cranes. Use when asked.")
    _build(root)
    update_table(root / "index")
    assert _stale(root) == ""


def test_a_row_that_others_changed_is_found_and_mended(root) -> None:
    import lancedb

    _build(root)
    update_table(root / "index")
    table = lancedb.connect(str(root / "index" / "table")).open_table("capability_index")
    table.update(where="id = 'skill:skill-3'", values={"text": "Something else"})
    state = lance_table.read_state(root / "index")
    values = {name: getattr(state, name) for name in ("pointer", "generation", "rows", "layout")}
    lance_table.write_state(
        root / "index", lance_table.TableState(version=table.version, **values)
    )
    assert _stale(root) == "1 with another text than their hash says"
    update_table(root / "index", verify=True)
    assert _stale(root) == ""


def test_only_one_process_writes_the_table(root) -> None:
    _build(root)
    with (
        lance_table.table_lock(root / "index", 0),
        pytest.raises(BusyError, match="another process"),
    ):
        update_table(root / "index", timeout_s=0)


def test_quotes_in_a_name_stay_inside_their_literal() -> None:
    assert lance_table.any_of("id", ["a'b", 'c"d']) == "id IN ('a''b', 'c\"d')"
    assert lance_table.has_label(["x') OR 1=1 --"]) == (
        "array_has_any(labels, ['x'') OR 1=1 --'])"
    )
