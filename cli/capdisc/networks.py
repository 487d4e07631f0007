"""How `capdisc graph` prints a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from capdisc import output
from capdisc_indexer.relations import network
from capdisc_indexer.relations.drawing import DRAWINGS
from capdisc_indexer.relations.values import Network, Relation
from capdisc_indexer.text import one_line

# Edges for each capability that is printed: a picture with more shows none of them.
EDGES_EACH = 5
_ID = 60

Printer = Callable[[Network, Sequence[str]], str]


def _table(shown: Network, roots: Sequence[str]) -> str:
    """A line for each edge, seen from the capability that was asked for."""
    rows = [_row(each, roots) for each in shown.relations]
    if not rows:
        return ""
    return "\n".join(output.safe(line) for line in output.table(("capability", "", "capability", "weight", "by"), rows))


def _row(relation: Relation, roots: Sequence[str]) -> tuple[str, ...]:
    source, target, arrow = relation.source, relation.target, "→" if relation.directed else "–"
    if target in roots and source not in roots:
        source, target, arrow = target, source, "←" if relation.directed else arrow
    kind = f"{arrow} {one_line(relation.kind, 40)}"
    return (one_line(source, _ID), kind, one_line(target, _ID), f"{relation.weight:g}", one_line(relation.why, 60))


def _json(shown: Network, roots: Sequence[str]) -> str:
    return output.json_text(
        {
            "schema_version": output.SCHEMA_VERSION,
            "ids": list(roots),
            "nodes": [_node(key, depth) for key, depth in shown.depths.items()],
            "edges": [_edge(each) for each in shown.relations],
            "unresolved": shown.unresolved,
            "ignored": shown.ignored,
            "left_out": shown.left_out,
        }
    )


def _node(identifier: str, depth: int) -> dict[str, Any]:
    return {"id": identifier, "kind": identifier.partition(":")[0], "depth": depth}


def _edge(each: Relation) -> dict[str, Any]:
    return {key: getattr(each, key) for key in ("source", "target", "kind", "weight", "directed", "why")}


def _drawn(name: str) -> Printer:
    return lambda shown, roots: DRAWINGS[name](shown)


FORMATS: dict[str, Printer] = {"table": _table, "json": _json, **{name: _drawn(name) for name in DRAWINGS}}


def print_stats(found: Network, form: str) -> None:
    """Print the numbers."""
    facts = network.stats(found)
    if form == "json":
        output.document(facts)
        return
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in facts["kinds"].items())
    most = ", ".join(f"{each['id']} ({each['neighbours']})" for each in facts["most_connected"])
    output.lines(
        [
            f"capabilities  {facts['capabilities']:,}, {facts['alone']:,} of them without an edge",
            f"edges         {facts['edges']:,} between {facts['pairs']:,} pairs: {kinds}",
            f"connected     {most}",
            f"unresolved    {facts['unresolved']:,}",
            f"not counted   {output.listed(facts['ignored'], 5) or 'nothing'}",
        ]
    )


def report(shown: Network) -> None:
    """Say on stderr what leads nowhere, and what was left out."""
    if shown.unresolved:
        counts = Counter(f"{one_line(each.target, 60)} (by {each.why})" for each in shown.unresolved)
        total = len(shown.unresolved) + shown.left_out.get("unresolved", 0)
        names = [f"{name} {count} times" if count > 1 else name for name, count in counts.most_common()]
        output.notice(f"notice: {total:,} lead to nothing in the index: {output.listed(names, 5)}")
    if not shown.relations:
        output.notice("notice: no relation fits")
    missing = [f"{count:,} {what}" for what, count in shown.left_out.items() if count and what != "unresolved"]
    if missing:
        output.notice(f"notice: left out: {', '.join(missing)} (--limit, --min-weight or --edge choose)")
