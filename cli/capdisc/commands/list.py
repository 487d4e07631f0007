"""capdisc list: what the index holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from capdisc import asking, options, output, querying
from capdisc.declaring import option
from capdisc.exit_codes import ExitCode
from capdisc_indexer import state
from capdisc_indexer.engines import token_count
from capdisc_indexer.errors import UsageError
from capdisc_indexer.ownership import collisions
from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.store.schema import RISKS
from capdisc_indexer.text import one_line
from capdisc_indexer.tokens import TOKENIZER
from capdisc_indexer.types import Query


def list_(
    kind: options.Kind = None,
    category: options.Category = None,
    tag: options.Tag = None,
    risk: Annotated[list[str] | None, option("--risk", help="Only of this risk (repeatable).")] = None,
    confirm: Annotated[bool, option("--confirm", help="Only what asks before it acts.")] = False,
    invocable: Annotated[bool, option("--invocable", help="Only what agents are told about.")] = False,
    categories: Annotated[bool, option("--categories", help="The categories with their counts.")] = False,
    ids: Annotated[bool, option("--ids", help="Print ids only, one a line.")] = False,
    cost: Annotated[bool, option("--cost", help="Tokens of each in full, most first, and of all together.")] = False,
    shadowed: Annotated[bool, option("--shadowed", help="Those whose id was taken, and by which file.")] = False,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """List the capabilities by category, or what each would cost in a prompt.

    Example: capdisc list --cost
    """
    with asking.opened(index_dir) as asked:
        if shadowed:
            return _shadowed(asked, json)
        query = Query(texts=(), kinds=tuple(kind or ()), categories=tuple(category or ()), tags=tuple(tag or ()))
        querying.check(asked, query)
        heads = _wanted(list(asked.index.documents.everything(query)), risk or (), confirm, invocable)
        if categories:
            return _categories(heads, json)
        if cost:
            return _cost(asked, heads, json)
        if json:
            output.document({"capabilities": [_row(head) for head in heads]})
        elif ids:
            output.lines(head["id"] for head in heads)
        else:
            output.lines(_listing(heads))
        if not heads:
            output.notice("notice: there is nothing to list")
    return ExitCode.OK if heads else ExitCode.FINDINGS


def _wanted(heads: list[dict[str, Any]], risks: Sequence[str], confirm: bool, invocable: bool) -> list[dict[str, Any]]:
    if wrong := [each for each in risks if each not in RISKS]:
        raise UsageError(f"unknown risk {wrong[0]!r}", f"one of: {', '.join(RISKS)}")
    return [
        head
        for head in heads
        if (not risks or (head.get("risk") or RISKS[0]) in risks)
        and (head.get("confirm") or not confirm)
        and not (invocable and head.get("hidden"))
    ]


def _categories(heads: list[dict[str, Any]], json: bool) -> int:
    counted = Counter(head.get("category") or UNCATEGORISED for head in heads)
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    if json:
        output.document({"categories": [{"category": name, "count": number} for name, number in rows]})
    elif rows:
        output.lines(output.table(("count", "category"), ((number, one_line(name)) for name, number in rows)))
    return ExitCode.OK if rows else ExitCode.FINDINGS


def _row(head: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "kind", "name", "title", "category", "tags", "description", "hidden", "risk", "confirm")
    return {key: head[key] for key in keys if key in head} | {"path": head["source"]["path"]}


def _listing(heads: list[dict[str, Any]]) -> list[str]:
    """Grouped by category, largest first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for head in heads:
        groups.setdefault(head.get("category") or UNCATEGORISED, []).append(head)
    printed: list[str] = []
    for category in sorted(groups, key=lambda name: (-len(groups[name]), name)):
        printed += (
            ["", f"{one_line(category)} ({len(groups[category])})"]
            if printed
            else [f"{category} ({len(groups[category])})"]
        )
        width = max(len(head["id"]) for head in groups[category])
        for head in groups[category]:
            printed.append(f"  {head['id'].ljust(min(width, 44))}  {one_line(head['description'], 90)}")
    return printed


def _cost(asked: asking.Asked, heads: list[dict[str, Any]], json: bool) -> int:
    """The static dump of all capabilities against what a rendered context may cost at most."""
    count = token_count()
    counted = sorted(((count(asked.index.dump(head)), head["id"]) for head in heads), key=lambda row: (-row[0], row[1]))
    total, budget = sum(tokens for tokens, _ in counted), asked.config["budget"]
    # What clients that load bodies on demand put into every prompt all the same.
    listing = sum(count(f"{head['name']}: {head['description']}\n") for head in heads)
    if json:
        facts = {"tokenizer": TOKENIZER, "total": total, "listing": listing, "budget": budget}
        facts |= {"saved_percent": _saved(budget, total), "saved_percent_of_listing": _saved(budget, listing)}
        output.document(facts | {"each": [{"id": identifier, "tokens": tokens} for tokens, identifier in counted]})
    else:
        rows = ((f"{tokens:,}", identifier) for tokens, identifier in counted)
        output.lines(output.table(("tokens", "capability"), rows))
        names = f"names and descriptions alone: {listing:,}"
        output.lines([f"all {len(counted):,} in full: {total:,} tokens ({TOKENIZER}); {names}"])
        fewer = f"{_saved(budget, total)} % and {_saved(budget, listing)} % fewer"
        output.lines([f"a rendered context: at most {budget:,}, {fewer}"])
    return ExitCode.OK


def _saved(budget: int, tokens: int) -> float:
    return round(100 * (1 - budget / tokens), 1) if tokens > budget else 0.0


def _shadowed(asked: asking.Asked, json: bool) -> int:
    found = collisions(state.load(asked.index.folder / "meta" / "files.json").files)
    if json:
        output.document({"findings": found})
    else:
        output.lines(f"{one.path}: {one.message} ({one.hint})" for one in found)
    return ExitCode.OK
