"""What a person should know about a context that a program reads."""

from __future__ import annotations

from capdisc.output import console
from capdisc.render.catalogue_mode import CatalogueMode
from capdisc.render.relevant_capabilities import RelevantCapabilities
from capdisc_indexer.model.types import Context
from capdisc_indexer.rendering.formats.format import APPENDED, MEMORY
from capdisc_indexer.rendering.formats.text import imitates_frame

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
    from capdisc.render.context_facts import query_diagnostics

    console.print_notice(
        "  ".join(
            f"{name} {value:g}" for name, value in query_diagnostics(relevant.ranking).items()
        )
    )
