"""Names that a provider accepts, each once, and the same for a capability however many others there are with it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from capdisc_indexer.frozen import frozen
from capdisc_indexer.tools.definitions.values import Definition
from capdisc_indexer.tools.lookup import tail

_MARK = 8


@frozen(kw_only=True)
class NameRule:
    """What a name must be: without the `refused` characters, at most so long, beginning as `first` says."""

    refused: str
    longest: int
    first: str = r"[A-Za-z0-9_-]"


def names(definitions: Sequence[Definition], rule: NameRule) -> dict[str, str]:
    """The name of each by its id: its own where that is free and accepted; with its server, database or API before it
    where several share one; with a mark of its id where that is not enough either. Ours keep theirs in any case."""
    called = {each.id: each.name if each.is_ours else valid(each.name, each.id, rule) for each in definitions}
    ours = {each.name for each in definitions if each.is_ours}
    for further in (_qualified, _marked):
        held = Counter(called.values())
        for each in definitions:
            if not each.is_ours and (held[called[each.id]] > 1 or called[each.id] in ours):
                called[each.id] = further(each, rule)
    return called


def valid(name: str, identifier: str, rule: NameRule) -> str:
    """The name without what is refused; one that is too long, or has nothing left, ends in a mark of its id.

    >>> valid("Summarize Detection", "tool:x", NameRule(refused="[^a-zA-Z0-9_-]", longest=64))
    'Summarize_Detection'
    """
    made = re.sub(r"_{2,}", "_", re.sub(rule.refused, "_", name)) if re.search(rule.refused, name) else name
    if not re.search("[A-Za-z0-9]", made):
        made = f"{identifier.partition(':')[0]}_{_mark(identifier)}"
    if not re.match(rule.first, made):
        made = f"_{made}"
    return made if len(made) <= rule.longest else f"{made[: rule.longest - _MARK - 1]}_{_mark(identifier)}"


def _qualified(each: Definition, rule: NameRule) -> str:
    path = tail(each.id)
    return valid(path.replace(".", "_") if "." in path else f"{each.kind}_{each.name}", each.id, rule)


def _marked(each: Definition, rule: NameRule) -> str:
    return f"{valid(each.name, each.id, rule)[: rule.longest - _MARK - 1]}_{_mark(each.id)}"


def _mark(identifier: str) -> str:
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:_MARK]
