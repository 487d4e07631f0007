"""capdisc audit: what clients show of the skills, what they cost, and which of them compete."""

from __future__ import annotations

import json as json_module
import time
from pathlib import Path
from typing import Annotated

from capdisc.args import params, query_options
from capdisc.args.params import argument, option
from capdisc.commands.audit_report import (
    AuditReport,
    ClientReport,
    SkillCost,
    count_problems,
    format_sections,
    make_sections,
    report_document,
)
from capdisc.commands.audit_settings import read_settings
from capdisc.context import open_index
from capdisc.output import console, user_files
from capdisc.output.failures import ExitCode
from capdisc_indexer.audit import skill_map
from capdisc_indexer.audit.listing_budgets import (
    CLIENT_LISTINGS,
    LARGE_WINDOW,
    UNSEEN_STATES,
    ListedSkill,
    Listing,
    ListingState,
    find_client,
    list_skills,
)
from capdisc_indexer.audit.overlaps import (
    check_phrases,
    description_vectors,
    find_copies,
    find_overlaps,
    has_exclusion,
)
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Query
from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

# The kinds that clients put into their lists.
_LISTED_KINDS = ("skill", "command")
_FORMATS = ("text", "markdown", "json")
# Searches of one audit for each of the two questions: 3 s together.
_MAX_SEARCHES = 250


