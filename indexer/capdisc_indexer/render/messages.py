"""Messages: what stays the same from turn to turn as the system's, the rest and the request as the user's."""

from __future__ import annotations

import json

from capdisc_indexer.frozen import replace
from capdisc_indexer.render import text
from capdisc_indexer.render.format import Format
from capdisc_indexer.render.layout import split
from capdisc_indexer.types import Context


def printed(form: Format, context: Context) -> str:
    """The context as a JSON list of messages, compact; of a split, the one that is asked for."""
    before, after = (half.rstrip("\n") for half in split(text.FORMAT, context))
    request = context.printing.request
    user = "\n\n".join(part for part in (after, request) if part)
    spoken = {"prefix": [("system", before)], "suffix": [("user", user)]}
    roles = spoken.get(context.printing.split, [("system", before), ("user", user)])
    messages = [{"role": role, "content": content} for role, content in roles if content]
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":")) + "\n"


FORMAT = replace(text.FORMAT, name="messages", printed=printed, additive=False)
