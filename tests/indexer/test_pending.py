"""What a small change leaves in the stores of texts and vectors."""

import subprocess
import sys

import pytest

from capdisc_indexer.diagnosis import examine_index
from capdisc_indexer.indexing import document_changes
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.matrix import Matrix


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


def test_the_text_index_of_a_small_catalogue_is_always_rewritten(
    built, write_skill, monkeypatch
) -> None:
    """Deleted documents count in the statistics of words: of few, each one changes the scores."""
    monkeypatch.setattr(document_changes, "MAX_DELETED_SHARE", 1.0)
    write_skill(built / "skills", "skill-3", "Folds paper into cranes. Use when asked for it.")
    report = build_index([built / "skills"], built / "index", BuildOptions())
    assert (report.counts["updated"], report.generation.counts["deleted"]) == (1, 0)


def test_a_text_without_a_vector_is_found_by_doctor(built, monkeypatch) -> None:
    rows = Matrix.rows_by_owner
    monkeypatch.setattr(Matrix, "rows_by_owner", lambda self: {**rows(self), "skill:skill-3": 0})
    (stores,) = [
        check for check in examine_index(built / "index", True, 0) if check.name == "stores"
    ]
    assert "1 of 12 texts have no vector" in stores.text


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
