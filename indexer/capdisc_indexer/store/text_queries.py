"""The text engine's queries, made of terms and filters; nothing that a user typed is ever parsed
as query syntax.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.store.native_errors import translate_native_errors
from capdisc_indexer.text.normalization import lexical_text

# What the text index keeps of a capability, and how its words are analysed.
#
# Two analysed fields earn their place: `text` with everything, and `name` alone at 0.3 of the
# weight. More fields, or a heavier name, lost up to 12 points. The document itself is kept as two
# stored values: `head` (all but the long parts, enough to list, filter and summarise) and `body`
# (content and schemas); `pieces` is its bag of word pieces.

ANALYSER_NAME = "capdisc"
NAME_WEIGHT = 0.3
RISKS = ("low", "medium", "high", "critical")


def build_schema() -> Any:
    """The fields."""
    builder = lazy_imports.tantivy().SchemaBuilder()
    for field in ("id", "kind", "category", "tag", "risk", "alias"):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_text_field("text", tokenizer_name=ANALYSER_NAME, index_option="freq")
    builder.add_bytes_field("head", stored=True)
    builder.add_bytes_field("body", stored=True)
    builder.add_bytes_field("pieces", stored=True)
    return builder.build()


def build_analyser() -> Any:
    """The steps from text to terms; tokens over 60 bytes are no words."""
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
    """The form under which ids and names are looked up: case and the choice of separator do not
    matter.
    """
    return name.strip().lower().replace("_", "-").replace(" ", "-")


# Marks a term that also matches with one letter changed, missing, added or swapped. No analysed
# term holds this sign.
FUZZY_SUFFIX = "~"
# What such a match counts against an exact one.
FUZZY_WEIGHT = 0.6


def boolean_query(clauses: Sequence[tuple[Any, Any]]) -> Any:
    """The clauses, each a pair of how it must occur and a query, as one query."""
    return lazy_imports.tantivy().Query.boolean_query(clauses)


def term_query(schema: Any, field: str, term: str) -> Any:
    """Documents with the term, scored by BM25; a name counts less than the text, which holds it
    too.
    """
    t = lazy_imports.tantivy()
    base_query = t.Query.term_query(schema, field, term, index_option="freq")
    return t.Query.boost_query(base_query, NAME_WEIGHT) if field == "name" else base_query


def fuzzy_query(schema: Any, field: str, term: str, term_weight: float) -> Any:
    """Documents with a term one letter away. All of them score the same, so `term_weight` has to
    say what the term says.
    """
    t = lazy_imports.tantivy()
    weight = term_weight * FUZZY_WEIGHT * (NAME_WEIGHT if field == "name" else 1.0)
    base_query = t.Query.fuzzy_term_query(
        schema, field, term.removesuffix(FUZZY_SUFFIX), transposition_cost_one=True
    )
    return t.Query.boost_query(base_query, weight)


def any_of_query(schema: Any, field: str, values: Sequence[str]) -> Any:
    """Documents whose field has one of the values; all score the same.

    A query of the engine's own for sets of terms starts anew in every segment: 240 microseconds
    for 20 ids, where one clause each takes 35.
    """
    t = lazy_imports.tantivy()
    sound = [
        value.encode("utf-8", "replace").decode() for value in values
    ]  # a lone surrogate is in no index
    return t.Query.const_score_query(
        boolean_query(
            [(t.Occur.Should, t.Query.term_query(schema, field, value)) for value in sound]
        ),
        1.0,
    )


def bitmask_query(schema: Any, field: str, values: Sequence[str], queries: Sequence[Any]) -> Any:
    """Documents whose field has one of the values; the score adds up 1, 2, 4, … for the queries
    that it matches.
    """
    t = lazy_imports.tantivy()
    clauses = [(t.Occur.Must, t.Query.const_score_query(any_of_query(schema, field, values), 0.0))]
    clauses += [
        (t.Occur.Should, t.Query.const_score_query(clause_query, float(1 << at)))
        for at, clause_query in enumerate(queries)
    ]
    return boolean_query(clauses)


def apply_filters(schema: Any, base_query: Any, query: Query) -> Any:
    """What is wanted, as far as it passes the query's filters."""
    occur = lazy_imports.tantivy().Occur
    clauses = [(occur.Must, base_query)]
    clauses += [
        (occur.Must, any_of_query(schema, field, values)) for field, values in _field_filters(query)
    ]
    if query.exclude:
        clauses.append(
            (
                occur.MustNot,
                any_of_query(schema, "alias", [alias_key(name) for name in query.exclude]),
            )
        )
    return boolean_query(clauses) if len(clauses) > 1 else base_query


def has_filters(query: Query) -> bool:
    """Whether anything is asked of a document beside its words."""
    return bool(_field_filters(query) or query.exclude)


def _field_filters(query: Query) -> list[tuple[str, Sequence[str]]]:
    risks = RISKS[: RISKS.index(query.max_risk) + 1] if query.max_risk else ()
    fields = {"kind": query.kinds, "category": query.categories, "tag": query.tags, "risk": risks}
    return [
        (field, [value.lower() for value in values]) for field, values in fields.items() if values
    ]


def inverse_document_frequency(frequency: int, documents: int) -> float:
    """What a term says about a document (IDF); a term that no document has says most."""
    # Documents that are deleted but not yet cleared away count in the frequency alone.
    return math.log(1.0 + (max(documents, frequency) - frequency + 0.5) / (frequency + 0.5))


# Write documents into the text index.

_HEAP_BYTES = 64_000_000


@frozen(kw_only=True)
class IndexedDocument:
    """What the text index is given for one capability."""

    id: str
    kind: str
    category: str
    tags: Sequence[str]
    risk: str
    aliases: Sequence[str]
    name: str
    text: str
    head: bytes
    body: bytes
    pieces: bytes


def update_text_index(
    target: Path, removed: Iterable[str], added: Iterable[IndexedDocument]
) -> None:
    """Bring the text index in `target` up to date (made when missing); durable when this
    returns.
    """
    t = lazy_imports.tantivy()
    target.mkdir(parents=True, exist_ok=True)
    with translate_native_errors(
        "the text index could not be written",
        "free some disk space, or choose --index-dir DIR",
        IndexStateError,
    ):
        index = t.Index(build_schema(), path=str(target), reuse=True)
        index.register_tokenizer(ANALYSER_NAME, build_analyser())
        # One thread: documents keep their order, so that equal scores come out in the same order
        # every time.
        writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        for identifier in removed:
            writer.delete_documents_by_term("id", identifier)
        for document in added:
            writer.add_document(_to_tantivy_document(document))
        writer.commit()
        writer.wait_merging_threads()


def _to_tantivy_document(document: IndexedDocument) -> Any:
    engine_document = lazy_imports.tantivy().Document()
    for field in ("id", "kind", "category"):
        engine_document.add_text(field, getattr(document, field))
    engine_document.add_text("risk", document.risk or RISKS[0])
    for tag in document.tags:
        engine_document.add_text("tag", tag)
    for alias in document.aliases:
        engine_document.add_text("alias", alias)
    engine_document.add_text("name", lexical_text(document.name))
    engine_document.add_text("text", document.text)
    engine_document.add_bytes("head", document.head)
    engine_document.add_bytes("body", document.body)
    engine_document.add_bytes("pieces", document.pieces)
    return engine_document