def audit(
    client: Annotated[
        str | None,
        argument(
            metavar="[CLIENT]",
            help="claude, codex, copilot, cursor, gemini or opencode; without one, a line for each.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        option("--window", metavar="TOKENS", min=1, help="The context window of the model."),
    ] = None,
    budget: Annotated[
        int | None,
        option(
            "--budget", metavar="N", min=1, help="The budget of the list, in the client's unit."
        ),
    ] = None,
    error: Annotated[
        str,
        option(
            "--error",
            metavar="NAME,…",
            help="Exit status 1 for any of these: dropped, cut, overlap, copy, no-exclusion, phrase.",
        ),
    ] = "",
    kind: Annotated[
        list[str] | None,
        option("--kind", help="Audit this kind (repeatable) instead of skills and commands."),
    ] = None,
    limit: Annotated[
        int, option("-k", "--limit", min=0, help="How many lines of each list; 0 prints all.")
    ] = 10,
    thorough: Annotated[
        bool,
        option("--thorough", help="Try every near pair and every phrase, however long it takes."),
    ] = False,
    svg: Annotated[
        Path | None, option("--svg", metavar="FILE", help="Draw a map of the skills as SVG.")
    ] = None,
    format: Annotated[
        str, option("--format", metavar="FORMAT", help="text, markdown or json.")
    ] = "text",
    index_dir: params.IndexDir = None,
    json: params.Json = False,
) -> int:
    """Print what clients show of the skills within their own budgets, what each skill costs, and
    which skills compete.

    Every skill of the index counts as installed. docs/audit.md has the figures of each client and
    where they come from.

    Example: capdisc audit claude --window 200000
    """
    wanted = _check_options(client, budget, error, format)
    form = "json" if json else format
    with open_index.open_index(index_dir) as ctx:
        headers = _load_headers(ctx, kind)
        if not headers:
            _print_nothing(ctx, kind)
            return ExitCode.FINDINGS
        report = _audit_headers(ctx, headers, client, window, budget, thorough)
        if svg:
            _write_map(ctx, report, headers, svg)
    problems = count_problems(report)
    if form == "json":
        console.print_document(report_document(report, wanted))
    else:
        sections = make_sections(report, limit)
        colour = ctx.runtime.colour and form == "text"
        console.print_result("\n".join(format_sections(sections, form == "markdown", colour)))
    failed = [name for name in wanted if problems[name]]
    if failed:
        counts = ", ".join(f"{name} {problems[name]:,}" for name in failed)
        console.print_notice(f"error: {counts}")
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _check_options(
    client: str | None, budget: int | None, error: str, form: str
) -> tuple[str, ...]:
    """The names of problems that are errors. Raises UsageError for what cannot be asked for."""
    if client is not None:
        find_client(client)
    elif budget is not None:
        raise UsageError(
            "--budget needs a client, since each has its own unit",
            f"capdisc audit claude --budget {budget}",
        )
    if form not in _FORMATS:
        raise UsageError(f"unknown format {form!r}", f"one of: {', '.join(_FORMATS)}")
    wanted = tuple(dict.fromkeys(name.strip() for name in error.split(",") if name.strip()))
    known = count_problems(None)
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(f"unknown problem {unknown[0]!r}", f"one of: {', '.join(known)}")
    return wanted


def _load_headers(
    ctx: open_index.CommandContext, kinds: list[str] | None
) -> list[CapabilityHeader]:
    """The headers of the capabilities that are audited, in order of their ids."""
    if kinds:
        query = Query(texts=(), kinds=tuple(kinds))
        query_options.check_query(ctx, query)
    else:
        query = Query(texts=(), kinds=_LISTED_KINDS)
    return list(ctx.index.heads(query))


def _print_nothing(ctx: open_index.CommandContext, kinds: list[str] | None) -> None:
    others = ctx.index.overview["kinds"]
    console.print_notice("notice: there are no skills in this index")
    if others and not kinds:
        names = ", ".join(f"{count:,} {kind}" for kind, count in others.items())
        console.print_notice(f"hint: it holds {names}: capdisc audit --kind {next(iter(others))}")


def _audit_headers(
    ctx: open_index.CommandContext,
    headers: list[CapabilityHeader],
    client: str | None,
    window: int | None,
    budget: int | None,
    thorough: bool,
) -> AuditReport:
    """All that is to be said about these capabilities."""
    searches = 1_000_000_000 if thorough else _MAX_SEARCHES
    encoder, failure = query_options.try_load_encoder(ctx, None)
    if encoder is None:
        detail = f" ({failure})" if failure else ""
        console.print_notice(f"notice: searching by words alone{detail}")
    copies = find_copies(headers)
    with console.progress_bar(ctx.runtime.stderr_is_terminal) as progress:
        overlaps = find_overlaps(ctx.index, headers, copies, encoder, searches, progress)
        phrases = check_phrases(ctx.index, headers, encoder, searches, progress)
    names = [client] if client else list(CLIENT_LISTINGS)
    clients = tuple(_audit_client(ctx, name, headers, window, budget) for name in names)
    return AuditReport(
        total=len(headers),
        listing_tokens=sum(header.get("size", (0, 0, 0))[2] for header in headers),
        loaded_tokens=sum(header.get("size", (0, 0, 0))[0] for header in headers),
        is_detailed=client is not None,
        clients=clients,
        costs=_measure_costs(clients[0].listing, headers) if client else (),
        overlaps=overlaps,
        copies=copies,
        without_exclusion=[
            header["id"] for header in headers if not has_exclusion(header, _body(ctx, header))
        ],
        phrases=phrases,
        degraded=(*ctx.degraded, *(("searching by words alone",) if encoder is None else ())),
    )


def _body(ctx: open_index.CommandContext, header: CapabilityHeader) -> dict[str, object]:
    body: dict[str, object] = json_module.loads(ctx.index.documents.body(header["id"]) or b"{}")
    return body


def _audit_client(
    ctx: open_index.CommandContext,
    name: str,
    headers: list[CapabilityHeader],
    window: int | None,
    budget: int | None,
) -> ClientReport:
    settings = read_settings(ctx.runtime, name, window, budget, 1000 * time.time())
    listed = _listed_skills(name, headers)
    listing = list_skills(name, listed, settings)
    is_open = find_client(name).share is not None and window is None and settings.budget is None
    large = None
    if is_open and listing.with_state((*UNSEEN_STATES, ListingState.CUT)):
        large = list_skills(name, listed, replace(settings, window=LARGE_WINDOW))
    return ClientReport(listing=listing, settings=settings, with_large_window=large)


def _listed_skills(client: str, headers: list[CapabilityHeader]) -> list[ListedSkill]:
    """The skills as this client reads them, by name."""
    rule = find_client(client)
    roots: dict[str, int] = {}
    skills = []
    for header in sorted(headers, key=lambda header: (header["name"], header["id"])):
        if header.get("hidden") and not rule.lists_hidden:
            continue
        root, path = header["source"]["root"], header["source"]["path"]
        number = roots.setdefault(root, len(roots) + 1)
        skills.append(
            ListedSkill(
                id=header["id"],
                name=header["name"],
                description=header["description"],
                when_to_use=header.get("usage_hint", ""),
                path=path if path.startswith("/") else f"{root}/{path}",
                short_path=f"r{number}/{path.removeprefix(root).lstrip('/')}",
                folder=Path(path).parent.name if path.endswith("/SKILL.md") else "",
            )
        )
    return skills


def _measure_costs(listing: Listing, headers: list[CapabilityHeader]) -> tuple[SkillCost, ...]:
    """What each skill costs in the client's list and when it is loaded."""
    counter = make_counter(find_tokenizer("o200k"))
    loaded = {header["id"]: header.get("size", (0,))[0] for header in headers}
    return tuple(
        SkillCost(
            entry=entry,
            listing_tokens=counter.count(entry.whole),
            loaded_tokens=loaded[entry.id],
        )
        for entry in listing.entries
    )


def _write_map(
    ctx: open_index.CommandContext,
    report: AuditReport,
    headers: list[CapabilityHeader],
    svg: Path,
) -> None:
    """Write the map of the skills. Raises UsageError where the index has no vectors."""
    if ctx.index.matrix is None:
        raise UsageError(
            "this index has no vectors, so there is no map", "run: capdisc index --rebuild"
        )
    places = skill_map.place_points(
        description_vectors(ctx.index, [header["id"] for header in headers])
    )
    unseen = {
        entry.id
        for client in report.clients
        if report.is_detailed
        for entry in client.listing.with_state(UNSEEN_STATES)
    }
    points = [
        skill_map.MapPoint(
            id=header["id"],
            name=header["name"],
            about=header["description"],
            x=x,
            y=y,
            is_unseen=header["id"] in unseen,
        )
        for header, (x, y) in zip(headers, places, strict=True)
    ]
    title = f"Skills in {ctx.runtime.workspace.name or 'this index'}"
    text = skill_map.draw_map(title, points, report.overlaps.overlaps)
    user_files.write_file(ctx.runtime.expand(svg), text.encode("utf-8", "replace"))
