"""Reads the documents of an index and searches their words, in tantivy.

The text of a user never reaches the query parser of tantivy. Its files are opened through a folder
of links, since tantivy waits for lock files that others may hold.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Query
from capdisc_indexer.platforms import system
from capdisc_indexer.store import text_queries
from capdisc_indexer.store.native_errors import translate_native_errors
from capdisc_indexer.store.text_queries import (
    ANALYSER_NAME,
    FUZZY_SUFFIX,
    NAME_WEIGHT,
    TermStatistics,
    alias_key,
    build_analyser,
    build_schema,
    inverse_document_frequency,
)
from capdisc_indexer.text.normalization import (
    MAX_QUERY_CHARACTERS,
    compile_late,
    lexical_text,
    simple_words,
    without_stop_words,
)

T = TypeVar("T")

# Paths are plain text here, since this is part of every cold query.
# ruff: noqa: PTH102, PTH106, PTH108

# The import of tempfile takes 5 ms, half of what a bare interpreter takes. In memory a link is
# made and removed in 10 microseconds, on an overlay of a container in 300.
_TEMPORARY_FOLDERS = ("/dev/shm", "/tmp")
# A folder is needed for a moment: one this old was left by a reader that was killed.
_ABANDONED_AFTER_S = 3600
_FOLDER_NAME = compile_late(r"capdisc-\d+-\d+")
# Headers in the memory of a long-lived process: some 50 MB at most; reading a header again takes
# 20 microseconds.
_CACHE_SIZE = 20_000
_BATCH_SIZE = 500
# Pages of a mapped file stay in memory as long as the file is open: for 80,000 documents 560 MB.
# With the file reopened after this number of documents it is 65 MB, at no measurable cost.
_REOPEN_AFTER = 4 * _BATCH_SIZE
_REBUILD_HINT = "run: capdisc index --rebuild"


def open_searcher(source: Path, schema: Any) -> Any:
    """A searcher of the text index with this schema, as it is now.

    tantivy opens a lock file for writing and waits without limit for its holder. In a temporary
    folder of links to the files of `source` without its locks a reader waits for nobody, and
    writes nothing into the index. It is needed only while the files are opened: 0.5 ms. Where no
    folder or link can be made, the index itself is opened.
    """
    path, folder = str(source), ""
    try:
        with suppress(OSError):
            folder, top = _make_folder(), system.realpath(source)
            for name in os.listdir(top):
                if not name.endswith(".lock"):
                    system.make_symlink(f"{top}/{name}", f"{folder}/{name}")
            path = folder
        index = lazy_imports.tantivy().Index(schema, path=path, reuse=True)
        index.register_tokenizer(ANALYSER_NAME, build_analyser())
        index.config_reader("manual")
        return index.searcher()
    finally:
        if folder:
            _remove_folder(folder)


def _make_folder() -> str:
    """A new folder that only its owner may enter."""
    for parent in _TEMPORARY_FOLDERS:
        folder = f"{parent}/capdisc-{os.getpid()}-{time.monotonic_ns()}"
        with suppress(OSError):
            os.mkdir(folder, 0o700)
            return folder
    import tempfile

    return tempfile.mkdtemp(prefix="capdisc-")


def _remove_folder(folder: str) -> None:
    # A thread of tantivy may make its lock file again between the last unlink and the rmdir.
    for _ in range(10):
        with suppress(OSError):
            for name in os.listdir(folder):
                os.unlink(f"{folder}/{name}")
            os.rmdir(folder)
            return


def remove_abandoned_folders() -> None:
    """Remove the temporary folders of readers of this user that were killed."""
    for parent in _TEMPORARY_FOLDERS:
        with suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                if _FOLDER_NAME.fullmatch(entry.name):
                    status = entry.stat(follow_symlinks=False)
                    is_old = status.st_mtime < time.time() - _ABANDONED_AFTER_S
                    if is_old and status.st_uid == system.own_user():
                        _remove_folder(entry.path)


class Documents:
    """An open, read-only view of one text index."""

    def __init__(self, source: Path) -> None:
        self._schema, self._source = build_schema(), source
        self._headers: dict[tuple[int, int], CapabilityHeader] = {}
        self._headers_by_id: dict[str, CapabilityHeader] = {}
        self._token_bags: dict[str, bytes] = {}
        self._lines: dict[str, bytes] = {}
        self._heading_terms: dict[str, frozenset[str]] = {}
        with translate_native_errors("the text index could not be opened", _REBUILD_HINT):
            self._searcher = open_searcher(source, self._schema)
            self._statistics = TermStatistics(self._searcher, self._schema, source)
        self._analyser = build_analyser()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def words(self, text: str) -> list[str]:
        """The different words of the text without stop words."""
        content_words = without_stop_words(simple_words(lexical_text(text[:MAX_QUERY_CHARACTERS])))
        return list(dict.fromkeys(content_words))

    def analyse(self, text: str) -> list[str]:
        """The stemmed terms of the text."""
        terms: list[str] = self._analyser.analyze(text)
        return terms

    def heading_terms(self, heading: str) -> frozenset[str]:
        """The stemmed terms of a heading, cached: a query compares a hundred of them."""
        terms = self._heading_terms.get(heading)
        if terms is None:
            if len(self._heading_terms) >= _CACHE_SIZE:
                self._heading_terms.clear()
            terms = self._heading_terms[heading] = frozenset(self.analyse(heading))
        return terms

    def document_frequency(self, term: str) -> int:
        """The number of capabilities with the term, or, with FUZZY_SUFFIX, with a similar one."""
        return self._statistics.frequency("text", term)

    def count_tagged(self, tag: str) -> int:
        """The number of capabilities with the tag."""
        return self._statistics.frequency("tag", tag.lower())

    def tags(self, prefix: str = "") -> list[str]:
        """The tags of all capabilities that begin with the prefix, most used first."""
        return [tag for tag, _ in self._searcher.terms_with_prefix("tag", prefix.lower())]

    def term_frequencies(self) -> list[tuple[str, int]]:
        """Every term with the number of capabilities that have it."""
        frequencies: list[tuple[str, int]] = self._searcher.terms_with_prefix("text", "")
        return frequencies

    def search(
        self,
        terms: Sequence[str],
        query: Query,
        limit: int,
        topic_weights: Mapping[str, float] | None = None,
    ) -> list[tuple[float, CapabilityHeader]]:
        """BM25 score and header of the best documents that pass the filters, best first. The
        topics of bodies count for the terms of `topic_weights`, each with its weight.
        """
        if not terms:
            return []
        weights = topic_weights or {}
        clauses = [
            *text_queries.word_clauses(self._make_term_query, terms),
            *text_queries.word_clauses(
                lambda field, term: self._statistics.term_query(field, term, weights[term]),
                list(weights),
                ("topics",),
            ),
        ]
        hits = self._search_headers(
            text_queries.apply_filters(self._schema, text_queries.boolean_query(clauses), query),
            limit,
        )
        # Documents that came later lie behind the others.
        return sorted(hits, key=lambda hit: (-hit[0], hit[1]["id"]))

    def headers_for(self, ids: Sequence[str], query: Query) -> dict[str, CapabilityHeader]:
        """The headers by id of the capabilities that exist and pass the query's filters."""
        cached = (
            {}
            if text_queries.has_filters(query)
            else {key: self._headers_by_id[key] for key in ids if key in self._headers_by_id}
        )
        missing = [key for key in ids if key not in cached]
        if not missing:
            return cached
        engine_query = text_queries.apply_filters(
            self._schema, text_queries.any_of_query(self._schema, "id", missing), query
        )
        return cached | {
            header["id"]: header for _, header in self._search_headers(engine_query, len(missing))
        }

    def matching_terms(
        self, terms: Sequence[str], ids: Sequence[str]
    ) -> dict[str, frozenset[str]]:
        """By id, the terms that occur in any text of the capability."""
        terms_by_id = {key: frozenset[str]() for key in self.headers_for(ids, Query(texts=()))}
        for start in range(0, len(terms), text_queries.SCORE_BITS):
            chunk = terms[start : start + text_queries.SCORE_BITS]
            queries = [self._make_term_query("text", term) for term in chunk]
            for bits, header in self._search_headers(
                text_queries.bitmask_query(self._schema, "id", list(terms_by_id), queries),
                len(terms_by_id),
            ):
                terms_by_id[header["id"]] |= {
                    term for bit, term in enumerate(chunk) if int(bits) >> bit & 1
                }
        return terms_by_id

    def by_alias(self, name: str) -> list[CapabilityHeader]:
        """The headers of the capabilities with this id or name, in order of their ids."""
        engine_query = lazy_imports.tantivy().Query.term_query(
            self._schema, "alias", alias_key(name)
        )
        return sorted(
            (header for _, header in self._search_headers(engine_query, 50)),
            key=lambda header: header["id"],
        )

    def body(self, identifier: str) -> bytes:
        """The long parts of one capability as JSON; b"" when there is no such capability."""
        for _, body in self._read_in_order([identifier], Query(texts=()), _read_body):
            return body
        return b""

    def line(self, identifier: str) -> bytes:
        """What the lines of a capability that exists need besides its header, as JSON."""
        if identifier not in self._lines:
            self.headers_for([identifier], Query(texts=()))
        return self._lines[identifier]

    def full_records(
        self, ids: Sequence[str]
    ) -> Iterator[tuple[CapabilityHeader, JsonObject, bytes]]:
        """Header, body and encoded token bag of each existing capability in the order of the ids.

        Only a few are in memory at a time.
        """
        records = self._read_in_order(ids, Query(texts=()), _decode_long_parts)
        return ((header, *parts) for header, parts in records)

    def token_bags(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The encoded token bag of each capability, b"" for an unknown id; most are cached since
        their header was read.
        """
        cached = {key: self._token_bags[key] for key in ids if key in self._token_bags}
        missing = [key for key in ids if key not in cached]
        if missing:
            self.headers_for(missing, Query(texts=()))
        return cached | {key: self._token_bags.get(key, b"") for key in missing}

    def all_headers(self, query: Query | None = None) -> Iterator[CapabilityHeader]:
        """The headers of all capabilities that pass the filters, in order of their ids."""
        all_documents = lazy_imports.tantivy().Query.all_query()
        engine_query = text_queries.apply_filters(
            self._schema, all_documents, query or Query(texts=())
        )
        headers = [header for _, header in self._search_headers(engine_query, len(self))]
        yield from sorted(headers, key=lambda header: header["id"])

    def in_order(self, ids: Sequence[str], query: Query) -> Iterator[CapabilityHeader]:
        """The headers of the capabilities that exist and pass the query's filters, in the order of
        the ids; only a few are in memory at a time, and none is cached.
        """
        return (header for header, _ in self._read_in_order(ids, query, lambda _: None))

    def _read_in_order(
        self, ids: Sequence[str], query: Query, decode: Callable[[Any], T]
    ) -> Iterator[tuple[CapabilityHeader, T]]:
        """The same headers, each with what `decode` makes of its document."""
        searcher = self._searcher
        for start in range(0, len(ids), _BATCH_SIZE):
            chunk = ids[start : start + _BATCH_SIZE]
            with translate_native_errors("the text index could not be read", _REBUILD_HINT):
                if start and start % _REOPEN_AFTER == 0:
                    searcher = open_searcher(self._source, self._schema)
                engine_query = text_queries.apply_filters(
                    self._schema, text_queries.any_of_query(self._schema, "id", chunk), query
                )
                hits = searcher.search(engine_query, limit=len(chunk), count=False).hits
                documents = (searcher.doc(address) for _, address in hits)
                records = [(decode_header(document), decode(document)) for document in documents]
            by_id = {record[0]["id"]: record for record in records}
            yield from (by_id[key] for key in chunk if key in by_id)

    def _search_headers(
        self, engine_query: Any, limit: int
    ) -> list[tuple[float, CapabilityHeader]]:
        with translate_native_errors("the text index could not be searched", _REBUILD_HINT):
            hits = self._searcher.search(engine_query, limit=max(limit, 1), count=False).hits
            return [(float(score), self._read_header(address)) for score, address in hits]

    def _read_header(self, address: Any) -> CapabilityHeader:
        """The header of a document, cached: the clauses of one query find the same documents again
        and again.
        """
        key = address.segment_ord, address.doc
        header = self._headers.get(key)
        if header is None:
            if len(self._headers) >= _CACHE_SIZE:
                for cache in (self._headers, self._headers_by_id, self._token_bags, self._lines):
                    cache.clear()
            document = self._searcher.doc(address)
            header = self._headers[key] = decode_header(document)
            self._headers_by_id[header["id"]] = header
            self._token_bags[header["id"]] = bytes(document.get_first("pieces") or b"")
            self._lines[header["id"]] = bytes(document.get_first("line"))
        return header

    def _make_term_query(self, field: str, term: str) -> Any:
        if not term.endswith(FUZZY_SUFFIX):
            weight = NAME_WEIGHT if field == "name" else 1.0
            return self._statistics.term_query(field, term, weight)
        return text_queries.fuzzy_query(
            self._schema,
            field,
            term,
            inverse_document_frequency(self.document_frequency(term), len(self)),
        )


def _read_body(document: Any) -> bytes:
    from zlib import decompress  # which no search needs

    return decompress(document.get_first("body"))


def _decode_long_parts(document: Any) -> tuple[JsonObject, bytes]:
    return json.loads(_read_body(document)), bytes(document.get_first("pieces") or b"")


def decode_header(document: Any) -> CapabilityHeader:
    """The stored header of a document."""
    header: CapabilityHeader = json.loads(document.get_first("head"))
    return header
