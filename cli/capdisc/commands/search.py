"""capdisc search: ranked hits for a sentence."""

from __future__ import annotations

from typing import Annotated, Any

from capdisc import asking, options, output, querying, sessions
from capdisc.declaring import option
from capdisc.exit_codes import ExitCode
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import replace
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Hit, Query, Ranking

# Hits below this are left to --explain and to programs: they hold the place of an answer, and are none.
WORTH_SHOWING = 0.05


def search(
    words: options.Words = None,
    also: options.Also = None,
    limit: Annotated[int | None, option("-k", "--limit", min=1, max=1000, help="How many hits.")] = None,
    kind: options.Kind = None,
    category: options.Category = None,
    tag: options.Tag = None,
    exclude: options.Exclude = None,
    max_risk: options.MaxRisk = "",
    available: options.Available = False,
    mode: options.Mode = None,
    encoder: options.EncoderName = None,
    explain: Annotated[bool, option("--explain", help="Show every signal of every hit.")] = False,
    ids: Annotated[bool, option("--ids", help="Print ids only, one a line.")] = False,
    expand: Annotated[
        int, option("--expand", min=0, max=20, help="Add so many that the hits declare to be related.")
    ] = 0,
    session: options.SessionName = None,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Find the capabilities that fit a sentence; - reads it from stdin. Exit status 1: nothing fits.

    Example: capdisc search "put two PDF files into one"
    """
    texts = querying.texts_of(words, also)
    if not texts:
        raise UsageError("the query is empty", 'say what you need: capdisc search "merge two PDF files"')
    with asking.opened(index_dir) as asked:
        filters = querying.Filters(kind, category, tag, exclude, max_risk, available)
        query = filters.query(texts, limit or asked.config["limit"])
        querying.check(asked, query)
        found = querying.ranking_for(asked, query, mode, encoder)
        found = _expanded(asked, found, expand) if expand else found
        heads = asked.index.documents.passing([hit.id for hit in found.hits], Query(texts=()))
        worth = _worth_showing(found.hits)
        sessions.remembered(asked.here, session, [hit.id for hit in found.hits if hit.id in worth])
        if json:
            output.document(_document(asked, found, heads))
        elif ids:
            output.lines(hit.id for hit in found.hits) if found.hits else None
        else:
            _print(asked, found, heads, explain)
        if not found.hits:
            _nothing(asked, found)
    return ExitCode.OK if found.hits else ExitCode.FINDINGS


def _expanded(asked: asking.Asked, found: Ranking, wanted: int) -> Ranking:
    from capdisc_indexer.relations.expanding import expanded

    hits = expanded(asked.index, found, wanted, lambda head: asking.available(asked.here, head))
    return replace(found, hits=hits)


def _print(asked: asking.Asked, found: Ranking, heads: dict[str, dict[str, Any]], explain: bool) -> None:
    worth = _worth_showing(found.hits)
    shown = [(rank, hit) for rank, hit in enumerate(found.hits, 1) if explain or hit.id in worth]
    width = min(max((len(hit.id) for _, hit in shown), default=0), 44)
    printed: list[str] = []
    for rank, hit in shown:
        description = one_line(heads[hit.id]["description"], max(asked.here.columns - max(width, len(hit.id)) - 6, 40))
        label = output.bold(output.safe(hit.id.ljust(width)), asked.here.colour)
        printed.append(f"{rank:2}  {label}  {output.safe(description)}")
        if hit.via:
            how = "related to" if "related" in hit.signals else "required by"
            printed.append(output.dim(f"    {how} {output.safe(hit.via)}", asked.here.colour))
        if wary := heads[hit.id].get("warnings"):
            printed.append(output.dim(f"    review before use: {', '.join(wary)}", asked.here.colour))
        if hit.copies:
            printed.append(output.dim(f"    near copies: {output.listed(hit.copies)}", asked.here.colour))
        if explain:
            signals = {"score": round(hit.score, 4), "relevance": hit.relevance, **hit.signals}
            printed.append(output.dim("    " + "  ".join(f"{k} {v:g}" for k, v in signals.items()), asked.here.colour))
    output.result("\n".join(printed))
    if len(shown) < len(found.hits):
        output.notice(f"notice: {len(found.hits) - len(shown)} more of little relevance (--explain shows them)")
    if explain:
        output.notice(
            f"mode {found.mode}, confidence {found.confidence:.2f}, generation {asked.index.generation.number}"
        )
    if found.hits and found.unmatched:
        alone = not any("bm25" in hit.signals for hit in found.hits)
        known = "found by meaning alone: " if alone else ""
        output.notice(f"notice: {known}no capability mentions: {output.listed(found.unmatched)}")


def _worth_showing(hits: tuple[Hit, ...]) -> set[str]:
    """The ids of the hits that say something, and of what those require."""
    kept: set[str] = set()
    for hit in hits:  # what requires a hit scores more than the hit, so it comes first
        if hit.via in kept or (hit.relevance >= WORTH_SHOWING and not hit.via):
            kept.add(hit.id)
    return kept


def _nothing(asked: asking.Asked, found: Ranking) -> None:
    """Say that nothing fits, which words are unknown here, and which categories come nearest."""
    output.notice("nothing fits")
    if found.unmatched:
        output.notice(f"no capability mentions: {output.listed(found.unmatched)}")
    every = [each["category"] for each in asked.index.meta("overview")["categories"][:8]]
    known = found.categories or every
    hint = f"there is something about: {', '.join(known)}" if known else "the index is empty: capdisc index PATH"
    output.notice(f"hint: {hint}")


def _document(asked: asking.Asked, found: Ranking, heads: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "query": found.query.texts,
        "mode": found.mode,
        "confidence": found.confidence,
        "unmatched": found.unmatched,
        "degraded": found.degraded,
        "categories": found.categories,
        "generation": asked.index.generation.number,
        "total_indexed": len(asked.index.documents),
        "hits": [_hit(asked, hit, heads[hit.id]) for hit in found.hits],
    }


def _hit(asked: asking.Asked, hit: Hit, head: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": hit.id,
        "name": head["name"],
        "kind": head["kind"],
        "title": head.get("title", ""),
        "description": head["description"],
        "category": head.get("category", ""),
        "tags": head.get("tags", []),
        "score": round(hit.score, 4),
        "relevance": hit.relevance,
        "via": hit.via or None,
        "copies": hit.copies,
        "available": asking.available(asked.here, head),
        "risk": head.get("risk", ""),
        "confirm": head.get("confirm", False),
        "path": head["source"]["path"],
        "root": head["source"]["root"],
        "warnings": head.get("warnings", []),
        "signals": hit.signals,
    }
