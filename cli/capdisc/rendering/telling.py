"""What a person should know about a context that a program reads."""

from __future__ import annotations

from capdisc import output
from capdisc.rendering.disclosing import Disclosure
from capdisc.rendering.finding import Found
from capdisc_indexer.render.format import ADDED, MEMORY
from capdisc_indexer.render.text import imitates_frame
from capdisc_indexer.types import Context

_NAMES = {MEMORY: "session memory", ADDED: "appended text"}


def tell(found: Found, told: Disclosure, context: Context) -> None:
    """Say what does not fit the query or the budget, and what was chosen."""
    if found.is_empty and not told.is_everything:
        output.notice(f"notice: nothing fits the query{_unknown(found)}{_instead(found, context)}")
    if told.allowed is not None:
        printed = "all is printed" if told.is_everything else "a part is printed"
        output.notice(
            f"notice: all capabilities have {told.static_tokens:,} tokens, {told.allowed:,} are allowed: {printed}"
        )
    if told.style and told.style.model and (told.style.reason == "unknown model" or "against" in told.style.reason):
        output.notice(f"notice: style {told.style.name} for {told.style.model}: {told.style.reason}")
    _name_imitations(context)
    _shortened(context)


def _name_imitations(context: Context) -> None:
    blocks = [block for tier in context.tiers if tier.level == 2 for block in tier.blocks]
    names = [block.id for block in blocks if imitates_frame(block.text)]
    if names:
        output.notice(f"notice: the text of {output.listed(names)} holds lines that look like the frame around it")
        output.notice("hint: only the mark behind a name tells a frame; capdisc validate --rule markup-breakout")


def nothing(found: Found) -> None:
    """Say that nothing fits, where that is an error."""
    output.notice(f"nothing fits the query{_unknown(found)}")


def _unknown(found: Found) -> str:
    words = found.ranking.unmatched
    return f" (no capability mentions: {output.listed(words)})" if words else ""


def _instead(found: Found, context: Context) -> str:
    if not any(tier.blocks for tier in context.tiers):
        return ""
    if found.is_everything:
        return "; printed every capability"
    alone = all(tier.level == 0 for tier in context.tiers if tier.blocks)
    return "; printed the overview alone" if alone else "; printed the overview, and what is always there"


def _shortened(context: Context) -> None:
    for tier in context.tiers:
        name = _NAMES.get(tier.level, f"tier {tier.level}")
        for verb, clipped in (("cut", True), ("left out", False)):
            names = [f"{one.id} ({one.tokens:,} tokens)" for one in tier.dropped if one.clipped is clipped]
            if names:
                more = 0 if clipped else tier.omitted
                output.notice(f"notice: {name}: {verb} to fit: {output.listed(names, more=more)}")


def times(found: Found) -> None:
    """Say where the time of the query went."""
    from capdisc.rendering.facts import diagnostics

    output.notice("  ".join(f"{name} {value:g}" for name, value in diagnostics(found.ranking).items()))
