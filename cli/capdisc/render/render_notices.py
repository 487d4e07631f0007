"""What a person should know about a context that a program reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from capdisc.output import console
from capdisc.render.relevant_capabilities import (
    CatalogueMode,
    CountedDescriptor,
    RelevantCapabilities,
)
from capdisc_indexer.model.types import Context, Descriptor, Hit, Ranking
from capdisc_indexer.rendering.formats.format import APPENDED, MEMORY
from capdisc_indexer.rendering.formats.text import imitates_frame
from capdisc_indexer.text.normalization import one_line

# What formats for programs say beside the context.


def build_context_facts(
    relevant: RelevantCapabilities,
    pinned: Sequence[CountedDescriptor],
    catalogue: CatalogueMode,
    diagnosed: bool,
) -> dict[str, Any]:
    """Costs, style, choice and results, each where there is something to say."""
    values: dict[str, Any] = {
        "static_tokens": catalogue.static_tokens,
        "results": _result_facts(relevant, pinned),
    }
    if catalogue.style:
        values |= {
            "style": catalogue.style.name,
            "use_tools": catalogue.style.use_tools,
            "reason": catalogue.style.reason,
        }
        values |= {"model": one_line(catalogue.style.model, 80)} if catalogue.style.model else {}
    if catalogue.allowed_tokens is not None:
        values |= {"disclosure": catalogue.choice, "allowed_tokens": catalogue.allowed_tokens}
    return values | ({"diagnostics": query_diagnostics(relevant.ranking)} if diagnosed else {})


def _result_facts(
    relevant: RelevantCapabilities, pinned: Sequence[CountedDescriptor]
) -> Callable[[str], dict[str, Any]]:
    """What tells of a capability, by its id, how it fits, and where it comes from."""
    hits = {hit.id: hit for hit in relevant.ranking.hits}
    stored = {d.id: d for d, _ in (*pinned, *relevant.stored)}

    def result_of(identifier: str) -> dict[str, Any]:
        descriptor = stored.get(identifier) or (
            relevant.everything and relevant.everything.get(identifier)
        )
        return (
            {**_hit_facts(hits.get(identifier)), "source": _relative_path(descriptor)}
            if descriptor
            else {}
        )

    return result_of


def _hit_facts(hit: Hit | None) -> dict[str, Any]:
    if hit is None:
        return {}
    return {"relevance": round(hit.relevance, 4), **({"via": hit.via} if hit.via else {})}


def _relative_path(descriptor: Descriptor) -> str:
    """The file below its root, which is the same wherever the root lies."""
    path, root = PurePath(descriptor.source.path), descriptor.source.root
    below = path.relative_to(root) if root and path.is_relative_to(root) else PurePath(path.name)
    return one_line(str(below), 120) if below.parts else path.name


def query_diagnostics(ranking: Ranking) -> dict[str, float]:
    """Where the time of the query went, in milliseconds, and how much was looked at."""
    times = ranking.timings
    stages = {
        "rankingTimeMs": "ranking",
        "embeddingTimeMs": "vectors",
        "graphTraversalTimeMs": "graph",
    }
    return {
        "queryTimeMs": round(sum(time for name, time in times.items() if name != "vectors"), 2),
        **{label: round(times.get(name, 0.0), 2) for label, name in stages.items()},
        "candidatesScanned": ranking.candidates,
        "capabilitiesRetrieved": len(ranking.hits),
    }


_SECTION_NAMES = {MEMORY: "session memory", APPENDED: "appended text"}


def print_notices(
    relevant: RelevantCapabilities, catalogue: CatalogueMode, context: Context
) -> None:
    """Say what does not fit the query or the budget, and what was chosen."""
    if relevant.is_empty and not catalogue.is_everything:
        console.print_notice(
            f"notice: nothing fits the query{_unmatched_note(relevant)}{_fallback_note(relevant, context)}"
        )
    if catalogue.allowed_tokens is not None:
        printed = "all is printed" if catalogue.is_everything else "a part is printed"
        console.print_notice(
            f"notice: all capabilities have {catalogue.static_tokens:,} tokens, {catalogue.allowed_tokens:,} are allowed: {printed}"
        )
    if (
        catalogue.style
        and catalogue.style.model
        and (catalogue.style.reason == "unknown model" or "against" in catalogue.style.reason)
    ):
        console.print_notice(
            f"notice: style {catalogue.style.name} for {catalogue.style.model}: {catalogue.style.reason}"
        )
    _name_imitations(context)
    _print_shortened(context)


def _name_imitations(context: Context) -> None:
    blocks = [block for tier in context.tiers if tier.level == 2 for block in tier.blocks]
    names = [block.id for block in blocks if imitates_frame(block.text)]
    if names:
        console.print_notice(
            f"notice: the text of {console.format_names(names)} holds lines that look like the frame around it"
        )
        console.print_notice(
            "hint: only the mark behind a name tells a frame; capdisc validate --rule markup-breakout"
        )


def print_nothing_fits(relevant: RelevantCapabilities) -> None:
    """Say that nothing fits, where that is an error."""
    console.print_notice(f"nothing fits the query{_unmatched_note(relevant)}")


def _unmatched_note(relevant: RelevantCapabilities) -> str:
    words = relevant.ranking.unmatched
    return f" (no capability mentions: {console.format_names(words)})" if words else ""


def _fallback_note(relevant: RelevantCapabilities, context: Context) -> str:
    if not any(tier.blocks for tier in context.tiers):
        return ""
    if relevant.is_everything:
        return "; printed every capability"
    alone = all(tier.level == 0 for tier in context.tiers if tier.blocks)
    return (
        "; printed the overview alone"
        if alone
        else "; printed the overview, and what is always there"
    )


def _print_shortened(context: Context) -> None:
    for tier in context.tiers:
        name = _SECTION_NAMES.get(tier.level, f"tier {tier.level}")
        for verb, clipped in (("cut", True), ("left out", False)):
            names = [
                f"{block.id} ({block.tokens:,} tokens)"
                for block in tier.dropped
                if block.clipped is clipped
            ]
            if names:
                more = 0 if clipped else tier.omitted
                console.print_notice(
                    f"notice: {name}: {verb} to fit: {console.format_names(names, suffix=more)}"
                )


def print_timings(relevant: RelevantCapabilities) -> None:
    """Say where the time of the query went."""

    console.print_notice(
        "  ".join(
            f"{name} {value:g}" for name, value in query_diagnostics(relevant.ranking).items()
        )
    )
