"""The formats for programs: the tiers as JSON data, for one that builds its own prompt (the prompt
itself where a template lays it out), and the messages of a chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import UNLIMITED, Block, Context, Tier
from capdisc_indexer.rendering.formats.text import (
    LINE_BEGINNING,
    TEXT,
    imitates_frame,
    text_inside,
)
from capdisc_indexer.rendering.render_format import (
    APPENDED,
    MEMORY,
    RenderFormat,
    format_full_text,
    format_halves,
)
from capdisc_indexer.text.normalization import one_line

SCHEMA_VERSION = 1
# A budget below this has room for what was found, and not for what is known about it: the other
# fields have 200 tokens, and 30 to 60 more for each result.
MIN_FULL_DOCUMENT_TOKENS = 400
# The query is repeated within the budget, so a long prompt must not use it up.
MAX_QUERY_ECHO = 160
# So many ids of what was left out stand in a tier: each costs as much as a short line would.
_MAX_LEFT_OUT = 10
_EXTRA_LEVELS = {MEMORY: "memory", APPENDED: "append"}
# Facts that stand elsewhere in the document than among its first fields.
_PLACED_FACTS = ("results", "static_tokens")

# What is known of a capability, by its id.
ResultFacts = Callable[[str], Mapping[str, object]]


def format_json(form: RenderFormat, context: Context) -> str:
    """The context as one JSON document, compact: its braces count too."""
    document = context_document(context)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def context_document(context: Context) -> JsonObject:
    """The context as a value for any format of data; with a small budget without what is known
    about the request and the results.
    """
    if context.budgets.total < MIN_FULL_DOCUMENT_TOKENS:
        return _short_document(context)
    ranking = context.ranking
    facts = context.printing.facts
    result_facts: ResultFacts = facts.get("results", _nothing_known)
    has_prompt = bool(context.printing.layout or context.printing.split)
    return {
        "schema_version": SCHEMA_VERSION,
        "query": [one_line(text, MAX_QUERY_ECHO) for text in ranking.query.texts],
        "confidence": round(ranking.confidence, 4),
        "mode": ranking.mode,
        "unmatched": [one_line(word, 40) for word in ranking.unmatched[:10]],
        "degraded": list(ranking.degraded),
        "tokenizer": context.tokenizer,
        "budget": context.budgets.total if context.budgets.total < UNLIMITED else None,
        **_cost_fields(context),
        **{name: value for name, value in facts.items() if name not in _PLACED_FACTS},
        **_prompt_fields(context),
        "tiers": _tier_documents(context, result_facts, has_prompt),
    }


def _short_document(context: Context) -> JsonObject:
    """What was found, the path of each, and what is missing."""
    result_facts: ResultFacts = context.printing.facts.get("results", _nothing_known)
    has_prompt = bool(context.printing.layout or context.printing.split)

    def result_paths(identifier: str) -> Mapping[str, object]:
        path = result_facts(identifier).get("path")
        return {"path": path} if path else {}

    documents = _tier_documents(context, result_paths, has_prompt)
    degraded = {"degraded": list(context.ranking.degraded)} if context.ranking.degraded else {}
    return {
        "schema_version": SCHEMA_VERSION,
        **degraded,
        "tokens": context.text_tokens,
        **_prompt_fields(context),
        "tiers": [
            {"level": tier["level"], "blocks": tier["blocks"]}
            | ({"left_out_count": tier["left_out_count"]} if tier["left_out_count"] else {})
            for tier in documents
            if tier["blocks"]
        ],
    }


def _cost_fields(context: Context) -> JsonObject:
    """What the prompt costs, part by part, and against all capabilities in full. The total is that
    of the text that this context is printed as, which has frames and the line between the halves
    of a split, and which an estimate by characters rounds once.
    """
    counts = {_tier_name(tier): tier.tokens for tier in context.tiers}
    costs: JsonObject = {
        "tokenEstimate": {**counts, "total": context.text_tokens},
        "tokens": context.text_tokens,
    }
    facts = context.printing.facts
    static = facts.get("static_tokens")
    if static is None:
        return costs
    # Where the whole catalogue is printed, with its frames, nothing is saved, and nothing lost.
    is_whole = facts.get("disclosure") == "static"
    if facts.get("style") == "full":
        static = max(static, context.text_tokens)
    return {
        **costs,
        "static_tokens": static,
        "savings_percent": 0 if is_whole else saved_percent(context.text_tokens, static),
    }


def saved_percent(tokens: int, static: int) -> int:
    """How many per cent fewer `tokens` are than `static`; negative when they are more.

    >>> saved_percent(150, 1000), saved_percent(10, 0)
    (85, 0)
    """
    return round((1 - tokens / static) * 100) if static else 0


def _tier_name(tier: Tier) -> str:
    return _EXTRA_LEVELS.get(tier.level, f"tier{tier.level}")


def _prompt_fields(context: Context) -> JsonObject:
    """The text itself, where it is more than its tiers."""
    printing = context.printing
    if printing.split:
        before, after = format_halves(TEXT, context)
        halves = {"prefix": before, "suffix": after}
        return {**halves} if printing.split == "both" else {printing.split: halves[printing.split]}
    if printing.layout:
        return {"prompt": format_full_text(TEXT, context)}
    return {
        _tier_name(tier): _join_blocks(tier)
        for tier in context.tiers
        if tier.level in _EXTRA_LEVELS and tier.blocks
    }


def _join_blocks(tier: Tier) -> str:
    return "".join(block.text for block in tier.blocks).rstrip("\n")


def _tier_documents(
    context: Context, result_facts: ResultFacts, has_prompt: bool
) -> list[JsonObject]:
    """The tiers; what is known of a capability stands where it comes first."""
    described_ids: set[str] = set()
    tiers = (tier for tier in context.tiers if tier.level not in _EXTRA_LEVELS)
    return [_tier_document(tier, result_facts, described_ids, has_prompt) for tier in tiers]


def _nothing_known(_: str) -> Mapping[str, object]:
    return {}


def _tier_document(
    tier: Tier, result_facts: ResultFacts, described_ids: set[str], has_prompt: bool
) -> JsonObject:
    """One tier; the ids of its blocks are added to `described_ids`."""
    blocks = []
    for block in tier.blocks:
        is_first = bool(tier.level) and block.id not in described_ids
        blocks.append(
            _block_document(block, has_prompt, result_facts(block.id) if is_first else {})
        )
        if tier.level:
            described_ids.add(block.id)
    left_out = [block.id for block in tier.dropped if not block.clipped and tier.level]
    return {
        "level": tier.level,
        "tokens": tier.tokens,
        "blocks": blocks,
        "cut": [block.id for block in tier.dropped if block.clipped],
        "left_out": left_out[:_MAX_LEFT_OUT],
        "left_out_count": sum(not block.clipped for block in tier.dropped) + tier.omitted,
    }


def _block_document(block: Block, has_prompt: bool, facts: Mapping[str, object]) -> JsonObject:
    """A block with its text, unless the prompt holds it, and what is known of its capability.
    Where the file lies is a field: below a line it is left out.
    """
    imitation = {"imitates_frame": True} if imitates_frame(block.text) else {}
    is_line = block.text.startswith(LINE_BEGINNING)
    text = block.text.partition("\n")[0] if is_line else block.text.rstrip("\n")
    return {"id": block.id, **facts, **imitation, **({} if has_prompt else {"text": text})}


JSON = text_inside("json", format_json, needs_facts=True)


def format_messages(form: RenderFormat, context: Context) -> str:
    """The context as a compact JSON list of messages: what stays the same from turn to turn as the
    system's, the rest and the request as the user's. Of a split, the message of that half.
    """
    before, after = (half.rstrip("\n") for half in format_halves(TEXT, context))
    user = "\n\n".join(part for part in (after, context.printing.request) if part)
    roles = {"prefix": [("system", before)], "suffix": [("user", user)]}.get(
        context.printing.split, [("system", before), ("user", user)]
    )
    messages = [{"role": role, "content": content} for role, content in roles if content]
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":")) + "\n"


MESSAGES = text_inside("messages", format_messages, needs_request=True, is_always_split=True)
