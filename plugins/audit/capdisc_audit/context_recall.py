"""How many of the right answers stand in a context, and how many tokens does it spend on them?

A context is what `capdisc render` prints of a query without the overview. It is compared with three
ways to do without: the same ranking as a plain list, a line of name and first sentence for each
hit, the first hits by words alone, and the list of everything, both with a whole line of name and
description as clients print it; of each as many lines as fit the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from capdisc_audit.evaluation import Progress, render_figure
from capdisc_audit.query_files import EvalQuery, Grades
from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Query, Ranking
from capdisc_indexer.rendering.capability_text import first_sentence
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.index_context import assemble_ranking
from capdisc_indexer.rendering.render_job import count_lines
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.verdict import drop_hits_of_talk, select_context_hits
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.token_counts import TokenCounter, find_tokenizer, make_counter

CONTEXT, PLAIN_LIST, FIRST_HITS, LISTING = WAYS = (
    "context", "plain list", "first hits", "listing",
)  # fmt: skip
# So many hits have a line in a list, as far as they fit.
_LISTED_HITS = 100


@frozen(kw_only=True)
class SpentTokens:
    """What one way to fill a budget brings: `recall` is the mean share of a query's right answers,
    in percent, and `tokens` the mean of what is printed.
    """

    recall: float
    tokens: float


@frozen(kw_only=True)
class ContextRecall:
    """The figures of one budget, by way."""

    budget: int
    ways: Mapping[str, SpentTokens]


@frozen
class _Shown:
    """The ids that stand in one printed text, and its tokens."""

    ids: frozenset[str]
    tokens: int


def measure_context_recall(
    index: Index,
    queries: Sequence[EvalQuery],
    grades: Mapping[str, Grades],
    encoder: Encoder | None,
    mode: str,
    budgets: Sequence[int],
    workspace: PurePath | None,
    progress: Progress,
) -> list[ContextRecall]:
    """The figures of each budget over these queries, of which there is at least one. Paths are
    printed, and counted, as in `workspace`.
    """
    counter = make_counter(find_tokenizer("o200k"))
    counter.learn(index.overview["counts"])
    columns = index.columns
    listing = [
        _take_lines(zip(columns.ids, columns.listing_tokens, strict=True), budget)
        for budget in budgets
    ]
    shown: list[dict[str, list[_Shown]]] = [{way: [] for way in WAYS} for _ in budgets]
    for done, query in enumerate(queries, 1):
        ranking = search_index(
            index, Query(texts=(query.text,), limit=_LISTED_HITS), encoder, mode
        )
        plain_lines = list(_plain_lines(index, ranking, counter))
        lines = list(_hit_lines(index, query.text))
        for place, budget in enumerate(budgets):
            context = _print_context(index, ranking, budget, counter, workspace)
            shown[place][CONTEXT].append(context)
            shown[place][PLAIN_LIST].append(_take_lines(plain_lines, budget))
            shown[place][FIRST_HITS].append(_take_lines(lines, budget))
            shown[place][LISTING].append(listing[place])
        progress("Rendering", done, len(queries))
    return [
        ContextRecall(
            budget=budget,
            ways={way: _average(queries, grades, texts) for way, texts in by_way.items()},
        )
        for budget, by_way in zip(budgets, shown, strict=True)
    ]


def _print_context(
    index: Index,
    ranking: Ranking,
    budget: int,
    counter: TokenCounter,
    workspace: PurePath | None,
) -> _Shown:
    """The capabilities that summaries and details hold, of what fits: nothing where the text is
    taken for talk. A hit stands for its near copies, too.
    """
    number = count_lines(budget)
    fitting = select_context_hits(drop_hits_of_talk(ranking).hits, with_distant_hits=True)
    ranking = replace(ranking, hits=fitting[:number])
    try:
        context = assemble_ranking(
            index, ranking, budget, FORMATS["text"], (1, 2), counter, number, workspace
        )
    except UsageError:  # not even the frame of a context fits
        return _Shown(frozenset(), 0)
    printed_ids = {block.id for tier in context.tiers for block in tier.blocks}
    copies = {copy for hit in ranking.hits if hit.id in printed_ids for copy in hit.copies}
    return _Shown(frozenset(printed_ids | copies), context.tokens)


def _plain_lines(
    index: Index, ranking: Ranking, counter: TokenCounter
) -> Iterable[tuple[str, int]]:
    """The ids of all hits, with the tokens of a line of name and first sentence."""
    headers = index.documents.headers_for([hit.id for hit in ranking.hits], Query(texts=()))
    texts = [
        f"- {headers[hit.id]['name']}: {first_sentence(headers[hit.id]['description'])}\n"
        for hit in ranking.hits
    ]
    return zip([hit.id for hit in ranking.hits], counter.count_many(texts), strict=True)


def _hit_lines(index: Index, text: str) -> Iterable[tuple[str, int]]:
    """The ids of the first hits by words alone, with the tokens of their lines."""
    ranking = search_index(index, Query(texts=(text,), limit=_LISTED_HITS), None, "lexical")
    headers = index.documents.headers_for([hit.id for hit in ranking.hits], Query(texts=()))
    return [(hit.id, headers[hit.id]["size"][2]) for hit in ranking.hits]


def _take_lines(lines: Iterable[tuple[str, int]], budget: int) -> _Shown:
    """As many of the first lines as fit."""
    ids: list[str] = []
    spent = 0
    for identifier, tokens in lines:
        if spent + tokens > budget:
            break
        ids.append(identifier)
        spent += tokens
    return _Shown(frozenset(ids), spent)


def _average(
    queries: Sequence[EvalQuery], grades: Mapping[str, Grades], shown: Sequence[_Shown]
) -> SpentTokens:
    shares = [
        sum(identifier in text.ids for identifier in grades[query.qid]) / len(grades[query.qid])
        for query, text in zip(queries, shown, strict=True)
    ]
    return SpentTokens(
        recall=100 * sum(shares) / len(shares),
        tokens=sum(text.tokens for text in shown) / len(shown),
    )


def draw_recall_chart(rows: Sequence[ContextRecall], form: str) -> bytes:
    """The share of right answers by tokens spent, a line for each way, as a picture in the form
    `svg` or `png`. Raises InputError without matplotlib.
    """
    figure = lazy_imports.matplotlib().figure.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for way in WAYS:
        points = [row.ways[way] for row in rows]
        tokens = [point.tokens for point in points]
        axes.plot(tokens, [point.recall for point in points], marker="o", label=way)
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.set_xlabel("tokens printed, mean")
    axes.set_ylabel("right answers in it, percent")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(WAYS), frameon=False)
    return render_figure(figure, form)
