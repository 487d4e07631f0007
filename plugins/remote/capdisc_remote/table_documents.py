"""Reads capabilities out of the LanceDB table, where the text index of a generation is not at
hand: an index on an object store that is queried in place.

Each query reads only the rows that it needs. LanceDB does not say how many capabilities have a
term, so these counts come from a separate list of all terms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Query
from capdisc_indexer.store import lance_table
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.table_search import TableSearch, filter_condition
from capdisc_indexer.store.text_queries import FUZZY_SUFFIX, alias_key, build_analyser

_FIRST_PART = "part = 0"
_SHORT_COLUMNS = ("id", "head", "pieces", "terms")


def encode_frequencies(frequencies: Sequence[tuple[str, int]]) -> bytes:
    """The terms of a text index, each with the number of capabilities that have it, as lines."""
    lines = (f"{term}\t{count}\n" for term, count in sorted(frequencies))
    return "".join(lines).encode("utf-8", "replace")


def decode_frequencies(data: bytes) -> dict[str, int]:
    """The number of capabilities by term. Raises IndexStateError for another content."""
    try:
        rows = (line.split("\t") for line in data.decode().splitlines())
        return {term: int(count) for term, count in rows}
    except ValueError as error:
        raise IndexStateError("the list of terms is damaged", "run: capdisc index") from error


class TableDocuments(Documents):
    """The documents of an open table, for a process that asks a few questions; rows that were read
    stay in memory. `frequencies` are the numbers of capabilities by term, `count` is that of all.
    """

    def __init__(
        self, table: Any, search: TableSearch, frequencies: Mapping[str, int], count: int
    ) -> None:
        self._table, self._table_search, self._count = table, search, count
        self._vocabulary = frequencies
        self._headers_by_id: dict[str, CapabilityHeader] = {}
        self._token_bags: dict[str, bytes] = {}
        self._frequencies = dict(frequencies)
        self._heading_terms: dict[str, frozenset[str]] = {}
        self._terms_by_id: dict[str, frozenset[str]] = {}
        self._analyser = build_analyser()

    def __len__(self) -> int:
        return self._count

    def document_frequency(self, term: str) -> int:
        """The number of capabilities with the term; with FUZZY_SUFFIX, the sum over all similar
        terms.
        """
        if term.endswith(FUZZY_SUFFIX) and term not in self._frequencies:
            self._frequencies[term] = sum(
                self._vocabulary[similar] for similar in self._similar_terms(term)
            )
        return self._frequencies.get(term, 0)

    def _similar_terms(self, term: str) -> list[str]:
        plain = term.removesuffix(FUZZY_SUFFIX)
        return [known for known in self._vocabulary if _is_similar(plain, known)]

    def count_tagged(self, tag: str) -> int:
        """The number of capabilities with the tag."""
        condition = f"{_FIRST_PART} AND {lance_table.has_label([f'tag:{tag.lower()}'])}"
        return int(self._table.count_rows(condition))

    def tags(self, prefix: str = "") -> list[str]:
        """The tags of all capabilities that begin with the prefix, most used first."""
        counts: dict[str, int] = {}
        for (labels,) in lance_table.read_columns(self._table, ("labels",), _FIRST_PART):
            for label in labels:
                if label.startswith(f"tag:{prefix.lower()}"):
                    counts[label[4:]] = counts.get(label[4:], 0) + 1
        return sorted(counts, key=lambda tag: (-counts[tag], tag))

    def search(
        self,
        terms: Sequence[str],
        query: Query,
        limit: int,
        topic_weights: Mapping[str, float] | None = None,
    ) -> list[tuple[float, CapabilityHeader]]:
        """BM25 score and header of the best capabilities that pass the filters, best first; the
        table has no topics.
        """
        scored = self._table_search.search(terms, query, limit)
        headers = self.headers_for([key for _, key in scored], Query(texts=()))
        return [(score, headers[key]) for score, key in scored if key in headers]

    def headers_for(self, ids: Sequence[str], query: Query) -> dict[str, CapabilityHeader]:
        """The headers by id of the capabilities that exist and pass the query's filters."""
        filters = filter_condition(query)
        missing = [key for key in ids if key not in self._headers_by_id]
        if missing:
            self._read_short_rows(lance_table.any_of("id", missing))
        if not filters:
            return {key: self._headers_by_id[key] for key in ids if key in self._headers_by_id}
        condition = f"{_FIRST_PART} AND {lance_table.any_of('id', ids)} AND {filters}"
        passing = {key for (key,) in lance_table.read_columns(self._table, ("id",), condition)}
        return {key: self._headers_by_id[key] for key in ids if key in passing}

    def _read_short_rows(self, condition: str) -> list[str]:
        """Take the headers, token bags and terms of these capabilities into memory; their ids."""
        ids = []
        rows = lance_table.read_columns(
            self._table, _SHORT_COLUMNS, f"{_FIRST_PART} AND {condition}"
        )
        for identifier, head, pieces, terms in rows:
            self._headers_by_id[identifier] = json.loads(head)
            self._token_bags[identifier] = pieces
            self._terms_by_id[identifier] = frozenset(terms.split())
            ids.append(identifier)
        return ids

    def matching_terms(
        self, terms: Sequence[str], ids: Sequence[str]
    ) -> dict[str, frozenset[str]]:
        """By id, the terms that occur in any text of the capability."""
        readings = {
            term: set(self._similar_terms(term)) if term.endswith(FUZZY_SUFFIX) else {term}
            for term in terms
        }
        return {
            key: frozenset(
                term for term, similar in readings.items() if similar & self._terms_by_id[key]
            )
            for key in self.headers_for(ids, Query(texts=()))
        }

    def by_alias(self, name: str) -> list[CapabilityHeader]:
        """The headers of the capabilities with this id or name, in order of their ids."""
        ids = self._read_short_rows(lance_table.has_label([f"alias:{alias_key(name)}"]))
        return [self._headers_by_id[key] for key in sorted(ids)]

    def body(self, identifier: str) -> bytes:
        """The long parts of one capability as JSON; b"" for an unknown one."""
        condition = f"{_FIRST_PART} AND {lance_table.any_of('id', [identifier])}"
        for (body,) in lance_table.read_columns(self._table, ("body",), condition):
            return bytes(body)
        return b""

    def line(self, identifier: str) -> bytes:
        """What the lines of a capability need in addition to its header, and more, as JSON."""
        return self.body(identifier)

    def full_records(
        self, ids: Sequence[str]
    ) -> Iterator[tuple[CapabilityHeader, JsonObject, bytes]]:
        """Header, body and encoded token bag of each existing capability in the order of the
        ids.
        """
        headers = self.headers_for(ids, Query(texts=()))
        for key in ids:
            if key in headers:
                yield headers[key], json.loads(self.body(key)), self._token_bags[key]

    def all_headers(self, query: Query | None = None) -> Iterator[CapabilityHeader]:
        """The headers of all capabilities that pass the filters, in order of their ids."""
        filters = filter_condition(query or Query(texts=()))
        ids = self._read_short_rows(filters or "TRUE")
        yield from (self._headers_by_id[key] for key in sorted(ids))

    def in_order(self, ids: Sequence[str], query: Query) -> Iterator[CapabilityHeader]:
        """The headers of the capabilities that exist and pass the query's filters, in the order of
        the ids.
        """
        yield from self.headers_for(ids, query).values()


def _is_similar(term: str, other: str) -> bool:
    """Whether two terms differ by one letter: changed, added, missing or transposed."""
    if abs(len(term) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(term), len(other)) and term[start] == other[start]:
        start += 1
    left, right = term[start:], other[start:]
    return (
        left[1:] == right[1:]
        or left[1:] == right
        or left == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:])
    )
