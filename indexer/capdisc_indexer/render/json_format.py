"""JSON: the tiers as data, for a program that builds its own prompt; the prompt itself where a template lays it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.frozen import replace
from capdisc_indexer.render import text
from capdisc_indexer.render.format import ADDED, MEMORY, Format
from capdisc_indexer.render.layout import split, whole
from capdisc_indexer.text import one_line
from capdisc_indexer.types import UNLIMITED, Block, Context, Tier

SCHEMA_VERSION = 1
# The query is said back within the budget, so a long prompt must not use it up.
QUERY_CHARACTERS = 160
_BESIDE = {MEMORY: "memory", ADDED: "append"}


def printed(form: Format, context: Context) -> str:
    """The context as one JSON document, compact: its braces count too."""
    ranking = context.ranking
    document = {
        "schema_version": SCHEMA_VERSION,
        "query": [one_line(text, QUERY_CHARACTERS) for text in ranking.query.texts],
        "confidence": round(ranking.confidence, 4),
        "mode": ranking.mode,
        "unmatched": [one_line(word, 40) for word in ranking.unmatched[:10]],
        "degraded": list(ranking.degraded),
        "tokenizer": context.tokenizer,
        "budget": context.budgets.total if context.budgets.total < UNLIMITED else None,
        **_compared(context),
        **{key: value for key, value in context.printing.facts.items() if key not in ("results", "static_tokens")},
        **_prompt(context),
        "tiers": _tiers(context),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _compared(context: Context) -> dict[str, Any]:
    """What the prompt costs, part by part, and against all capabilities in full."""
    counts = {_name(tier): tier.tokens for tier in context.tiers}
    made: dict[str, Any] = {
        "tokenEstimate": {**counts, "total": sum(counts.values())},
        "tokens": context.text_tokens,
    }
    static = context.printing.facts.get("static_tokens")
    if static is None:
        return made
    return {**made, "static_tokens": static, "savings_percent": saved_percent(context.text_tokens, static)}


def saved_percent(tokens: int, static: int) -> int:
    """How many per cent fewer `tokens` are than `static`; negative when they are more.

    >>> saved_percent(150, 1000), saved_percent(10, 0)
    (85, 0)
    """
    return round((1 - tokens / static) * 100) if static else 0


def _name(tier: Tier) -> str:
    return _BESIDE.get(tier.level, f"tier{tier.level}")


def _prompt(context: Context) -> dict[str, Any]:
    """The text itself, where it is more than its tiers."""
    printing = context.printing
    if printing.split:
        before, after = split(text.FORMAT, context)
        halves = {"prefix": before, "suffix": after}
        return halves if printing.split == "both" else {printing.split: halves[printing.split]}
    if printing.layout:
        return {"prompt": whole(text.FORMAT, context)}
    return {_name(tier): _texts(tier) for tier in context.tiers if tier.level in _BESIDE and tier.blocks}


def _texts(tier: Tier) -> str:
    return "".join(block.text for block in tier.blocks).rstrip("\n")


def _tiers(context: Context) -> list[dict[str, Any]]:
    """The tiers; what is known of a capability stands where it comes first."""
    result_of = context.printing.facts.get("results", _nothing_known)
    own = bool(context.printing.layout or context.printing.split)
    said: set[str] = set()
    tiers = (tier for tier in context.tiers if tier.level not in _BESIDE)
    return [_tier(tier, result_of, said, own) for tier in tiers]


def _nothing_known(_: str) -> Mapping[str, Any]:
    return {}


def _tier(tier: Tier, result_of: Callable[[str], Mapping[str, Any]], said: set[str], own: bool) -> dict[str, Any]:
    blocks = []
    for block in tier.blocks:
        result = result_of(block.id) if tier.level and block.id not in said else {}
        said |= {block.id} if tier.level else set()
        blocks.append(_block(block, own, result))
    return {
        "level": tier.level,
        "tokens": tier.tokens,
        "blocks": blocks,
        "cut": [one.id for one in tier.dropped if one.clipped],
        "left_out": [one.id for one in tier.dropped if not one.clipped and tier.level],
        "left_out_count": sum(not one.clipped for one in tier.dropped) + tier.omitted,
    }


def _block(block: Block, own: bool, result: Mapping[str, Any]) -> dict[str, Any]:
    """A block with its text, unless the prompt holds it, and what is known of its capability."""
    imitation = {"imitates_frame": True} if text.imitates_frame(block.text) else {}
    return {"id": block.id, **result, **imitation, **({} if own else {"text": block.text.rstrip("\n")})}


FORMAT = replace(text.FORMAT, name="json", printed=printed, additive=False)
