"""The report of `capdisc audit`: sections for a person, as text or Markdown, and a document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capdisc.output import console, terminal
from capdisc.output.terminal import ColumnStyle
from capdisc_audit.listing_budgets import (
    LARGE_WINDOW,
    UNSEEN_STATES,
    Listing,
    ListingState,
    needed_share,
)
from capdisc_audit.overlaps import PHRASE_DEPTH
from capdisc_audit.skill_audit import AuditReport, ClientReport, SkillCost, problem_counts
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import DEFAULT_TOKENIZER

_ID_WIDTH, _REQUEST_WIDTH = 60, 60
# Shorter descriptions are advised where they would keep this share of their length.
_LEAST_AVERAGE = 0.3
# A list that takes more of the window than this is not advised.
_LARGEST_SHARE = 0.1


@frozen(kw_only=True)
class ReportSection:
    """One part of the report: lines of text, a table (`headings` and `rows`), and how many rows
    were left out. Lines that are `labelled` begin with a label in nine columns.
    """

    title: str
    lines: Sequence[str] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    omitted: int = 0
    labelled: bool = False


# The report for a person.


_LABEL_WIDTH = 9
_NUMBER = re.compile(r"[\d,.]+(?: of [\d,]+)?|-")


def make_sections(report: AuditReport, limit: int) -> list[ReportSection]:
    """The sections of the report, with at most `limit` rows each (0: all)."""
    number = _count_all(report)
    head = ReportSection(
        title=number,
        lines=[
            f"names and descriptions: {report.listing_tokens:,} tokens; "
            f"everything loaded: {report.loaded_tokens:,} ({DEFAULT_TOKENIZER})"
        ],
    )
    sections = [head, *_make_client_sections(report, limit), *_make_skill_sections(report, limit)]
    if advice := list(_advise(report)):
        sections.append(ReportSection(title="to do", lines=advice))
    return sections


def _count_all(report: AuditReport) -> str:
    plural = "capabilities" if report.noun == "capability" else ""
    return console.format_count(report.total, report.noun, plural)


def _limited(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], limit: int, *lines: str
) -> ReportSection:
    shown = rows[:limit] if limit else rows
    return ReportSection(
        title=title,
        lines=lines,
        headings=headings,
        rows=shown,
        omitted=len(rows) - len(shown),
    )


def _make_client_sections(report: AuditReport, limit: int) -> Iterator[ReportSection]:
    if not report.is_detailed:
        headings = ("client", "budget", "needed", "in full", "cut", "name only", "left out")
        yield ReportSection(
            title="what each client lists",
            headings=headings,
            rows=[_client_row(client) for client in report.clients],
        )
        return
    client = report.clients[0]
    yield ReportSection(
        title=client.rule.title,
        lines=list(_describe_client(client, report.total)),
        labelled=True,
    )
    costs = sorted(
        report.costs,
        key=lambda cost: (
            list(ListingState).index(cost.entry.state) * -1,
            -cost.listing_tokens,
            cost.entry.id,
        ),
    )
    cost_rows = [_cost_row(cost) for cost in costs]
    cost_headings = ("shown", "characters", "listed", "loaded", "skill")
    yield _limited("what each skill costs, in tokens", cost_headings, cost_rows, limit)


def _client_row(client: ClientReport) -> tuple[str, ...]:
    listing = client.listing
    counts = {state: len(listing.with_state((state,))) for state in ListingState}
    budget = "none" if listing.budget is None else f"{listing.budget:,} {listing.unit}"
    return (
        listing.client,
        budget,
        f"{listing.own + listing.needs:,}",
        f"{counts[ListingState.FULL]:,}",
        f"{counts[ListingState.CUT]:,}",
        f"{counts[ListingState.DROPPED] + counts[ListingState.NAMED]:,}",
        f"{counts[ListingState.LEFT_OUT]:,}",
    )


def _cost_row(cost: SkillCost) -> tuple[str, ...]:
    entry = cost.entry
    shown = f"{entry.shown_characters:,} of {entry.description_characters:,}"
    return (
        entry.state.value,
        shown if entry.state != ListingState.FULL else f"{entry.description_characters:,}",
        f"{cost.listing_tokens:,}",
        f"{cost.loaded_tokens:,}",
        one_line(entry.id, _ID_WIDTH),
    )


def _describe_client(client: ClientReport, total: int) -> Iterator[str]:
    """Budget, need, outcome and order of one client, a line each."""
    rule, listing, settings = client.rule, client.listing, client.settings
    if listing.budget is None:
        yield f"budget   {rule.overflow}"
    else:
        yield f"budget   {listing.budget:,} {listing.unit}{_explain_budget(client)}"
    own_part = f", of which its own {rule.own_skills} skills take about {listing.own:,}"
    total_need = listing.own + listing.needs
    yield f"needed   {total_need:,} {listing.unit} for all in full{own_part if listing.own else ''}"
    yield f"shown    {_describe_outcome(listing)}"
    absent = total - len(listing.entries)
    if absent:
        reason = "hidden by their files, switched off, or of a name that another has"
        yield f"absent   {console.format_count(absent, 'skill')}: {reason}"
    if listing.budget is not None:
        yield f"overflow {rule.overflow}"
        yield f"order    {rule.order}"
    if client.is_use_unknown:
        yield "         no use of a skill is recorded here, so which ones stay may differ"
    if client.with_large_window:
        large = client.with_large_window
        yield (
            f"larger   {large.budget:,} {large.unit} with a window of {LARGE_WINDOW:,} tokens: "
            f"{_describe_outcome(large)}"
        )
    if settings.origins:
        yield f"read     {', '.join(settings.origins)}"
    yield f"as of    {rule.title} {rule.version}"


def _explain_budget(client: ClientReport) -> str:
    rule, settings = client.rule, client.settings
    if settings.budget is not None or rule.share is None:
        return ""
    window, share = settings.window or rule.window, settings.share or rule.share
    return f", {100 * share:g} % of a window of {window:,} tokens"


def _describe_outcome(listing: Listing) -> str:
    texts = {
        ListingState.FULL: "in full",
        ListingState.CUT: "cut",
        ListingState.DROPPED: "by name alone",
        ListingState.NAMED: "by name alone, as set",
        ListingState.LEFT_OUT: "not at all",
    }
    counts = {state: len(listing.with_state((state,))) for state in ListingState}
    return ", ".join(f"{counts[state]:,} {text}" for state, text in texts.items() if counts[state])


def _make_skill_sections(report: AuditReport, limit: int) -> Iterator[ReportSection]:
    overlaps = report.overlaps
    if overlaps.reason:
        yield ReportSection(title="overlaps: not looked for", lines=[overlaps.reason])
    elif overlaps.overlaps:
        rows = [
            (
                f"{overlap.cosine:.2f}",
                one_line(overlap.first, _ID_WIDTH),
                one_line(overlap.second, _ID_WIDTH),
                one_line(overlap.request, _REQUEST_WIDTH),
            )
            for overlap in overlaps.overlaps
        ]
        tried = (
            f"the nearest {overlaps.compared:,} of {overlaps.candidates:,} pairs were tried; "
            "--thorough tries all"
        )
        lines = [tried] if overlaps.compared < overlaps.candidates else []
        title = f"overlaps: {console.format_count(len(rows), 'pair')}"
        headings = ("alike", "skill", "skill", "a request that both win")
        yield _limited(title, headings, rows, limit, *lines)
    else:
        yield ReportSection(title="overlaps: none")
    if report.copies:
        copies = [(one_line(group[0], _ID_WIDTH), _name_others(group)) for group in report.copies]
        title = f"copies: {console.format_count(len(copies), 'group')}"
        yield _limited(title, ("skill", "copies"), copies, limit)
    yield from _make_wording_sections(report, limit)


def _name_others(group: Sequence[str]) -> str:
    return console.format_names([one_line(name, _ID_WIDTH) for name in group[1:]], 3)


def _make_wording_sections(report: AuditReport, limit: int) -> Iterator[ReportSection]:
    missing = _overlapping_without_exclusion(report)
    number = len(report.without_exclusion)
    title = f'no "do not use for": {number:,} of {console.format_count(report.total, "skill")}'
    if missing:
        names = [(one_line(name, _ID_WIDTH),) for name in missing]
        note = "of those that overlap, where it would tell them apart:"
        yield _limited(title, (), names, limit, note)
    elif number:
        yield ReportSection(title=title, lines=["none of them overlaps another"])
    phrases = report.phrases
    if not phrases.phrases:
        return
    title = f"phrases: {len(phrases.lost):,} of {phrases.tried:,} miss their skill"
    rows = [
        (
            one_line(lost.id, _ID_WIDTH),
            one_line(lost.phrase, _REQUEST_WIDTH),
            f"{lost.rank}" if lost.rank else "-",
            one_line(lost.winner, _ID_WIDTH) or "nothing",
        )
        for lost in phrases.lost
    ]
    lines = []
    if phrases.tried < phrases.phrases:
        lines = [f"{phrases.phrases:,} in all; --thorough tries them"]
    if rows:
        yield _limited(title, ("skill", "its phrase", "place", "first hit"), rows, limit, *lines)
    else:
        yield ReportSection(
            title=f"phrases: none of {phrases.tried:,} misses its skill", lines=lines
        )


def _overlapping_without_exclusion(report: AuditReport) -> list[str]:
    missing = set(report.without_exclusion)
    names = (name for pair in report.overlaps.overlaps for name in (pair.first, pair.second))
    return [name for name in dict.fromkeys(names) if name in missing]


def _advise(report: AuditReport) -> Iterator[str]:
    """What would help, the surest first."""
    if report.copies:
        number = sum(len(group) - 1 for group in report.copies)
        yield f"remove {console.format_count(number, 'near copy', 'near copies')}"
    if report.is_detailed:
        yield from advise_budget(report.clients[0])
    if report.overlaps.overlaps:
        yield "merge pairs that overlap, or say in each description what it is not for"
    if report.phrases.lost:
        yield (
            "give the skill the words of its lost phrases in its description, or move the phrase "
            "to the skill that wins it"
        )
    dropping = [
        client.listing.client
        for client in report.clients
        if client.listing.with_state((*UNSEEN_STATES, ListingState.CUT))
    ]
    if dropping and not report.is_detailed:
        yield f"see what is cut and dropped: capdisc audit {dropping[0]}"


def advise_budget(client: ClientReport) -> Iterator[str]:
    """What would help this client to list more."""
    rule, listing = client.rule, client.listing
    if listing.budget is None or not listing.with_state((*UNSEEN_STATES, ListingState.CUT)):
        return
    total_need = listing.own + listing.needs
    if total_need > listing.budget:
        max_budget = rule.max_budget
        budget = (
            _round_up(total_need) if max_budget is None else min(_round_up(total_need), max_budget)
        )
        share = needed_share(rule, listing, client.settings)
        advice = rule.advice.format(budget=budget, share=f"{share:g}")
        if rule.share is not None and share > _LARGEST_SHARE:
            yield (
                f"these are more than a list can hold: in full they would take {100 * share:g} % "
                "of the window"
            )
        elif budget >= total_need:
            yield f"room for all in full: {advice}"
        else:
            yield f"more room, but not for all: {advice}"
        average = (listing.budget - listing.own) // max(len(listing.entries), 1)
        if average >= _LEAST_AVERAGE * (listing.needs // len(listing.entries)):
            yield (
                f"or shorter descriptions: {average:,} {listing.unit} a skill on average have room, "
                f"name included; now it is {listing.needs // len(listing.entries):,}"
            )
        yield f"or a hook that names the skills that fit a prompt: capdisc setup {listing.client}"
    if cut := listing.with_state((ListingState.CUT,)):
        limit = client.settings.max_description or rule.max_description
        over = [entry for entry in cut if entry.description_characters > (limit or 0)]
        if over and limit:
            yield f"shorten to {limit:,} characters: {console.format_names([entry.id for entry in over], 5)}"


def _round_up(number: int) -> int:
    """The number, rounded up to hundreds."""
    return -(-number // 100) * 100


# For a terminal, and as text and Markdown.

_STATE_STYLES = {
    ListingState.FULL.value: "ok",
    ListingState.CUT.value: "warning",
    ListingState.DROPPED.value: "warning",
    ListingState.LEFT_OUT.value: "error",
}


def draw_sections(screen: terminal.Screen, sections: Sequence[ReportSection]) -> None:
    """Draw the report for a person: a table for each list, as wide as the screen."""
    for number, section in enumerate(sections):
        if number:
            console.print_lines([""])
        terminal.print_paragraph(screen, (section.title, "heading"))
        if section.labelled:
            fields = [
                ((f"  {line[:_LABEL_WIDTH]}", "heading"), line[_LABEL_WIDTH:])
                for line in section.lines
            ]
            terminal.print_table(screen, (ColumnStyle(), ColumnStyle(wrapped=True)), fields)
        for line in () if section.labelled else section.lines:
            terminal.print_paragraph(screen, line, indent=2)
        if section.rows:
            _draw_rows(screen, section)
        if section.omitted:
            terminal.print_paragraph(screen, (f"and {section.omitted:,} more (-k 0)", "detail"), 2)


def _draw_rows(screen: terminal.Screen, section: ReportSection) -> None:
    headings = section.headings or [""] * len(section.rows[0])
    columns = []
    for place, heading in enumerate(headings):
        is_number = all(_NUMBER.fullmatch(row[place]) for row in section.rows)
        columns.append(ColumnStyle(title=heading, is_number=is_number, wrapped=not is_number))
    rows = [[(cell, _STATE_STYLES.get(cell, "")) for cell in row] for row in section.rows]
    terminal.print_table(screen, columns, rows)


def format_sections(
    sections: Sequence[ReportSection], as_markdown: bool, colour: bool
) -> Iterator[str]:
    """The lines of the report."""
    for number, section in enumerate(sections):
        if number:
            yield ""
        yield from _format_markdown(section) if as_markdown else _format_text(section, colour)


def _format_text(section: ReportSection, colour: bool) -> Iterator[str]:
    yield console.bold(console.sanitise(section.title), colour)
    yield from (f"  {console.sanitise(line)}" for line in section.lines)
    if section.rows:
        has_headings = bool(section.headings)
        headings = section.headings or [""] * len(section.rows[0])
        table = console.format_table(headings, section.rows)
        for number, line in enumerate(table if has_headings else table[1:]):
            is_heading = has_headings and number == 0
            yield f"  {console.dim(console.sanitise(line), colour and is_heading)}"
    if section.omitted:
        yield f"  and {section.omitted:,} more (-k 0)"


def _format_markdown(section: ReportSection) -> Iterator[str]:
    yield f"## {_escape_markdown(section.title)}"
    yield ""
    yield from (f"- {_escape_markdown(line)}" for line in section.lines)
    if section.rows:
        headings = section.headings or ("skill",)
        yield from ("",) if section.lines else ()
        yield f"| {' | '.join(headings)} |"
        yield f"|{'---|' * len(headings)}"
        for row in section.rows:
            yield f"| {' | '.join(map(_escape_markdown, row))} |"
    if section.omitted:
        yield from ("", f"and {section.omitted:,} more")


def _escape_markdown(text: str) -> str:
    """The text with what Markdown or HTML would read escaped."""
    text = console.sanitise(one_line(text))
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}")
    return text


# The document.


def report_document(
    report: AuditReport, errors: Sequence[str], degraded: Sequence[str]
) -> JsonObject:
    """The report as JSON; `errors` are the problems that were asked to be errors."""
    problems = problem_counts(report)
    return {
        "skills": report.total,
        "tokenizer": DEFAULT_TOKENIZER,
        "listing_tokens": report.listing_tokens,
        "loaded_tokens": report.loaded_tokens,
        "clients": [
            client_document(client)
            | ({"skills": _cost_documents(report)} if report.is_detailed else {})
            for client in report.clients
        ],
        "overlaps": report.overlaps.overlaps,
        "overlaps_not_looked_for": report.overlaps.reason or None,
        "near_pairs": {
            "found": report.overlaps.candidates,
            "tried": report.overlaps.compared,
        },
        "copies": report.copies,
        "without_exclusion": report.without_exclusion,
        "phrases": {
            "skills": report.phrases.with_phrases,
            "phrases": report.phrases.phrases,
            "tried": report.phrases.tried,
            "depth": PHRASE_DEPTH,
            "lost": report.phrases.lost,
        },
        "problems": dict(problems),
        "errors": {name: problems[name] for name in errors if problems[name]},
        "degraded": degraded,
    }


def client_document(client: ClientReport) -> JsonObject:
    """One client and the sums of its list as JSON."""
    rule, listing = client.rule, client.listing
    return {
        "client": listing.client,
        "title": rule.title,
        "version": rule.version,
        "unit": listing.unit,
        "budget": listing.budget,
        "window": (client.settings.window or rule.window) if rule.share else None,
        "own": listing.own,
        "needs": listing.needs,
        "takes": listing.takes,
        "states": {state.value: len(listing.with_state((state,))) for state in ListingState},
        "order": rule.order,
        "overflow": rule.overflow,
        "is_use_known": bool(client.settings.uses) if rule.prefers_used else None,
        "read": client.settings.origins,
        "sources": rule.sources,
    }


def _cost_documents(report: AuditReport) -> list[JsonObject]:
    return [
        {
            "id": cost.entry.id,
            "state": cost.entry.state.value,
            "description_characters": cost.entry.description_characters,
            "shown_characters": cost.entry.shown_characters,
            "needs": cost.entry.needs,
            "takes": cost.entry.takes,
            "listing_tokens": cost.listing_tokens,
            "loaded_tokens": cost.loaded_tokens,
        }
        for cost in report.costs
    ]
