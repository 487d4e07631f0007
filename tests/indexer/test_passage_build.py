"""The passages of an index that was brought up to date are those of a build from nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.diagnosis import examine_index
from capdisc_indexer.indexing import passage_changes
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.types import BuildOptions, BuildReport, PassageLimits, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

WORDS = (
    "crane wing paper fold ledger invoice kettle boil rotate shard index decrypt harbour".split()
)


def _body(rng: random.Random) -> str:
    return "\n\n".join(
        f"## {rng.choice(WORDS).title()} {number}\n\n{' '.join(rng.choices(WORDS, k=90))}."
        for number in range(rng.randrange(1, 6))
    )


@pytest.fixture
def tree(hermetic, write_skill):
    """A folder of skills with long bodies, the function that writes one, and the place of its index."""
    rng = random.Random(5)

    def write(number: int, body: str | None = None) -> None:
        text = _body(rng) if body is None else body
        write_skill(hermetic / "skills", f"skill-{number:02}", f"Handles case {number}.", text)

    for number in range(14):
        write(number)
    return hermetic, write


def _build(root: Path, where: str = "index", **options: Any) -> BuildReport:
    return build_index([root / "skills"], root / where, BuildOptions(**options))


def _rows(index_dir: Path) -> bytes:
    with Index(index_dir) as index:
        assert index.passages is not None
        return bytes(index.passages.matrix.bytes_of(0, len(index.passages)))


def test_few_deleted_passages_stay_in_a_linked_index_and_are_not_found(tree, monkeypatch) -> None:
    monkeypatch.setattr(passage_changes, "SMALL_COUNT", 0)
    monkeypatch.setattr(passage_changes, "MAX_DELETED_SHARE", 0.9)
    root, write = tree
    write(3, "\n\n".join(f"## Part {n}\n\n{'Zanzibar ferry. ' * 60}" for n in range(3)))
    _build(root)
    with Index(root / "index") as index:
        assert index.mentions("zanzibar")
    write(3, "Short now.")
    report = _build(root)
    assert report.generation.counts["deleted_passages"] == 3
    with Index(root / "index") as index:
        assert index.passages is not None and not index.passages.search(["zanzibar"], 5)
        assert "skill:skill-03" not in index.passages.matrix.rows_by_owner()
    _build(root, "fresh")
    assert _rows(root / "index") == _rows(root / "fresh")


def test_a_change_without_passages_links_all_of_them(tree) -> None:
    root, write = tree
    write(30, "Short.")
    first = _build(root).generation
    write(30, "Short again.")
    second = _build(root).generation
    names = [name for name in second.files if name.startswith("passages/")]
    assert names and first.number != second.number
    for name in names:
        paths = [root / "index" / "gens" / f"{each.number:08d}" / name for each in (first, second)]
        assert paths[0].samefile(paths[1])


def test_without_long_bodies_there_are_no_files_of_passages(hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "short")
    report = _build(hermetic)
    assert report.generation.counts["passages"] == 0
    assert not [name for name in report.generation.files if name.startswith("passages/")]
    with Index(hermetic / "index") as index:
        assert index.passages is None


def test_when_the_last_long_body_goes_so_do_the_passages(hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "long", body="\n\n".join(4 * [_body(random.Random(1))]))
    assert _build(hermetic).generation.counts["passages"] > 1
    write_skill(hermetic / "skills", "long", body="Short.")
    assert _build(hermetic).generation.counts["passages"] == 0


def test_limits_hold_for_each_body_and_last_until_they_are_changed(tree) -> None:
    root, write = tree
    write(5, _body(random.Random(2)) + "\n\n" + "\n\n".join(5 * [_body(random.Random(3))]))
    unlimited = _build(root).generation.counts["passages"]
    limited = _build(root, passage_limits=PassageLimits(2)).generation
    assert limited.counts["passages"] < unlimited
    with Index(root / "index") as index:
        assert index.passages is not None
        assert set(index.passages.matrix.rows_by_owner().values()) == {2}
    assert not _build(root).published
    assert _build(root, passage_limits=PassageLimits(0)).generation.counts["passages"] == 0
    few_bytes = _build(root, passage_limits=PassageLimits(200, 1_500)).generation.counts[
        "passages"
    ]
    assert 0 < few_bytes < unlimited


def test_without_the_encoder_passages_are_found_by_words(tree, monkeypatch) -> None:
    def missing() -> None:
        raise EncoderError("missing", "reinstall")

    root, write = tree
    write(3, "\n\n".join(f"## Part {n}\n\n{'Zanzibar ferry. ' * 60}" for n in range(3)))
    monkeypatch.setattr(encoders, "load_shipped_encoder", missing)
    monkeypatch.setattr(encoders, "load_encoder", lambda name=None: missing())
    _build(root)
    with Index(root / "index") as index:
        ranking = search_index(index, Query(texts=("zanzibar ferry",)), None)
    assert ranking.hits[0].id == "skill:skill-03" and ranking.hits[0].section == "Part 0"


def test_the_doctor_notices_passages_that_are_gone(tree) -> None:
    root, _ = tree
    generation = _build(root).generation
    folder = root / "index" / "gens" / f"{generation.number:08d}"
    (folder / "passages" / "matrix" / "owners.u32").unlink()
    checks = examine_index(root / "index", False, 0)
    assert any("passages/matrix/owners.u32" in check.text for check in checks)
