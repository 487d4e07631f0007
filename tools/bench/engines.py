"""Time and recall of the two engines by size: the flat matrix, and the LanceDB table, in a warm process.

python tools/bench/engines.py 10000 100000

Rows are synthetic: unit vectors around one centre for each 200 of them, twelve words of 50,000 each,
and a tag that every hundredth has. Queries lie around the same centres. Recall is the share of the
nearest hundred by float vectors.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.quantisation import quantise
from capdisc_indexer.model.types import Query
from capdisc_indexer.store import lance_table
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_writer import write_matrix
from capdisc_indexer.store.table_search import TableSearch
from capdisc_indexer.store.text_queries import IndexedDocument, update_text_index

DIM, WANTED, QUERIES, WORDS = 192, 100, 40, 50_000
TAGGED = Query(texts=(), tags=("rare",))
ALL = Query(texts=())


def main(argv: Sequence[str]) -> int:
    """Print a row for each size and engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--scratch", type=Path, help="a folder for the tables")
    parser.add_argument(
        "--vectors-only", action="store_true", help="without words and their indices"
    )
    options = parser.parse_args(argv)
    print(
        f"{'rows':>9s} {'engine':8s} {'nearest':>9s} {'recall':>7s} {'tagged':>9s} {'words':>9s}"
        f" {'write s':>8s} {'MB':>7s}"
    )
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            measure(size, Path(scratch), not options.vectors_only)
    return 0


def measure(size: int, scratch: Path, with_words: bool) -> None:
    """Print the rows of one size."""
    np = lazy_imports.numpy()
    rng = np.random.default_rng(size)
    centres = rng.normal(size=(max(50, size // 200), DIM)).astype("f4")
    vectors = np.concatenate(
        [_around(rng, centres, min(50_000, size - at)) for at in range(0, size, 50_000)]
    )
    asked = _around(rng, centres, QUERIES)
    vocabulary = [f"word{number}" for number in range(WORDS)]
    texts = [" ".join(vocabulary[number] for number in row) for row in _words(rng, size)]
    questions = [texts[number].split()[:5] for number in rng.integers(size, size=QUERIES)]
    right = [set(np.argpartition(-(vectors @ row), WANTED)[:WANTED].tolist()) for row in asked]
    packed = [row.tobytes() for row in quantise(asked)]

    started = time.perf_counter()
    ids = [_id(number) for number in range(size)]
    rows = dict(zip(ids, map(bytes, quantise(vectors)), strict=True))
    write_matrix(Matrix(None, DIM), scratch / "matrix", dict.fromkeys(ids, 1), rows.__getitem__)
    search_words: Callable[[int], object] | None = None
    if with_words:
        update_text_index(scratch / "text", (), _documents(texts))
    written_s = time.perf_counter() - started
    matrix = Matrix(scratch / "matrix", DIM)
    found = [{_number(key) for key, _ in matrix.nearest(row, WANTED)} for row in packed]
    if with_words:
        search_words = _text_search(scratch / "text", questions)
    _print_row(
        size,
        "matrix",
        _milliseconds(lambda turn: matrix.nearest(packed[turn], WANTED)),
        _recall(found, right),
        None,
        _milliseconds(search_words) if search_words else None,
        written_s,
        scratch / "matrix",
    )

    started = time.perf_counter()
    version, _ = lance_table.write_table(
        scratch, DIM, lambda: _rows(vectors, texts if with_words else [""] * size)
    )
    written_s = time.perf_counter() - started
    table = TableSearch(lance_table.open_version(scratch, version), has_passages=False)
    found = [{_number(key) for key, _ in table.nearest(row, WANTED, ALL)} for row in packed]
    _print_row(
        size,
        "lancedb",
        _milliseconds(lambda turn: table.nearest(packed[turn], WANTED, ALL)),
        _recall(found, right),
        _milliseconds(lambda turn: table.nearest(packed[turn], WANTED, TAGGED)),
        _milliseconds(lambda turn: table.search(questions[turn], ALL, WANTED))
        if with_words
        else None,
        written_s,
        scratch / "table",
    )


def _around(rng: Any, centres: Any, count: int) -> Any:
    np = lazy_imports.numpy()
    noise = rng.normal(size=(count, DIM)).astype("f4")
    vectors = centres[rng.integers(len(centres), size=count)] + noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("f4")


def _words(rng: Any, size: int) -> Iterator[Any]:
    np = lazy_imports.numpy()
    for at in range(0, size, 50_000):
        # Few words are in many texts, as in a language.
        numbers = WORDS * rng.random((min(50_000, size - at), 12)) ** 2
        yield from numbers.astype(np.int64)


def _id(number: int) -> str:
    return f"tool:{number:07d}"


def _number(identifier: str) -> int:
    return int(identifier[5:])


def _documents(texts: Sequence[str]) -> Iterator[IndexedDocument]:
    for number, text in enumerate(texts):
        yield IndexedDocument(
            id=_id(number),
            facets={"kind": ("tool",)},
            aliases=(),
            name=text[:20],
            text=text,
            head=b'{"id":"%s"}' % _id(number).encode(),
            body=b"{}",
            topics="",
            pieces=b"",
            line=b"{}",
        )


def _text_search(folder: Path, questions: Sequence[list[str]]) -> Callable[[int], object]:
    from capdisc_indexer.store.documents import Documents

    documents = Documents(folder)
    return lambda turn: documents.search(questions[turn], ALL, WANTED)


def _rows(vectors: Any, texts: Sequence[str]) -> Iterator[lance_table.CapabilityRow]:
    for number, text in enumerate(texts):
        labels = [lance_table.ROW_CAPABILITY, "kind:tool"]
        yield lance_table.CapabilityRow(
            id=_id(number),
            part=0,
            kind="tool",
            name=_id(number),
            description=text,
            category="",
            tags=(),
            risk="",
            root="",
            path="",
            section="",
            text=text,
            text_hash="",
            vector=vectors[number].tobytes(),
            digest="",
            labels=[*labels, "tag:rare"] if number % 100 == 0 else labels,
            words=text,
            terms=text,
            name_terms=text[:20],
            head=None,
            body=None,
            pieces=None,
        )


def _milliseconds(work: Callable[[int], object]) -> tuple[float, float]:
    """The least and the middle time of the queries, each asked three times."""
    times = []
    for turn in [*range(QUERIES)] * 3:
        started = time.perf_counter()
        work(turn)
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    return times[0], times[len(times) // 2]


def _recall(found: Sequence[set[int]], right: Sequence[set[int]]) -> float:
    return sum(len(ids & wanted) for ids, wanted in zip(found, right, strict=True)) / (
        WANTED * len(right)
    )


def _print_row(
    size: int,
    engine: str,
    nearest: tuple[float, float],
    recall: float,
    tagged: tuple[float, float] | None,
    words: tuple[float, float] | None,
    written_s: float,
    folder: Path,
) -> None:
    times = [f"{span[0]:.1f}/{span[1]:.1f}" if span else "" for span in (nearest, tagged, words)]
    megabytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    print(
        f"{size:9,d} {engine:8s} {times[0]:>9s} {recall:7.3f} {times[1]:>9s} {times[2]:>9s}"
        f" {written_s:8.1f} {megabytes:7.0f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
