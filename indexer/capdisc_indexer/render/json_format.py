"""JSON: the tiers as data, for a program that builds its own prompt."""

from __future__ import annotations

import json
from dataclasses import replace

from capdisc_indexer.render import text
from capdisc_indexer.render.format import Format
from capdisc_indexer.types import Context

SCHEMA_VERSION = 1


def printed(form: Format, context: Context) -> str:
    """The context as one JSON document, compact: its braces count too."""
    tiers = [
        {
            "level": tier.level,
            "tokens": tier.tokens,
            "blocks": [{"id": block.id, "text": block.text.rstrip("\n")} for block in tier.blocks],
            "cut": [one.id for one in tier.dropped if one.clipped],
            "left_out": [one.id for one in tier.dropped if not one.clipped],
        }
        for tier in context.tiers
    ]
    document = {
        "schema_version": SCHEMA_VERSION,
        "query": list(context.ranking.query.texts),
        "confidence": round(context.ranking.confidence, 4),
        "unmatched": list(context.ranking.unmatched),
        "degraded": list(context.ranking.degraded),
        "tokenizer": context.tokenizer,
        "budget": context.budgets.total,
        "tiers": tiers,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


FORMAT = replace(text.FORMAT, name="json", printed=printed, additive=False)
