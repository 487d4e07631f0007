"""capdisc render: a context for an agent, within a budget."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from capdisc import asking, options, output
from capdisc.exit_codes import ExitCode
from capdisc_indexer.config import Config
from capdisc_indexer.engines import token_count
from capdisc_indexer.errors import UsageError
from capdisc_indexer.render import FORMATS
from capdisc_indexer.render.counting import learn
from capdisc_indexer.render.format import Format
from capdisc_indexer.tiers import Material, assemble
from capdisc_indexer.tokens import TokenCounter
from capdisc_indexer.types import Budgets, Context, Descriptor, Query, Ranking


def render(
    words: options.Words = None,
    also: options.Also = None,
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="Tokens in all; a hard limit.")] = None,
    format: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")] = "text",
    tier: Annotated[str, typer.Option("--tier", help="Which tiers: 0 overview, 1 summaries, 2 detail.")] = "0,1,2",
    kind: options.Kind = None,
    category: options.Category = None,
    tag: options.Tag = None,
    exclude: options.Exclude = None,
    max_risk: options.MaxRisk = "",
    available: options.Available = False,
    mode: options.Mode = None,
    encoder: options.EncoderName = None,
    index_dir: options.IndexDir = None,
) -> int:
    """Print a context for a query, for any agent: an overview, summaries, and the best capabilities in full.

    The query comes from the arguments, or from stdin with - or through a pipe. Without a query: the overview alone (or,
    as skills-xml, the skills that fit the budget). Nothing but the context goes to stdout.

    Example: capdisc render "merge two PDF files" --budget 1200 | llm
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}", f"one of: {', '.join(FORMATS)}")
    with asking.opened(index_dir) as asked:
        texts = asking.whole_text(asked.here, words, also)
        filters = asking.Filters(kind, category, tag, exclude, max_risk, available)
        query = filters.query(texts, _wanted(asked.config))
        found = asking.ranking_for(asked, query, mode, encoder) if texts else _unasked(query)
        context = _context(asked, found, FORMATS[format], _levels(tier), _budgets(asked.config, budget))
        output.result(FORMATS[format].printed(FORMATS[format], context))
    _report(found, context)
    return ExitCode.OK


def _wanted(config: Config) -> int:
    return max(int(config["tier1_top_k"]), int(config["tier2_top_k"]))


def _unasked(query: Query) -> Ranking:
    return Ranking(query=query, hits=(), mode="none", confidence=0.0)


def _levels(tier: str) -> tuple[int, ...]:
    levels = {part.strip() for part in tier.split(",")}
    if not levels or levels - {"0", "1", "2"}:
        raise UsageError(f"unknown tier {tier!r}", "give 0, 1, 2 or several: --tier 1,2")
    return tuple(sorted(int(level) for level in levels))


def _budgets(config: Config, budget: int | None) -> Budgets:
    """The limits; a total above the sum of the tiers' own goes to the details."""
    total = budget or config["budget"]
    tier0, tier1, tier2 = (config[f"tier{level}_budget"] for level in range(3))
    return Budgets(tier0=tier0, tier1=tier1, tier2=max(tier2, total - tier0 - tier1), total=total)


def _context(asked: asking.Asked, found: Ranking, form: Format, levels: tuple[int, ...], budgets: Budgets) -> Context:
    counter = TokenCounter(token_count)
    facts = asked.index.meta("overview")
    counter.learn(facts["counts"])
    heads = asked.index.documents.passing([hit.id for hit in found.hits], Query(texts=()))
    descriptors = [_described(asked, heads[hit.id], form, counter) for hit in found.hits]
    summaries: int | None = asked.config["tier1_top_k"]
    if not found.query.texts:
        levels = tuple(level for level in levels if level == 0)
    if form.levels == (1,):
        levels, summaries, budgets = (1,), None, Budgets(tier1=budgets.total, total=budgets.total)
        descriptors = descriptors or _all_skills(asked, found)
    material = Material(
        overview=facts["categories"],
        descriptors=descriptors,
        levels=levels,
        summaries=summaries,
        details=asked.config["tier2_top_k"],
    )
    return assemble(material, found, form, budgets, counter)


def _described(asked: asking.Asked, head: dict[str, Any], form: Format, counter: TokenCounter) -> Descriptor:
    descriptor, stored = asked.index.with_counts(head)
    learn(counter, form, descriptor, stored)
    return descriptor


def _all_skills(asked: asking.Asked, found: Ranking) -> list[Descriptor]:
    if found.query.texts:
        return []
    heads = asked.index.documents.everything(Query(texts=(), kinds=("skill",)))
    return [asked.index.whole(head) for head in heads if not head.get("hidden")]


def _report(found: Ranking, context: Context) -> None:
    """What a person should know about the context that a program reads."""
    if found.query.texts and not found.hits:
        unknown = f" (no capability mentions: {output.listed(found.unmatched)})" if found.unmatched else ""
        printed = "; printed the overview alone" if any(tier.blocks for tier in context.tiers) else ""
        output.notice(f"notice: nothing fits the query{unknown}{printed}")
    for tier in context.tiers:
        for verb, clipped in (("cut", True), ("left out", False)):
            names = [f"{one.id} ({one.tokens:,} tokens)" for one in tier.dropped if one.clipped is clipped]
            if names:
                output.notice(f"notice: tier {tier.level}: {verb} to fit: {output.listed(names)}")
