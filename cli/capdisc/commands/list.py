"""capdisc list: what the index holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from capdisc import asking, options, output, querying
from capdisc.declaring import option
from capdisc.exit_codes import ExitCode
from capdisc_indexer import state
from capdisc_indexer.columns import Columns, category_of
from capdisc_indexer.errors import UsageError
from capdisc_indexer.ownership import collisions
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
        columns, places = asked.index.columns, _places(asked, query, risk or (), confirm, invocable)
        if categories:
            return _categories(columns, places, json)
        if cost:
            return _cost(asked, columns, places, json)
        if json:
            output.long_document({"capabilities": []}, "capabilities", map(_row, _heads(asked, places)))
        elif ids:
            output.long_lines(columns.ids[place] for place in places)
        else:
            output.long_lines(_listing(asked, places))
        if not places:
            output.notice("notice: there is nothing to list")
    return ExitCode.OK if places else ExitCode.FINDINGS


def _places(asked: asking.Asked, query: Query, risks: Sequence[str], confirm: bool, invocable: bool) -> Sequence[int]:
    """The places in the index's columns of all that pass the filters. Raises UsageError for an unknown risk."""
    if wrong := [each for each in risks if each not in RISKS]:
        raise UsageError(f"unknown risk {wrong[0]!r}", f"one of: {', '.join(RISKS)}")
    columns = asked.index.columns
    places = columns.matching(query)
    if query.tags or risks or confirm:  # which only the documents know
        ids = {
            head["id"]
            for head in asked.index.heads(query)
            if (not risks or (head.get("risk") or RISKS[0]) in risks) and (head.get("confirm") or not confirm)
        }
        places = [place for place in places if columns.ids[place] in ids]
    return [place for place in places if place not in columns.hidden] if invocable else places


def _heads(asked: asking.Asked, places: Sequence[int]) -> Iterator[dict[str, Any]]:
    ids = asked.index.columns.ids
    return asked.index.documents.in_order([ids[place] for place in places], Query(texts=()))


def _categories(columns: Columns, places: Sequence[int], json: bool) -> int:
    counted = Counter(category_of(columns, place) for place in places)
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    if json:
        output.document({"categories": [{"category": name, "count": number} for name, number in rows]})
    elif rows:
        output.lines(output.table(("count", "category"), ((number, one_line(name)) for name, number in rows)))
    return ExitCode.OK if rows else ExitCode.FINDINGS


def _row(head: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "kind", "name", "title", "category", "tags", "description", "hidden", "risk", "confirm")
    return {key: head[key] for key in keys if key in head} | {"path": head["source"]["path"]}


def _listing(asked: asking.Asked, places: Sequence[int]) -> Iterator[str]:
    """Grouped by category, largest first."""
    groups: dict[str, list[int]] = {}
    for place in places:
        groups.setdefault(category_of(asked.index.columns, place), []).append(place)
    for number, category in enumerate(sorted(groups, key=lambda name: (-len(groups[name]), name))):
        group = groups[category]
        yield from ("",) if number else ()
        yield f"{one_line(category) if number else category} ({len(group)})"
        width = min(max(len(asked.index.columns.ids[place]) for place in group), 44)
        for head in _heads(asked, group):
            yield f"  {head['id'].ljust(width)}  {one_line(head['description'], 90)}"


def _cost(asked: asking.Asked, columns: Columns, places: Sequence[int], json: bool) -> int:
    """The static dump of all capabilities against what a rendered context may cost at most, as the build counted
    it."""
    order = sorted(places, key=lambda place: (-columns.tokens[place], columns.ids[place]))
    total, budget = sum(columns.tokens[place] for place in places), asked.config["budget"]
    listing = sum(columns.listing_tokens[place] for place in places)
    if json:
        facts = {"tokenizer": TOKENIZER, "total": total, "listing": listing, "budget": budget}
        facts |= {"saved_percent": _saved(budget, total), "saved_percent_of_listing": _saved(budget, listing)}
        rows = ({"id": columns.ids[place], "tokens": columns.tokens[place]} for place in order)
        output.long_document(facts | {"each": []}, "each", rows)
    else:
        table = output.table(("tokens", "capability"), ((f"{columns.tokens[at]:,}", columns.ids[at]) for at in order))
        output.lines(table)
        names = f"names and descriptions alone: {listing:,}"
        output.lines([f"all {len(order):,} in full: {total:,} tokens ({TOKENIZER}); {names}"])
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
