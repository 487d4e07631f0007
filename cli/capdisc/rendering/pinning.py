"""The capabilities that the setting `pin` names: each has its line in every prompt, as it is in every list of tools.

A manifest cannot ask for that: whoever may write into an indexed folder would stand in every prompt.
"""

from __future__ import annotations

from capdisc import asking, output
from capdisc.rendering.finding import Stored
from capdisc_indexer.frozen import replace
from capdisc_indexer.types import Query


def pinned(asked: asking.Asked, query: Query) -> tuple[Stored, ...]:
    """Those of them that pass the query's filters, in the order of the setting. One that is not there is named on
    stderr."""
    heads = {name: asked.index.resolve(name) for name in asked.config["pin"]}
    for name in (name for name, head in heads.items() if head is None):
        output.notice(f"notice: there is no {name}, which is pinned")
    ids = list(dict.fromkeys(head["id"] for head in heads.values() if head))
    kept = asked.index.documents.passing(ids, replace(query, texts=())) if ids else {}
    usable = [
        each for each in ids if each in kept and (not query.available or asking.available(asked.here, kept[each]))
    ]
    return tuple(asked.index.with_counts(kept[each]) for each in usable)
