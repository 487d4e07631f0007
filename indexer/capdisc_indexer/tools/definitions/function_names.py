"""Names that a provider accepts, each once, and the same for a capability however many others
there are with it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.tools.definitions.definition_types import Definition
from capdisc_indexer.tools.name_lookup import local_name

_SUFFIX_LENGTH = 8


@frozen(kw_only=True)
class NameRule:
    """What a name must be: without the `refused` characters, at most so long, beginning as `first`
    says.
    """

    refused: str
    max_length: int
    first: str = r"[A-Za-z0-9_-]"


def assign_names(definitions: Sequence[Definition], rule: NameRule) -> dict[str, str]:
    """The name of each by its id: its own where that is free and accepted; with its server,
    database or API before it where several share one; with a mark of its id where that is not
    enough either. Ours keep theirs in any case.
    """
    called = {
        definition.id: definition.name
        if definition.is_ours
        else make_valid_name(definition.name, definition.id, rule)
        for definition in definitions
    }
    ours = {definition.name for definition in definitions if definition.is_ours}
    for further in (_qualify_name, _add_suffix):
        name_counts = Counter(called.values())
        for definition in definitions:
            if not definition.is_ours and (
                name_counts[called[definition.id]] > 1 or called[definition.id] in ours
            ):
                called[definition.id] = further(definition, rule)
    return called


def make_valid_name(name: str, identifier: str, rule: NameRule) -> str:
    """The name without what is refused; one that is too long, or has nothing left, ends in a mark
    of its id.

    >>> make_valid_name("Summarize Detection", "tool:x", NameRule(refused_pattern="[^a-zA-Z0-9_-]", max_length=64))
    'Summarize_Detection'
    """
    valid_name = (
        re.sub(r"_{2,}", "_", re.sub(rule.refused, "_", name))
        if re.search(rule.refused, name)
        else name
    )
    if not re.search("[A-Za-z0-9]", valid_name):
        valid_name = f"{identifier.partition(':')[0]}_{_id_suffix(identifier)}"
    if not re.match(rule.first, valid_name):
        valid_name = f"_{valid_name}"
    return (
        valid_name
        if len(valid_name) <= rule.max_length
        else f"{valid_name[: rule.max_length - _SUFFIX_LENGTH - 1]}_{_id_suffix(identifier)}"
    )


def _qualify_name(definition: Definition, rule: NameRule) -> str:
    path = local_name(definition.id)
    return make_valid_name(
        path.replace(".", "_") if "." in path else f"{definition.kind}_{definition.name}",
        definition.id,
        rule,
    )


def _add_suffix(definition: Definition, rule: NameRule) -> str:
    return f"{make_valid_name(definition.name, definition.id, rule)[: rule.max_length - _SUFFIX_LENGTH - 1]}_{_id_suffix(definition.id)}"


def _id_suffix(identifier: str) -> str:
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:_SUFFIX_LENGTH]
