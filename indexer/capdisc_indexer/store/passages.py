"""The passages of bodies as a generation stores them: their words in a text index of their own, and
their vectors in a matrix of their own.

    passages/text/      one document for each passage: its words, and those of its headings (`name`)
    passages/matrix/    one row for each passage, in the order of the ids and of the bodies

Documents of passages and of capabilities in one text index would change what BM25 makes
of a description: its statistics count documents. A search opens both: 3 ms more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store import text_queries
from capdisc_indexer.store.documents import open_searcher
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.native_errors import translate_native_errors
from capdisc_indexer.store.text_queries import (
    ANALYSER_NAME,
    FUZZY_SUFFIX,
    TermStatistics,
    inverse_document_frequency,
)

# Heads, and frequencies of terms, in the memory of a process that lives long: 10 MB at most.
_CACHE_SIZE = 20_000
_REBUILD_HINT = "run: capdisc index --rebuild"
# What BM25 gives a term that fills a text, as a multiple of its IDF: k1 is 1.2.
_MOST_OF_TERM = 2.2
# Of a term in a heading, besides what it has in the text, as of names in the other index. With 0.6
# more headings were found, and fewer sentences of sections.
HEADING_WEIGHT = 0.3


@frozen
class IndexedPassage:
    """One passage as it is written: the names of its sections, and the text and the headings for
    the text index.
    """

    sections: tuple[str, ...]
    headings: str
    text: str


@frozen
class PassageBlock:
    """All passages of one capability in order, and the row of each (int8, one after the other)."""

    passages: tuple[IndexedPassage, ...] = ()
    rows: bytes = b""


def build_passage_schema() -> Any:
    """The schema of the text index of passages."""
    builder = lazy_imports.tantivy().SchemaBuilder()
    for field in ("owner", "key"):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_text_field("text", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_bytes_field("head", stored=True)
    return builder.build()


def passage_documents(owner: str, passages: Sequence[IndexedPassage]) -> Iterator[Any]:
    """The passages of a capability as documents of tantivy."""
    document_class = lazy_imports.tantivy().Document
    for number, passage in enumerate(passages):
        document = document_class()
        document.add_text("owner", owner)
        document.add_text("key", _make_key(owner, number))
        document.add_text("name", passage.headings)
        document.add_text("text", passage.text)
        head = _write_head(owner, number, passage.sections)
        document.add_bytes("head", head.encode("utf-8", "surrogatepass"))
        yield document


def _make_key(owner: str, number: int) -> str:
    """The key of the passage with this number (from 0) of a capability."""
    return f"{owner}\n{number}"


# Its capability, its number in it (from 0), and its sections.
PassageHead: TypeAlias = tuple[str, int, tuple[str, ...]]


class FoundPassage(NamedTuple):
    """A passage that a search found: its capability, its number in it (from 0), and its sections.

    `share` is its BM25 score relative to that of a passage of nothing but the query, 0..1.
    """

    owner: str
    number: int
    sections: tuple[str, ...]
    share: float


class Passages:
    """The open, read-only passages of one generation; `count` says how many there are.

    The rows of `matrix` are of one zero where there was no encoder.
    """

    def __init__(self, source: Path, count: int, dim: int) -> None:
        self._schema, self._count = build_passage_schema(), count
        self._heads: dict[tuple[int, int], PassageHead] = {}
        self.matrix = Matrix(source / "matrix", dim)
        with translate_native_errors("the passages could not be opened", _REBUILD_HINT):
            self._searcher = open_searcher(source / "text", self._schema)
            self._statistics = TermStatistics(self._searcher, self._schema, source / "text")
        if int(self._searcher.num_docs) != count or len(self.matrix) != count:
            raise IndexStateError("the index is damaged: its stores do not agree", _REBUILD_HINT)

    def __len__(self) -> int:
        return self._count

    @property
    def owner_count(self) -> int:
        """How many capabilities have passages."""
        return self.matrix.owner_count

    def frequency(self, term: str, field: str = "text") -> int:
        """The number of passages with the term, or, with FUZZY_SUFFIX, with a similar one."""
        return self._statistics.frequency(field, term)

    def search(
        self, terms: Sequence[str], limit: int, owners: Sequence[str] = ()
    ) -> list[FoundPassage]:
        """The best passages for the terms by BM25, best first; with `owners`, of these alone."""
        if not terms:
            return []
        clauses = text_queries.word_clauses(self._make_term_query, terms)
        most = _MOST_OF_TERM * sum(
            self._idf(term, "text") + HEADING_WEIGHT * self._idf(term, "name") for term in terms
        )
        with translate_native_errors("the passages could not be searched", _REBUILD_HINT):
            query = text_queries.boolean_query(clauses)
            if owners:
                query = text_queries.restrict_query(self._schema, query, "owner", owners)
            hits = self._searcher.search(query, limit=limit, count=False).hits
            # Those that came later lie behind the others.
            found = sorted((-score, *self._read_head(address)) for score, address in hits)
        return [
            FoundPassage(owner, number, sections, min(1.0, -score / most))
            for score, owner, number, sections in found
        ]

    def matching_terms(
        self, terms: Sequence[str], numbers: Mapping[str, int]
    ) -> dict[str, frozenset[str]]:
        """By owner, the terms that occur in its passage of this number."""
        keys = [_make_key(owner, number) for owner, number in numbers.items()]
        matching: dict[str, frozenset[str]] = {}
        for start in range(0, len(terms), text_queries.SCORE_BITS) if keys else ():
            chunk = terms[start : start + text_queries.SCORE_BITS]
            queries = [self._make_term_query("text", term) for term in chunk]
            query = text_queries.bitmask_query(self._schema, "key", keys, queries)
            with translate_native_errors("the passages could not be searched", _REBUILD_HINT):
                hits = self._searcher.search(query, limit=len(keys), count=False).hits
                heads = [(bits, self._read_head(address)) for bits, address in hits]
            for bits, (owner, _, _) in heads:
                matching[owner] = matching.get(owner, frozenset()) | {
                    term for bit, term in enumerate(chunk) if int(bits) >> bit & 1
                }
        return matching

    def sections(self, owner: str, number: int) -> tuple[str, ...]:
        """The names of the sections of one passage; none for an unknown one."""
        t = lazy_imports.tantivy()
        query = t.Query.term_query(self._schema, "key", _make_key(owner, number))
        with translate_native_errors("the passages could not be searched", _REBUILD_HINT):
            for _, address in self._searcher.search(query, limit=1, count=False).hits:
                return self._read_head(address)[2]
        return ()

    def _read_head(self, address: Any) -> PassageHead:
        """Owner, number and sections of a stored passage, cached: to read and parse them was a
        tenth of a query.
        """
        key = address.segment_ord, address.doc
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _CACHE_SIZE:
                self._heads.clear()
            owner, number, sections = json.loads(self._searcher.doc(address).get_first("head"))
            head = self._heads[key] = owner, number, tuple(sections)
        return head

    def _idf(self, term: str, field: str) -> float:
        return inverse_document_frequency(self.frequency(term, field), self._count)

    def _make_term_query(self, field: str, term: str) -> Any:
        weight = HEADING_WEIGHT if field == "name" else 1.0
        if term.endswith(FUZZY_SUFFIX):
            idf = self._idf(term, "text")
            return text_queries.fuzzy_query(self._schema, field, term, weight * idf)
        return self._statistics.term_query(field, term, weight)


def _write_head(owner: str, number: int, sections: Sequence[str]) -> str:
    """The JSON array that `Passages._read_head` reads, in a quarter of the time that `json.dumps`
    takes.
    """
    names = ", ".join(map(encode_basestring, sections))
    return f"[{encode_basestring(owner)}, {number}, [{names}]]"
