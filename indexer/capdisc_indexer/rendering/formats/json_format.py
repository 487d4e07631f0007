"""JSON: the tiers as data, for a program that builds its own prompt; the prompt itself where a
template lays it out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import UNLIMITED, Block, Context, Tier
from capdisc_indexer.rendering.formats import text
from capdisc_indexer.rendering.formats.format import APPENDED, MEMORY, RenderFormat
from capdisc_indexer.rendering.layout import format_full_text, format_halves
from capdisc_indexer.text.normalization import one_line

SCHEMA_VERSION = 1
# The query is said back within the budget, so a long prompt must not use it up.
MAX_QUERY_ECHO = 160
_EXTRA_LEVELS = {MEMORY: "memory", APPENDED: "append"}


def format_json(form: RenderFormat, context: Context) -> str:
    """The context as one JSON document, compact: its braces count too."""
    ranking = context.ranking
    document = {
        "schema_version": SCHEMA_VERSION,
        "query": [one_line(text, MAX_QUERY_ECHO) for text in ranking.query.texts],
        "confidence": round(ranking.confidence, 4),
        "mode": ranking.mode,
        "unmatched": [one_line(word, 40) for word in ranking.unmatched[:10]],
        "degraded": list(ranking.degraded),
        "tokenizer": context.tokenizer,
        "budget": context.budgets.total if context.budgets.total < UNLIMITED else None,
        **_compare_costs(context),
        **{
            key: value
            for key, value in context.printing.facts.items()
            if key not in ("results", "static_tokens")
        },
        **_format_prompt(context),
        "tiers": _encode_tiers(context),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _compare_costs(context: Context) -> dict[str, Any]:
    """What the prompt costs, part by part, and against all capabilities in full."""
    counts = {_tier_name(tier): tier.tokens for tier in context.tiers}
    costs: dict[str, Any] = {
        "tokenEstimate": {**counts, "total": sum(counts.values())},
        "tokens": context.text_tokens,
    }
    static = context.printing.facts.get("static_tokens")
    if static is None:
        return costs
    return {
        **costs,
        "static_tokens": static,
        "savings_percent": saved_percent(context.text_tokens, static),
    }


def saved_percent(tokens: int, static: int) -> int:
    """How many per cent fewer `tokens` are than `static`; negative when they are more.

    >>> saved_percent(150, 1000), saved_percent(10, 0)
    (85, 0)
    """
    return round((1 - tokens / static) * 100) if static else 0


def _tier_name(tier: Tier) -> str:
    return _EXTRA_LEVELS.get(tier.level, f"tier{tier.level}")


def _format_prompt(context: Context) -> dict[str, Any]:
    """The text itself, where it is more than its tiers."""
    printing = context.printing
    if printing.split:
        before, after = format_halves(text.FORMAT, context)
        halves = {"prefix": before, "suffix": after}
        return halves if printing.split == "both" else {printing.split: halves[printing.split]}
    if printing.layout:
        return {"prompt": format_full_text(text.FORMAT, context)}
    return {
        _tier_name(tier): _join_blocks(tier)
        for tier in context.tiers
        if tier.level in _EXTRA_LEVELS and tier.blocks
    }


def _join_blocks(tier: Tier) -> str:
    return "".join(block.text for block in tier.blocks).rstrip("\n")


def _encode_tiers(context: Context) -> list[dict[str, Any]]:
    """The tiers; what is known of a capability stands where it comes first."""
    result_of = context.printing.facts.get("results", _nothing_known)
    has_prompt = bool(context.printing.layout or context.printing.split)
    said: set[str] = set()
    tiers = (tier for tier in context.tiers if tier.level not in _EXTRA_LEVELS)
    return [_encode_tier(tier, result_of, said, has_prompt) for tier in tiers]


def _nothing_known(_: str) -> Mapping[str, Any]:
    return {}


def _encode_tier(
    tier: Tier, result_of: Callable[[str], Mapping[str, Any]], said: set[str], has_prompt: bool
) -> dict[str, Any]:
    blocks = []
    for block in tier.blocks:
        result = result_of(block.id) if tier.level and block.id not in said else {}
        said |= {block.id} if tier.level else set()
        blocks.append(_encode_block(block, has_prompt, result))
    return {
        "level": tier.level,
        "tokens": tier.tokens,
        "blocks": blocks,
        "cut": [block.id for block in tier.dropped if block.clipped],
        "left_out": [block.id for block in tier.dropped if not block.clipped and tier.level],
        "left_out_count": sum(not block.clipped for block in tier.dropped) + tier.omitted,
    }


def _encode_block(block: Block, has_prompt: bool, result: Mapping[str, Any]) -> dict[str, Any]:
    """A block with its text, unless the prompt holds it, and what is known of its capability."""
    imitation = {"imitates_frame": True} if text.imitates_frame(block.text) else {}
    return {
        "id": block.id,
        **result,
        **imitation,
        **({} if has_prompt else {"text": block.text.rstrip("\n")}),
    }


FORMAT = replace(text.FORMAT, name="json", format_context=format_json, additive=False)
