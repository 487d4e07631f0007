"""Defines the text index: its schema and analyser, its queries, and how documents are written.

Three analysed fields earn their place: `text` with everything, `name` alone at 0.3 of the weight,
and `topics` with the words that a body uses most, for long texts only. More fields, or a heavier
name, lost up to 12 points. A document is stored in four values: `head` (the header: all but the
long parts, enough to list, filter and summarise), `body` (content and schemas), `pieces` (its
token bag) and `line` (what its lines in a context need besides the header). tantivy reads all of
them to give one: a body that was not deflated took 27 of 35 microseconds. Queries are built from
terms and filters; nothing that a user typed is ever parsed as query syntax.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.risks import counted_risk, risks_up_to
from capdisc_indexer.model.types import FACETS, Descriptor, Query
from capdisc_indexer.platforms import to_nfc
from capdisc_indexer.store.native_errors import require_address_space, translate_native_errors
from capdisc_indexer.text.normalization import lexical_text

ANALYSER_NAME = "capdisc"
NAME_WEIGHT = 0.3


# The names that facets have in the index, where those are not the names of the fields.
_FACET_NAMES = {"tags": "tag"}
# Marks a term that also matches with one letter changed, missing, added or swapped. No analysed
# term contains this character.
FUZZY_SUFFIX = "~"
# The weight of such a match; an exact one has 1.
FUZZY_WEIGHT = 0.6
# Frequencies in the memory of a process that lives long.
_CACHE_SIZE = 20_000
_SEARCH_HINT = "run: capdisc index --rebuild"
SCORE_BITS = 20  # a score is a 32-bit float, which is exact for whole numbers of 24 bits
_HEAP_BYTES = 64_000_000


def facet_values(descriptor: Descriptor) -> dict[str, tuple[str, ...]]:
    """The values of a capability by the name of each facet in the index."""
    values: dict[str, tuple[str, ...]] = {
        "risk": (counted_risk(descriptor.kind, descriptor.risk),)
    }
    for field, _ in FACETS:
        value = getattr(descriptor, field)
        values[_facet_name(field)] = value if isinstance(value, tuple) else (value,)
    return values


def _facet_name(field: str) -> str:
    return _FACET_NAMES.get(field, field)


def build_schema() -> Any:
    """The schema of the text index."""
    builder = lazy_imports.tantivy().SchemaBuilder()
    for field in ("id", *(_facet_name(field) for field, _ in FACETS), "risk", "alias"):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_text_field("text", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_text_field("topics", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_bytes_field("head", stored=True)
    builder.add_bytes_field("body", stored=True)
    builder.add_bytes_field("pieces", stored=True)
    builder.add_bytes_field("line", stored=True)
    return builder.build()


def build_analyser() -> Any:
    """The analyser from text to stemmed terms; tokens over 60 bytes are not words."""
    t = lazy_imports.tantivy()
    filters = (
        t.Filter.remove_long(60),
        t.Filter.lowercase(),
        t.Filter.ascii_fold(),
        t.Filter.stemmer("english"),
    )
    builder = t.TextAnalyzerBuilder(t.Tokenizer.simple())
    for token_filter in filters:
        builder = builder.filter(token_filter)
    return builder.build()


def alias_key(name: str) -> str:
    """The key of an id or name for look-ups, which ignore case, Unicode form and the choice of
    separator.
    """
    return to_nfc(name).strip().lower().replace("_", "-").replace(" ", "-")


def boolean_query(clauses: Sequence[tuple[Any, Any]]) -> Any:
    """One query of clauses, each a pair of occurrence (Must, Should, MustNot) and query."""
    return lazy_imports.tantivy().Query.boolean_query(clauses)


def count_deleted(source: Path) -> int:
    """The number of deleted documents that the files of a text index still hold."""
    # tantivy tells it in the file that lists its segments alone.
    segments = json.loads((source / "meta.json").read_bytes())["segments"]
    return sum(
        (segment["deletes"] or {"num_deleted_docs": 0})["num_deleted_docs"] for segment in segments
    )


class TermStatistics:
    """How many documents of an open text index have a term, and what the term weighs.

    tantivy's BM25 counts deleted documents until it merges their segments: of a rare term in 2,000
    documents, one of them changes the score by a twentieth. So queries get the weight that makes
    up for it, and scores are those of an index that never held them, but for the mean length of a
    document.
    """

    def __init__(self, searcher: Any, schema: Any, source: Path) -> None:
        self._searcher, self._schema = searcher, schema
        self._count = int(searcher.num_docs)
        self._deleted_count = count_deleted(source)
        self._frequencies: dict[tuple[str, str], int] = {}

    def frequency(self, field: str, term: str) -> int:
        """The number of documents with the term, or, with FUZZY_SUFFIX, with a similar one: asked
        five times for each unknown word.
        """
        key = (field, term)
        if key not in self._frequencies:
            if len(self._frequencies) >= _CACHE_SIZE:
                self._frequencies.clear()
            self._frequencies[key] = self._count_documents(field, term)
        return self._frequencies[key]

    def _count_documents(self, field: str, term: str) -> int:
        with translate_native_errors("the text index could not be searched", _SEARCH_HINT):
            if term.endswith(FUZZY_SUFFIX):
                counted = fuzzy_query(self._schema, field, term, 1.0)
            else:
                frequency = int(self._searcher.doc_freq(field, term))
                if not self._deleted_count or not frequency:
                    return frequency
                counted = lazy_imports.tantivy().Query.term_query(self._schema, field, term)
            return int(self._searcher.search(counted, limit=1, count=True).count)

    def term_query(self, field: str, term: str, weight: float) -> Any:
        """Documents with the term, scored by BM25 times the weight."""
        query = lazy_imports.tantivy().Query
        base_query = query.term_query(self._schema, field, term, index_option="freq")
        if self._deleted_count and (stored := int(self._searcher.doc_freq(field, term))):
            right = inverse_document_frequency(self.frequency(field, term), self._count)
            weight *= right / inverse_document_frequency(stored, self._count + self._deleted_count)
        return base_query if weight == 1.0 else query.boost_query(base_query, weight)


def fuzzy_query(schema: Any, field: str, term: str, term_weight: float) -> Any:
    """Documents with a term at an edit distance of one letter.

    tantivy gives all of them the same score, so `term_weight` is the IDF of the term.
    """
    t = lazy_imports.tantivy()
    weight = term_weight * FUZZY_WEIGHT * (NAME_WEIGHT if field == "name" else 1.0)
    base_query = t.Query.fuzzy_term_query(
        schema, field, term.removesuffix(FUZZY_SUFFIX), transposition_cost_one=True
    )
    return t.Query.boost_query(base_query, weight)


def any_of_query(schema: Any, field: str, values: Sequence[str]) -> Any:
    """Documents whose field has one of the values, all with the score 1.

    tantivy's query for sets of terms starts again in every segment: 240 microseconds for 20 ids,
    where a clause for each takes 35.
    """
    t = lazy_imports.tantivy()
    # A lone surrogate is in no index, and tantivy does not accept one.
    encodable = [value.encode("utf-8", "replace").decode() for value in values]
    return t.Query.const_score_query(
        boolean_query(
            [(t.Occur.Should, t.Query.term_query(schema, field, value)) for value in encodable]
        ),
        1.0,
    )


def restrict_query(schema: Any, base_query: Any, field: str, values: Sequence[str]) -> Any:
    """The query, of documents whose field has one of the values; their scores stay as they are."""
    must = lazy_imports.tantivy().Occur.Must
    return boolean_query([(must, base_query), _unscored_clause(schema, field, values)])


def _unscored_clause(schema: Any, field: str, values: Sequence[str]) -> tuple[Any, Any]:
    """The condition that the field has one of the values, which adds nothing to a score."""
    t = lazy_imports.tantivy()
    return (t.Occur.Must, t.Query.const_score_query(any_of_query(schema, field, values), 0.0))


def bitmask_query(schema: Any, field: str, values: Sequence[str], queries: Sequence[Any]) -> Any:
    """Documents whose field has one of the values; bit i of the score says whether query i
    matches.
    """
    t = lazy_imports.tantivy()
    clauses = [_unscored_clause(schema, field, values)]
    clauses += [
        (t.Occur.Should, t.Query.const_score_query(clause_query, float(1 << bit)))
        for bit, clause_query in enumerate(queries)
    ]
    return boolean_query(clauses)


def apply_filters(schema: Any, base_query: Any, query: Query) -> Any:
    """The query with the filters of `query` as further conditions."""
    occur = lazy_imports.tantivy().Occur
    clauses = [(occur.Must, base_query)]
    clauses += [
        (occur.Must, any_of_query(schema, field, values)) for field, values in field_filters(query)
    ]
    clauses += [
        (wanted, any_of_query(schema, "alias", [alias_key(name) for name in names]))
        for wanted, names in ((occur.Must, query.ids), (occur.MustNot, query.exclude))
        if names
    ]
    return boolean_query(clauses) if len(clauses) > 1 else base_query


def word_clauses(
    make_term_query: Callable[[str, str], Any],
    terms: Sequence[str],
    fields: Sequence[str] = ("text", "name"),
) -> list[Any]:
    """The clauses of a search for the terms in the fields, of which one is enough.
    `make_term_query` makes the query for a field and a term.
    """
    should = lazy_imports.tantivy().Occur.Should
    return [(should, make_term_query(field, term)) for term in terms for field in fields]


def has_filters(query: Query) -> bool:
    """Whether the query has filters that the text index applies."""
    return bool(field_filters(query) or query.ids or query.exclude)


def field_filters(query: Query) -> list[tuple[str, Sequence[str]]]:
    """The filters of a query by facet: its name in the index, and the values of which one is
    enough.
    """
    wanted = {_facet_name(field): getattr(query, name) for field, name in FACETS} | {
        "risk": risks_up_to(query.max_risk)
    }
    return [
        (name, [value.lower() for value in values]) for name, values in wanted.items() if values
    ]


def inverse_document_frequency(frequency: int, documents: int) -> float:
    """The information of a term (IDF as in BM25); it is highest for a term without documents."""
    return math.log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5))


@frozen(kw_only=True)
class IndexedDocument:
    """The fields of one document, as the schema has them; `facets` are the values by the name of
    each facet.
    """

    id: str
    facets: Mapping[str, Sequence[str]]
    aliases: Sequence[str]
    name: str
    text: str
    topics: str
    head: bytes
    body: bytes
    pieces: bytes
    line: bytes


class TextWriter:
    """Changes the text index in `target`, which is made when missing. A document has its `key`,
    the name of a field, and is removed by it.

    All methods raise IndexStateError when tantivy cannot write, OSError when the disk refuses.
    """

    def __init__(self, target: Path, schema: Any, key: str) -> None:
        require_address_space()
        target.mkdir(parents=True, exist_ok=True)
        self._key = key
        with _translate_write_errors():
            index = lazy_imports.tantivy().Index(schema, path=str(target), reuse=True)
            index.register_tokenizer(ANALYSER_NAME, build_analyser())
            # One thread keeps the order of the documents, so that equal scores always come out in
            # the same order.
            self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)

    def remove(self, keys: Iterable[str]) -> None:
        """Removes all documents with these keys."""
        with _translate_write_errors():
            for key in keys:
                self._writer.delete_documents_by_term(self._key, key)

    def add(self, documents: Iterable[Any]) -> None:
        """Adds documents of tantivy."""
        with _translate_write_errors():
            for document in documents:
                self._writer.add_document(document)

    def commit(self) -> None:
        """Makes durable what was added and removed."""
        with _translate_write_errors():
            self._writer.commit()
            self._writer.wait_merging_threads()


def _translate_write_errors() -> AbstractContextManager[None]:
    return translate_native_errors(
        "the text index could not be written",
        "free some disk space, or choose --index-dir DIR",
        IndexStateError,
    )


def update_text_index(
    target: Path, removed: Iterable[str], added: Iterable[IndexedDocument]
) -> None:
    """Update the text index of capabilities in `target`; it is durable on return."""
    writer = TextWriter(target, build_schema(), "id")
    writer.remove(removed)
    writer.add(map(_to_tantivy_document, added))
    writer.commit()


def _to_tantivy_document(document: IndexedDocument) -> Any:
    from zlib import compress  # which no query needs

    engine_document = lazy_imports.tantivy().Document()
    engine_document.add_text("id", document.id)
    for name, values in document.facets.items():
        for value in values:
            if value:
                engine_document.add_text(name, value.lower())
    for alias in document.aliases:
        engine_document.add_text("alias", alias)
    engine_document.add_text("name", lexical_text(document.name))
    engine_document.add_text("text", document.text)
    engine_document.add_text("topics", document.topics)
    engine_document.add_bytes("head", document.head)
    engine_document.add_bytes("body", compress(document.body, 1))
    engine_document.add_bytes("pieces", document.pieces)
    engine_document.add_bytes("line", document.line)
    return engine_document
