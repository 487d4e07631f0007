"""A few changes lie beside the vector store until there are enough to merge them."""

import subprocess
import sys

import pytest

from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.diagnosis import examine_index
from capdisc_indexer.indexing import embeddings
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store import vector_files
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def built(hermetic, write_skill):
    for number in range(12):
        write_skill(
            hermetic / "skills",
            f"skill-{number}",
            f"Handles case {number}. Use when asked for it.",
        )
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    return hermetic


def _change(root, write_skill, number: int, text: str) -> None:
    write_skill(root / "skills", f"skill-{number}", f"{text}. Use when asked for it.")
    build_index([root / "skills"], root / "index", BuildOptions())


def _beside(root) -> int:
    with Index(root / "index") as index:
        return len(vector_files.read_pending(index.folder / "pending")[0])


def _answers(index_dir) -> list[object]:
    encoder = encoders.load_encoder()
    with Index(index_dir) as index:
        rankings = [
            search_index(index, Query(texts=(text,)), encoder)
            for text in ("folds paper", "case 7", "boil an egg")
        ]
        rows = (index.folder / "matrix" / "matrix.i8").read_bytes()
        return [
            index.matrix.names(),
            rows,
            [[(hit.id, hit.score) for hit in each.hits] for each in rankings],
        ]


def test_a_small_change_needs_no_vector_store(built, write_skill, monkeypatch) -> None:
    def refused() -> None:
        raise AssertionError("a second for one file")

    monkeypatch.setattr(lazy_imports, "lancedb", refused)
    _change(built, write_skill, 3, "Folds paper into cranes")
    assert _beside(built) == 1
    (built / "skills" / "skill-4" / "SKILL.md").unlink()
    _change(built, write_skill, 3, "Folds paper into boats")
    assert _beside(built) == 1


def test_after_many_small_changes_all_is_as_after_a_fresh_build(built, write_skill) -> None:
    for number, text in (
        (3, "Folds paper into cranes"),
        (5, "Boils an egg"),
        (3, "Folds paper into boats"),
        (20, "Is new"),
    ):
        _change(built, write_skill, number, text)
    build_index([built / "skills"], built / "fresh", BuildOptions())
    assert _answers(built / "index") == _answers(built / "fresh")


def test_when_much_lies_beside_the_store_it_is_written_anew(
    built, write_skill, monkeypatch
) -> None:
    monkeypatch.setattr(embeddings, "SMALL_CHANGE", 2)
    counts = []
    for number in range(4):
        _change(built, write_skill, number, f"Another task {number}")
        counts.append(_beside(built))
    assert counts == [1, 2, 0, 1]
    with Index(built / "index") as index:
        table = index.folder / "vectors"
        assert vector_files.count_rows(table) == index.generation.counts["stored"] == 12


def test_a_store_that_lacks_a_text_is_found_by_doctor(built, write_skill, monkeypatch) -> None:
    monkeypatch.setattr(vector_files, "write_pending", lambda *_: None)
    _change(built, write_skill, 3, "Folds paper into cranes")
    (stores,) = [
        check for check in examine_index(built / "index", True, 0) if check.name == "stores"
    ]
    assert "lacks 1 of 12 texts" in stores.text


def test_a_run_that_finds_no_change_imports_no_heavy_library(built) -> None:
    code = (
        "import sys; from pathlib import Path; from capdisc_indexer.indexing.pipeline import build_index, BuildOptions\n"
        "print(build_index([Path('skills').resolve()], Path('index'), BuildOptions()).published)\n"
        "print(sorted({'numpy', 'lancedb', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=built, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "[]"]
