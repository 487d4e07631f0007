"""Searches the LanceDB table: the nearest vectors, full text, and filters as conditions of SQL.

It answers what the text index and the matrix answer for candidates, with LanceDB's own indices;
the stages after that are the same. The version that is read is the one that equals the open
generation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.types import Generation, Query
from capdisc_indexer.store import lance_table
from capdisc_indexer.store.lance_table import TERM_COLUMNS
from capdisc_indexer.store.native_errors import translate_native_errors
from capdisc_indexer.store.text_queries import (
    FUZZY_SUFFIX,
    FUZZY_WEIGHT,
    NAME_WEIGHT,
    alias_key,
    field_filters,
)

# How many parts of an approximate index are searched, or which share where that is more; more still
# while a filter leaves too few rows. Of a million rows, 20 of 1,000 parts have 78 of
# the nearest hundred (tools/bench/engines.py).
_SEARCHED_PARTS, _SEARCHED_SHARE = 20, 1 / 8
# Rows for each capability that is wanted: one may have a row for each of its example requests.
_ROWS_PER_CAPABILITY = 4


class TableSearch:
    """An open version of the table, for searches by several threads or none at a time."""

    def __init__(self, table: Any, has_passages: bool) -> None:
        self._table = table
        self._query_types = lazy_imports.lancedb_query()
        parts = math.isqrt(table.count_rows())
        self._searched_parts = max(_SEARCHED_PARTS, int(_SEARCHED_SHARE * parts))
        rows = (lance_table.ROW_CAPABILITY, lance_table.ROW_PHRASE)
        self._capability_rows = lance_table.has_label(rows) if has_passages else ""

    def nearest(self, vector: bytes, count: int, query: Query) -> list[tuple[str, float]]:
        """Ids and cosines of the `count` capabilities nearest to the vector (dim int8) that pass
        the filters, best first. A capability counts by its nearest row.
        """
        if not any(vector):
            return []
        np = lazy_imports.numpy()
        floats = np.frombuffer(vector, np.int8).astype(np.float32)
        condition, row_count = self._condition(query), _ROWS_PER_CAPABILITY * count
        while True:
            rows = self._nearest_rows(floats, row_count, condition)
            best: dict[str, float] = {}
            for identifier, distance in rows:
                best.setdefault(identifier, 1.0 - distance)
            if len(best) >= count or len(rows) < row_count:
                return list(best.items())[:count]
            row_count *= 4

    def _nearest_rows(
        self, floats: Any, count: int, condition: str
    ) -> Sequence[tuple[str, float]]:
        with _translate_errors():
            search = self._table.search(floats, vector_column_name="vector")
            search = search.distance_type("cosine").nprobes(self._searched_parts)
            if condition:
                # As many more parts as it takes to fill the rows that are wanted.
                search = search.maximum_nprobes(0).where(condition)
            rows = search.select(["id", "_distance"]).limit(count).to_arrow()
            columns = (rows.column(name).to_pylist() for name in ("id", "_distance"))
            # Equal distances come in no certain order.
            return sorted(zip(*columns, strict=True), key=lambda row: (row[1], row[0]))

    def search(self, terms: Sequence[str], query: Query, limit: int) -> list[tuple[float, str]]:
        """BM25 score and id of the best capabilities for the terms that pass the filters, best
        first.
        """
        if not terms:
            return []
        types = self._query_types
        plain = " ".join(term for term in terms if not term.endswith(FUZZY_SUFFIX))
        fuzzy = [term for term in terms if term.endswith(FUZZY_SUFFIX)]
        clauses = [
            (types.Occur.SHOULD, self._match(text, column, weight))
            for text in [plain, *fuzzy]
            for column, weight in zip(TERM_COLUMNS, (1.0, NAME_WEIGHT), strict=True)
            if text
        ]
        with _translate_errors():
            search = self._table.search(types.BooleanQuery(clauses), query_type="fts")
            if condition := filter_condition(query):
                search = search.where(condition)
            rows = search.select(["id", "_score"]).limit(limit).to_arrow()
            columns = (rows.column(name).to_pylist() for name in ("_score", "id"))
            return sorted(zip(*columns, strict=True), key=lambda row: (-row[0], row[1]))

    def _match(self, text: str, column: str, weight: float) -> Any:
        """A query for any of the terms in the text; for one with FUZZY_SUFFIX, for terms at a
        distance of one letter.
        """
        if not text.endswith(FUZZY_SUFFIX):
            return self._query_types.MatchQuery(text, column, boost=weight)
        return self._query_types.MatchQuery(
            text.removesuffix(FUZZY_SUFFIX), column, boost=weight * FUZZY_WEIGHT, fuzziness=1
        )

    def _condition(self, query: Query) -> str:
        return " AND ".join(filter(None, (self._capability_rows, filter_condition(query))))


def open_local_search(index_dir: Path, generation: Generation) -> TableSearch | None:
    """The search of the table of a local index; None where the table is of another generation."""
    state = lance_table.read_state(index_dir)
    if state is None or state.generation != generation.number:
        return None
    table = lance_table.open_version(index_dir, state.version)
    return TableSearch(table, has_passages=bool(generation.counts["passages"]))


def filter_condition(query: Query) -> str:
    """The filters of a query as a condition, "" without any."""
    parts = [
        lance_table.has_label(f"{name}:{value}" for value in values)
        for name, values in field_filters(query)
    ]
    for word, names in (("", query.ids), ("NOT ", query.exclude)):
        if names:
            aliases = [f"alias:{alias_key(name)}" for name in names]
            parts.append(f"{word}{lance_table.has_label(aliases)}")
    return " AND ".join(parts)


def _translate_errors() -> Any:
    return translate_native_errors(
        "the LanceDB table could not be searched", lance_table.READ_HINT, IndexStateError
    )
