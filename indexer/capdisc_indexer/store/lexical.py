"""Read the documents and search their words, in tantivy. User text never reaches its query parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import engines
from capdisc_indexer.containment import contained
from capdisc_indexer.ranking import information
from capdisc_indexer.store import matching, scratch
from capdisc_indexer.store.matching import NEAR
from capdisc_indexer.store.schema import ANALYSER, alias_key, analyser, schema
from capdisc_indexer.text import MAX_QUERY_CHARACTERS, lexical_text, simple_words, without_stop_words
from capdisc_indexer.types import Query

# Heads in the memory of a process that lives long: some 40 MB at most, and a head read anew costs 20 microseconds.
_REMEMBERED = 20_000
_AT_A_TIME = 500
# What was read of a mapped file stays in memory as long as the file is open: of 80,000 documents 560 MB, and 65 where
# it is opened anew after so many, which costs nothing that can be measured.
_PAGED_IN = 4 * _AT_A_TIME
_BITS = 20  # a score is a 32-bit float, which holds whole numbers of 24 bits
_REBUILD = "run: capdisc index --rebuild"


class Documents:
    """An open, read-only view of one text index."""

    def __init__(self, source: Path) -> None:
        self._schema, self._source = schema(), source
        self._heads: dict[tuple[int, int], dict[str, Any]] = {}
        self._known: dict[str, dict[str, Any]] = {}
        self._pieces: dict[str, bytes] = {}
        self._frequencies: dict[str, int] = {}
        with contained("the text index could not be opened", _REBUILD):
            self._searcher = self._opened(source)
        self._analyser = analyser()

    def _opened(self, source: Path) -> Any:
        with scratch.linked(source) as folder:
            index = engines.tantivy().Index(self._schema, path=str(folder), reuse=True)
            index.register_tokenizer(ANALYSER, analyser())
            index.config_reader("manual")
            return index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def words(self, text: str) -> list[str]:
        """The query's words, each once, stop words dropped."""
        kept = without_stop_words(simple_words(lexical_text(text[:MAX_QUERY_CHARACTERS])))
        return list(dict.fromkeys(kept))

    def analyse(self, text: str) -> list[str]:
        """The stemmed terms of the text."""
        terms: list[str] = self._analyser.analyze(text)
        return terms

    def frequency(self, term: str) -> int:
        """How many capabilities use the term, or one that is near to it when it is marked so."""
        if term not in self._frequencies:
            if len(self._frequencies) >= _REMEMBERED:
                self._frequencies.clear()
            self._frequencies[term] = self._count(term)
        return self._frequencies[term]

    def _count(self, term: str) -> int:
        """Asked five times for each unknown word of a query, and a near term costs a search of its own."""
        if not term.endswith(NEAR):
            return int(self._searcher.doc_freq("text", term))
        with contained("the text index could not be searched", _REBUILD):
            wanted = matching.near(self._schema, "text", term, 1.0)
            return int(self._searcher.search(wanted, limit=1, count=True).count)

    def tagged(self, tag: str) -> int:
        """How many capabilities have the tag."""
        return int(self._searcher.doc_freq("tag", tag.lower()))

    def search(self, terms: Sequence[str], query: Query, limit: int) -> list[tuple[float, dict[str, Any]]]:
        """BM25 score and head of the best documents that pass the query's filters, best first."""
        if not terms:
            return []
        should = engines.tantivy().Occur.Should
        clauses = [(should, self._matching(field, term)) for term in terms for field in ("text", "name")]
        return self._run(matching.filtered(self._schema, matching.boolean(clauses), query), limit)

    def passing(self, ids: Sequence[str], query: Query) -> dict[str, dict[str, Any]]:
        """The heads of those of the ids that exist and pass the query's filters."""
        known = {} if matching.filters(query) else {key: self._known[key] for key in ids if key in self._known}
        asked = [key for key in ids if key not in known]
        if not asked:
            return known
        wanted = matching.filtered(self._schema, matching.among(self._schema, "id", asked), query)
        return known | {head["id"]: head for _, head in self._run(wanted, len(asked))}

    def holding(self, terms: Sequence[str], ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """Which of the terms each of the capabilities holds, in any of its text."""
        held = {key: frozenset[str]() for key in self.passing(ids, Query(texts=()))}
        for start in range(0, len(terms), _BITS):
            some = terms[start : start + _BITS]
            queries = [self._matching("text", term) for term in some]
            for bits, head in self._run(matching.marked(self._schema, "id", list(held), queries), max(len(held), 1)):
                held[head["id"]] |= {term for place, term in enumerate(some) if int(bits) >> place & 1}
        return held

    def by_alias(self, name: str) -> list[dict[str, Any]]:
        """The heads of the capabilities with this id or name, in order of their ids."""
        wanted = engines.tantivy().Query.term_query(self._schema, "alias", alias_key(name))
        return sorted((head for _, head in self._run(wanted, 50)), key=lambda head: str(head["id"]))

    def body(self, identifier: str) -> bytes:
        """The long parts of one capability, as stored; empty when there is no such capability."""
        with contained("the text index could not be read", _REBUILD):
            wanted = engines.tantivy().Query.term_query(self._schema, "id", identifier)
            for _, address in self._searcher.search(wanted, limit=1, count=False).hits:
                return bytes(self._searcher.doc(address).get_first("body"))
        return b""

    def whole(self, ids: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any], bytes]]:
        """Head, body and packed bag of each of the capabilities that is there, in the order given; a few in memory."""
        for start in range(0, len(ids), _AT_A_TIME):
            some = ids[start : start + _AT_A_TIME]
            found = self._documents(some)
            yield from (found[key] for key in some if key in found)

    def _documents(self, ids: Sequence[str]) -> dict[str, tuple[dict[str, Any], dict[str, Any], bytes]]:
        import json

        with contained("the text index could not be read", _REBUILD):
            wanted = matching.among(self._schema, "id", ids)
            hits = self._searcher.search(wanted, limit=max(len(ids), 1), count=False).hits
            documents = [self._searcher.doc(address) for _, address in hits]
            heads = [decode_head(document) for document in documents]
            return {
                head["id"]: (head, json.loads(document.get_first("body")), bytes(document.get_first("pieces") or b""))
                for head, document in zip(heads, documents, strict=True)
            }

    def pieces(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The packed bag of each capability, mostly remembered from when its head was read."""
        found = {key: self._pieces[key] for key in ids if key in self._pieces}
        missing = [key for key in ids if key not in found]
        if missing:
            self.passing(missing, Query(texts=()))
        return found | {key: self._pieces.get(key, b"") for key in missing}

    def everything(self, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """The heads of all capabilities that pass the filters, in order of their ids."""
        every = engines.tantivy().Query.all_query()
        wanted = matching.filtered(self._schema, every, query or Query(texts=()))
        heads = [head for _, head in self._run(wanted, max(len(self), 1))]
        yield from sorted(heads, key=lambda head: str(head["id"]))

    def in_order(self, ids: Sequence[str], query: Query) -> Iterator[dict[str, Any]]:
        """The heads of those of the ids that exist and pass the query's filters, in the order given; a few in memory,
        and none remembered."""
        searcher = self._searcher
        for start in range(0, len(ids), _AT_A_TIME):
            some = ids[start : start + _AT_A_TIME]
            with contained("the text index could not be read", _REBUILD):
                if start and start % _PAGED_IN == 0:
                    searcher = self._opened(self._source)
                wanted = matching.filtered(self._schema, matching.among(self._schema, "id", some), query)
                hits = searcher.search(wanted, limit=max(len(some), 1), count=False).hits
                heads = [decode_head(searcher.doc(address)) for _, address in hits]
            by_id = {head["id"]: head for head in heads}
            yield from (by_id[key] for key in some if key in by_id)

    def _run(self, wanted: Any, limit: int) -> list[tuple[float, dict[str, Any]]]:
        with contained("the text index could not be searched", _REBUILD):
            found = self._searcher.search(wanted, limit=limit, count=False).hits
            return [(float(score), self._head(address)) for score, address in found]

    def _head(self, address: Any) -> dict[str, Any]:
        """The head of a document; the clauses of one query meet the same documents again and again."""
        place = _place(address)
        head = self._heads.get(place)
        if head is None:
            if len(self._heads) >= _REMEMBERED:
                for remembered in (self._heads, self._known, self._pieces):
                    remembered.clear()
            document = self._searcher.doc(address)
            head = self._heads[place] = decode_head(document)
            self._known[head["id"]] = head
            self._pieces[head["id"]] = bytes(document.get_first("pieces") or b"")
        return head

    def _matching(self, field: str, term: str) -> Any:
        if not term.endswith(NEAR):
            return matching.exact(self._schema, field, term)
        return matching.near(self._schema, field, term, information(self.frequency(term), len(self)))


def _place(address: Any) -> tuple[int, int]:
    return address.segment_ord, address.doc


def decode_head(document: Any) -> dict[str, Any]:
    """The stored head of a document."""
    import json

    head: dict[str, Any] = json.loads(document.get_first("head"))
    return head
