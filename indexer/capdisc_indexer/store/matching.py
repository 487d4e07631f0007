"""The text engine's queries, made of terms and filters; nothing that a user typed is ever parsed as query syntax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capdisc_indexer import engines
from capdisc_indexer.store.schema import NAME_WEIGHT, RISKS, alias_key
from capdisc_indexer.types import Query

# Marks a term that also matches with one letter changed, missing, added or swapped. No analysed term holds this sign.
NEAR = "~"
# What such a match counts against an exact one.
NEAR_WEIGHT = 0.6


def boolean(clauses: Sequence[tuple[Any, Any]]) -> Any:
    """The clauses, each a pair of how it must occur and a query, as one query."""
    return engines.tantivy().Query.boolean_query(clauses)


def exact(schema: Any, field: str, term: str) -> Any:
    """Documents with the term, scored by BM25; a name counts less than the text, which holds it too."""
    t = engines.tantivy()
    made = t.Query.term_query(schema, field, term, index_option="freq")
    return t.Query.boost_query(made, NAME_WEIGHT) if field == "name" else made


def near(schema: Any, field: str, term: str, worth: float) -> Any:
    """Documents with a term one letter away. All of them score the same, so `worth` has to say what the term says."""
    t = engines.tantivy()
    weight = worth * NEAR_WEIGHT * (NAME_WEIGHT if field == "name" else 1.0)
    made = t.Query.fuzzy_term_query(schema, field, term.removesuffix(NEAR), transposition_cost_one=True)
    return t.Query.boost_query(made, weight)


def among(schema: Any, field: str, values: Sequence[str]) -> Any:
    """Documents whose field has one of the values; all score the same.

    A query of the engine's own for sets of terms starts anew in every segment: 240 microseconds for 20 ids, where one
    clause each takes 35.
    """
    t = engines.tantivy()
    sound = [value.encode("utf-8", "replace").decode() for value in values]  # a lone surrogate is in no index
    return t.Query.const_score_query(
        boolean([(t.Occur.Should, t.Query.term_query(schema, field, value)) for value in sound]), 1.0
    )


def marked(schema: Any, field: str, values: Sequence[str], queries: Sequence[Any]) -> Any:
    """Documents whose field has one of the values; the score adds up 1, 2, 4, … for the queries that it matches."""
    t = engines.tantivy()
    clauses = [(t.Occur.Must, t.Query.const_score_query(among(schema, field, values), 0.0))]
    clauses += [(t.Occur.Should, t.Query.const_score_query(one, float(1 << at))) for at, one in enumerate(queries)]
    return boolean(clauses)


def filtered(schema: Any, wanted: Any, query: Query) -> Any:
    """What is wanted, as far as it passes the query's filters."""
    occur = engines.tantivy().Occur
    clauses = [(occur.Must, wanted)]
    clauses += [(occur.Must, among(schema, field, values)) for field, values in _fields(query)]
    if query.exclude:
        clauses.append((occur.MustNot, among(schema, "alias", [alias_key(name) for name in query.exclude])))
    return boolean(clauses) if len(clauses) > 1 else wanted


def filters(query: Query) -> bool:
    """Whether anything is asked of a document beside its words."""
    return bool(_fields(query) or query.exclude)


def _fields(query: Query) -> list[tuple[str, Sequence[str]]]:
    risks = RISKS[: RISKS.index(query.max_risk) + 1] if query.max_risk else ()
    fields = {"kind": query.kinds, "category": query.categories, "tag": query.tags, "risk": risks}
    return [(field, [value.lower() for value in values]) for field, values in fields.items() if values]
