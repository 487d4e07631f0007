"""Messages: what stays the same from turn to turn as the system's, the rest and the request as the
user's.
"""

from __future__ import annotations

import json

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Context
from capdisc_indexer.rendering.formats import text
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import format_halves


def format_messages(form: RenderFormat, context: Context) -> str:
    """The context as a JSON list of messages, compact; of a split, the one that is asked for."""
    before, after = (half.rstrip("\n") for half in format_halves(text.FORMAT, context))
    request = context.printing.request
    user = "\n\n".join(part for part in (after, request) if part)
    spoken = {"prefix": [("system", before)], "suffix": [("user", user)]}
    roles = spoken.get(context.printing.split, [("system", before), ("user", user)])
    messages = [{"role": role, "content": content} for role, content in roles if content]
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":")) + "\n"


FORMAT = replace(text.FORMAT, name="messages", format_context=format_messages, additive=False)
