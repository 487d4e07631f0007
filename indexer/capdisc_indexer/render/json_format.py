"""JSON: the tiers as data, for a program that builds its own prompt."""

from __future__ import annotations

import json
from dataclasses import replace

from capdisc_indexer.render import text
from capdisc_indexer.render.format import Format
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Context

SCHEMA_VERSION = 1
# The query is said back within the budget, so a long prompt must not use it up.
QUERY_CHARACTERS = 160


def printed(form: Format, context: Context) -> str:
    """The context as one JSON document, compact: its braces count too."""
    tiers = [
        {
            "level": tier.level,
            "tokens": tier.tokens,
            "blocks": [{"id": block.id, "text": block.text.rstrip("\n")} for block in tier.blocks],
            "cut": [one.id for one in tier.dropped if one.clipped],
            "left_out": [one.id for one in tier.dropped if not one.clipped and tier.level],
            "left_out_count": sum(not one.clipped for one in tier.dropped),
        }
        for tier in context.tiers
    ]
    document = {
        "schema_version": SCHEMA_VERSION,
        "query": [one_line(text, QUERY_CHARACTERS) for text in context.ranking.query.texts],
        "confidence": round(context.ranking.confidence, 4),
        "unmatched": [one_line(word, 40) for word in context.ranking.unmatched[:10]],
        "degraded": list(context.ranking.degraded),
        "tokenizer": context.tokenizer,
        "budget": context.budgets.total,
        "tiers": tiers,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


FORMAT = replace(text.FORMAT, name="json", printed=printed, additive=False)
