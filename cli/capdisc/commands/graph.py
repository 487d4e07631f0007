"""capdisc graph: how capabilities belong together."""

from __future__ import annotations

from typing import Annotated

from capdisc import asking, networks, options, output
from capdisc.declaring import argument, option
from capdisc.exit_codes import ExitCode
from capdisc_indexer.errors import UsageError
from capdisc_indexer.relations import network
from capdisc_indexer.relations.values import Network


def graph(
    ids: Annotated[list[str] | None, argument(metavar="[ID]...", help="Ids or names; without: all.")] = None,
    depth: Annotated[int, option("--depth", min=1, max=8, help="How many steps from the ids.")] = 1,
    edge: Annotated[list[str] | None, option("--edge", metavar="KIND", help="Only this kind (repeatable).")] = None,
    min_weight: Annotated[
        float, option("--min-weight", min=0, max=1, callback=options.finite, help="Only edges at least so heavy.")
    ] = 0.0,
    limit: Annotated[int, option("-k", "--limit", min=1, max=5000, help="How many capabilities at most.")] = 100,
    format: Annotated[str, option("--format", help="table, json, dot, mermaid or svg.")] = "table",
    stats: Annotated[bool, option("--stats", help="Numbers about the edges instead of the edges.")] = False,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Print what capabilities have to do with each other: what they require, go with, share tags or a category with.

    With ids: their relations, heaviest first, or all within --depth steps. Without: all of the index. Exit status 1:
    there are none.

    Example: capdisc graph send-invoice --depth 2 --format mermaid
    """
    form = "json" if json else format
    if form not in networks.FORMATS:
        raise UsageError(f"unknown format {format!r}", f"one of: {', '.join(networks.FORMATS)}")
    if stats and form not in ("table", "json"):
        raise UsageError(f"--stats are numbers, not a picture ({form})", "leave --format out, or print --json")
    with asking.opened(index_dir) as asked:
        roots = [asked.index.descriptor(name).id for name in dict.fromkeys(ids or ())]
        every = network.whole(asked.index)
    found = network.among(every, _kinds(every, edge or []), min_weight)
    found = network.around(found, roots, depth) if roots else found
    if stats:
        networks.print_stats(found, form)
        return ExitCode.OK
    shown = network.limited(found if roots else network.connected(found), limit, networks.EDGES_EACH * limit)
    output.result(networks.FORMATS[form](shown, roots))
    networks.report(shown)
    return ExitCode.OK if shown.relations else ExitCode.FINDINGS


def _kinds(every: Network, asked: list[str]) -> set[str]:
    """The kinds of edges. Raises UsageError for one that there is not."""
    wanted = {kind.upper().replace("-", "_") for kind in asked}
    wanted = {"REQUIRES" if kind == "DEPENDS_ON" else kind for kind in wanted}
    known = {each.kind for each in every.relations} | set(network.KINDS)
    if unknown := sorted(wanted - known):
        raise UsageError(f"unknown kind of edge {unknown[0]!r}", f"one of: {', '.join(sorted(known))}")
    return wanted
