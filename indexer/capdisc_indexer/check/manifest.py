"""CAPABILITY.yaml: rules of form beyond what reading it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.sources.nodes import Entry, MapNode, is_null
from capdisc_indexer.sources.parts import Part
from capdisc_indexer.types import Finding, Severity

# Names of capdisc's own tools, and of the bridges of other agents, which an agent calls by name.
RESERVED = frozenset(
    """
    call capdisc discover_capabilities execute_tool get_table_schema list_skills resolve_fact search_tool show_skill
    tool_search
    """.split()
)
_READING = re.compile(
    r"(?:^|[-_.])(?:get|list|search|find|fetch|read)(?:[-_.]|$)|^(?:get|list|search|find|fetch|read)[A-Z]"
)
_SHORTEST = 12


def manifest_rules(part: Part, path: str) -> Iterator[Finding]:
    """What a careful author would mend in one capability."""
    one = part.descriptor
    if one is None:
        return
    if one.name.replace("-", "_").lower() in RESERVED:
        message = f"{one.name} is the name of a tool of capdisc's own"
        yield _at(part.node, "name", path, "reserved-name", message, "choose another name")
    if one.id.partition(":")[2] not in (one.name, one.name.casefold()) and "id" in part.node.entries:
        message = f"the id {one.id[:64]} is not made of the name {one.name[:64]}"
        yield _at(part.node, "id", path, "id-mismatch", message, f"leave it out, or write {one.kind}:{one.name[:64]}")
    if len(one.description) < _SHORTEST:
        message = f"the description has only {len(one.description)} characters"
        yield _at(part.node, "description", path, "description-vague", message, "say what it does, in a sentence")
    extraction = part.node.entries.get("extraction")
    if extraction and is_null(extraction.value) and _READING.search(one.name):
        message = f"{one.name} reads something, and nothing says what to remember of it"
        hint = "write extraction: path, type, nameField, idField"
        yield _at(part.node, "extraction", path, "extraction-missing", message, hint)


def _at(node: MapNode, key: str, path: str, code: str, message: str, hint: str) -> Finding:
    place: Entry | MapNode = node.entries.get(key, node)
    return Finding(
        code=code,
        severity=Severity.WARNING,
        message=message,
        hint=hint,
        path=path,
        line=place.line,
        column=place.column,
    )
