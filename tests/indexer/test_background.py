"""The nearest neighbours of null queries, kept between builds, equal those of a full search."""

from __future__ import annotations

import random
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.indexing.embeddings import NearestText, nearest_to_null_queries, noise_floor
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_writer import write_matrix


def _matrix(folder: Path, rows: dict[str, bytes], dim: int) -> Matrix:
    write_matrix(Matrix(None, dim), folder, dict.fromkeys(rows, 1), rows.__getitem__)
    return Matrix(folder, dim)


def test_after_changes_it_is_what_all_rows_give(tmp_path: Path) -> None:
    chance, encoder = random.Random(3), encoders.load_encoder()
    words = "reads writes turns merges tables images mail pages sound maps kilo sato brefi".split()
    rows: dict[str, bytes] = {}
    before: list[NearestText] = []
    for turn in range(12):
        gone = chance.sample(sorted(rows), k=min(len(rows), turn % 4))
        new = [f"{turn}-{number}" for number in range(chance.randrange(6))]
        rows = {key: row for key, row in rows.items() if key not in gone}
        rows |= {key: encoder.encode_query(" ".join(chance.choices(words, k=4))) for key in new}
        found = _matrix(tmp_path / str(turn), rows, encoder.dim)
        hashes = sorted(rows)
        new_rows = [hashes.index(key) for key in new]
        before = nearest_to_null_queries(
            encoder, found, hashes.__getitem__, new_rows, before, {*gone}
        )
        whole = nearest_to_null_queries(encoder, found, hashes.__getitem__, [], [], set())
        assert [distance for distance, _ in before] == [distance for distance, _ in whole]
        assert noise_floor(before) == noise_floor(whole)


def test_of_no_rows_it_is_nothing(tmp_path: Path) -> None:
    found = _matrix(tmp_path / "none", {}, 4)
    encoder, last = encoders.load_encoder(), [(0.5, "gone")]
    assert nearest_to_null_queries(encoder, found, "".join, [], last, {"gone"}) == ()
    assert noise_floor([]) == 0.0
