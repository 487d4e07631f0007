"""Queries and judgements as they were given, brought together with the index."""

from __future__ import annotations

from capdisc import asking, files, output
from capdisc_indexer.errors import InputError
from capdisc_indexer.evaluation import forms
from capdisc_indexer.evaluation.forms import EvalQuery
from capdisc_indexer.evaluation.gold import Gold, resolved
from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Judged:
    """The queries that have judgements, in the index's ids, and what had to be left aside."""

    queries: tuple[EvalQuery, ...]
    gold: Gold
    unjudged: tuple[str, ...]
    unasked: tuple[str, ...]


def read(asked: asking.Asked, queries: str, qrels: str) -> Judged:
    """Both files. Raises InputError for one that cannot be read, and where nothing is left to measure."""
    given = forms.queries(files.read(asked.here, queries), queries)
    said = forms.judgements(files.read(asked.here, qrels), qrels)
    known = {query.qid for query in given}
    gold = resolved(asked.index, {qid: grades for qid, grades in said.items() if qid in known})
    kept = tuple(query for query in given if query.qid in gold.grades)
    if not kept:
        raise InputError(f"no query of {queries} has a judgement in {qrels}", "check that both use the same query ids")
    missing = (*gold.unknown, *gold.ambiguous)
    if {name for grades in gold.grades.values() for name in grades} <= set(missing):
        raise InputError(f"no id of {qrels} is in this index (such as {missing[0]})", "compare: capdisc list --ids")
    return Judged(
        queries=kept,
        gold=gold,
        unjudged=tuple(query.qid for query in given if query.qid not in gold.grades),
        unasked=tuple(qid for qid in said if qid not in known),
    )


def say(judged: Judged) -> None:
    """What had to be left aside, on stderr."""
    unknown, ambiguous = judged.gold.unknown, judged.gold.ambiguous
    said = [
        (judged.unjudged, "left out, without a judgement"),
        (judged.unasked, "judged, but not among the queries"),
        (unknown, "judged, but not in the index, so never found"),
        (ambiguous, "judged, but the name of several capabilities, so never found"),
    ]
    for names, text in said:
        if names:
            output.notice(f"notice: {text} ({len(names):,}): {output.listed(names)}")
