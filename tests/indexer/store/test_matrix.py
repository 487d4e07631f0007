"""The vector matrix returns the nearest rows, whatever its size."""

import random
from array import array

import numpy
import pytest

from capdisc_indexer import lazy_imports
from capdisc_indexer.store.matrix import Matrix, nearest_rows
from capdisc_indexer.store.matrix_writer import write_matrix

DIM = 16


@pytest.fixture(autouse=True, params=["with arrays", "without"])
def _way(request, monkeypatch) -> None:
    """Both ways are taken, whatever this process has imported."""
    monkeypatch.setattr(
        lazy_imports, "numpy_if_loaded", lambda: numpy if request.param == "with arrays" else None
    )


def _vectors(count: int, seed: int = 3) -> bytes:
    rng = random.Random(seed)
    return array("b", [rng.randint(-127, 127) for _ in range(count * DIM)]).tobytes()


@pytest.mark.parametrize("total", [1, 999, 1_001, 20_011])
@pytest.mark.parametrize("count", [1, 100, 5_000])
def test_no_row_left_out_is_nearer_than_one_that_is_told(total, count) -> None:
    rng = random.Random(total)
    distances = memoryview(
        array("d", [rng.choice((0.0, 0.25, rng.random())) for _ in range(total)])
    )
    exact = sorted(range(total), key=distances.__getitem__)
    nearest = nearest_rows(distances, count)
    assert nearest[:count] == exact[:count]
    assert len(nearest) >= min(count, total)


def test_each_capability_is_told_once_by_its_best_row(tmp_path) -> None:
    rows = _vectors(6_000)
    numbers = {f"skill:ß-{number}": number for number in range(100)}
    size = 60 * DIM
    write_matrix(
        Matrix(None, DIM),
        tmp_path / "matrix",
        dict.fromkeys(numbers, 60),
        lambda key: rows[size * numbers[key] : size * (numbers[key] + 1)],
    )
    matrix = Matrix(tmp_path / "matrix", DIM)
    nearest = matrix.nearest(rows[:DIM], 50)
    assert nearest[0] == ("skill:ß-0", pytest.approx(1.0))
    assert len({name for name, _ in nearest}) == 50
    all_capabilities = dict(matrix.nearest(rows[:DIM], 100))
    assert list(all_capabilities.items())[:50] == nearest
    distances = matrix.distances(rows[:DIM])
    own = matrix.rows_of("skill:ß-7")
    nearest_own = min(distances[own.start : own.stop])
    assert all_capabilities["skill:ß-7"] == pytest.approx(1.0 - nearest_own)


def test_an_empty_matrix_is_near_to_nothing(tmp_path) -> None:
    write_matrix(Matrix(None, DIM), tmp_path / "matrix", {}, lambda key: b"")
    matrix = Matrix(tmp_path / "matrix", DIM)
    assert (len(matrix), matrix.names(), matrix.nearest(b"\1" * DIM, 5)) == (0, [], [])
