"""capdisc audit: what clients show of the skills, what they cost, and which of them compete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.commands import setup_changes
from capdisc.context import open_index, query_execution, surroundings, user_files
from capdisc.output import console, terminal
from capdisc.output.command_process import ExitCode
from capdisc.setup.file_changes import FileChange
from capdisc.setup.settings_entries import PRESENT, find_states
from capdisc_audit import client_state, savings
from capdisc_audit.audit_report import (
    ReportSection,
    draw_sections,
    format_sections,
    make_sections,
    report_document,
)
from capdisc_audit.client_listings import CLIENT_LISTINGS, find_client
from capdisc_audit.client_state import count_week, describe_week
from capdisc_audit.listing_budgets import ListingSettings
from capdisc_audit.skill_audit import (
    audit_index,
    file_of,
    list_client_skills,
    problem_counts,
)
from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Query
from capdisc_indexer.store.state_database import StateDatabase
from capdisc_indexer.text.similar_names import unknown_choice

# The kinds that clients put into their lists.
_LISTED_KINDS = ("skill", "command")
_FORMATS = ("text", "markdown", "json")
# Searches of one audit for each of the two questions: 3 s together.
_MAX_SEARCHES, _ALL_SEARCHES = 250, 1_000_000_000


def audit(
    client: Annotated[
        str | None,
        argument(
            metavar="[CLIENT]",
            help=f"{', '.join(CLIENT_LISTINGS)}; without one, a line for each.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        option("--window", metavar="TOKENS", min=1, help="The context window of the model."),
    ] = None,
    budget: Annotated[
        int,
        option(
            "--budget",
            metavar="N",
            min=0,
            help="The budget of the list in the client's unit; 0 takes the client's own.",
        ),
    ] = 0,
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
    fix: Annotated[
        bool,
        option("--fix", help="Have CLIENT list skills that were never used by their names alone."),
    ] = False,
    off: Annotated[bool, option("--off", help="With --fix: switch them off instead.")] = False,
    undo: Annotated[bool, option("--undo", help="Take back what --fix has set.")] = False,
    yes: Annotated[
        bool, option("--yes", "-y", help="With --fix or --undo: write without a question.")
    ] = False,
    html: Annotated[
        Path | None,
        option("--html", metavar="FILE", help="Write a page for a browser.", panel="Output"),
    ] = None,
    format: Annotated[
        str,
        option("--format", help="The layout of the report.", panel="Output", choices=_FORMATS),
    ] = "text",
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """Show which skills each client truncates or drops, what each skill costs, and which overlap.

    Each client counts the skills of its own folders, and those that lie in no client's folder.
    docs/audit.md has the limits of each client, with sources. --fix shows what it would write into
    the client's settings, and what that saves in each turn. --html writes a page that shows the
    same, a map of the skills, and the week of the hook.

    Example: capdisc audit claude --window 200000
    """
    form = "json" if json else format
    error_names = _check_options(client, budget, error, form, html)
    _check_fix(client, fix, off, undo, yes, kind)
    if html and (fix or undo):
        raise UsageError("--html goes without --fix and --undo", "leave out one of them")
    if client and undo:
        runtime = surroundings.current_runtime()
        changes = savings.plan_undo_of_saving(runtime, client)
        return _carry_out(runtime, client, changes, yes, json, undo=True)
    if html and not _is_stdout(html):
        user_files.check_target(surroundings.current_runtime().expand(html))
    with open_index.open_index(index_dir, fresh) as ctx:
        files = StateDatabase(ctx.index.folder).values()
        folders = client_state.find_folders(ctx.runtime, CLIENT_LISTINGS, files)
        headers = [
            located
            for header in _load_headers(ctx, kind)
            if not client_state.is_shipped(file_of(header))
            and (located := folders.locate(client, header) if client else header)
        ]
        if not headers:
            _print_nothing(ctx, kind, client)
            return ExitCode.FINDINGS
        settings = {
            name: client_state.read_settings(ctx.runtime, name, window, budget or None)
            for name in ([client] if client else CLIENT_LISTINGS)
        }
        if client and fix:
            saving = _choose_saving(ctx.runtime, client, headers, folders, settings[client], off)
            return _fix(ctx.runtime, client, saving, yes, json)
        encoder, degraded = _load_encoder(ctx)
        searches = _ALL_SEARCHES if thorough else _MAX_SEARCHES
        with console.progress_bar(ctx.runtime.stderr_is_terminal) as progress:
            report = audit_index(
                ctx.index,
                headers,
                settings,
                client is not None,
                encoder,
                searches,
                progress,
                folders.locate,
            )
        week = count_week(ctx.runtime.user_state_dir(), {header["name"] for header in headers})
        if html:
            from capdisc_audit import audit_page

            plans = {
                name: _plan_saving(ctx.runtime, name, headers, folders, settings[name])
                for name in settings
                if name in client_sections("visibility")
            }
            title = ctx.runtime.workspace.name or "this index"
            page = audit_page.format_page(title, ctx.index, headers, report, week, plans)
            _write_page(ctx.runtime, html, page)
    problems = problem_counts(report)
    if form == "json":
        document = report_document(report, error_names, degraded)
        console.print_document({**document, "hook_week": asdict(week) if week else None})
    elif not html or form == "markdown":
        sections = make_sections(report, limit)
        if week:
            lines = describe_week(week)
            sections.append(ReportSection(title="capdisc hook, the last seven days", lines=lines))
        screen = terminal.find_screen(ctx.runtime) if form == "text" else None
        if screen and all(len(section.rows) <= terminal.MAX_ROWS for section in sections):
            draw_sections(screen, sections)
        else:
            colour = ctx.runtime.colour and form == "text"
            console.print_result("\n".join(format_sections(sections, form == "markdown", colour)))
    failed = [name for name in error_names if problems[name]]
    if failed:
        counts = ", ".join(f"{name} {problems[name]:,}" for name in failed)
        console.print_notice(f"error: {counts}")
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _check_options(
    client: str | None, budget: int, error: str, form: str, html: Path | None
) -> tuple[str, ...]:
    """The names of problems that are errors. Raises UsageError for what cannot be asked for."""
    if client is not None:
        find_client(client)
    elif budget:
        raise UsageError(
            "--budget needs a client, since each has its own unit",
            f"capdisc audit claude --budget {budget}",
        )
    if form not in _FORMATS:
        raise unknown_choice("format", form, _FORMATS)
    if html and _is_stdout(html) and form != "text":
        raise UsageError("stdout is for one of the two", "capdisc audit --html skills.html")
    error_names = tuple(dict.fromkeys(name.strip() for name in error.split(",") if name.strip()))
    problem_names = problem_counts(None)
    if unknown := [name for name in error_names if name not in problem_names]:
        raise unknown_choice("problem", unknown[0], problem_names)
    return error_names


def _check_fix(
    client: str | None, fix: bool, off: bool, undo: bool, yes: bool, kinds: list[str] | None
) -> None:
    """Raises UsageError for options that do not go together, and for a client without them."""
    if fix and undo:
        raise UsageError("--fix and --undo are opposites", "leave out one of them")
    if off and not fix:
        raise UsageError("--off goes with --fix", "capdisc audit claude --fix --off")
    if not (fix or undo):
        if yes:
            raise UsageError("--yes goes with --fix or --undo", "capdisc audit claude --fix --yes")
        return
    if client is None:
        raise UsageError("name a client", "capdisc audit claude --fix")
    if kinds:
        raise UsageError("--fix and --undo are for skills alone", "leave out --kind")
    savings.check_client(client)


def _choose_saving(
    runtime: surroundings.Runtime,
    client: str,
    headers: Sequence[CapabilityHeader],
    folders: client_state.ReadFolders,
    settings: ListingSettings,
    is_off: bool = False,
) -> savings.Saving:
    """What this client need not list of its skills. Raises InputError as `choose_saving` does."""
    own_headers = [header for header in headers if folders.reads(client, file_of(header))]
    paths = {
        file_of(header)
        for header in own_headers
        if header["kind"] == "skill" and folders.is_in_own_folder(client, file_of(header))
    }
    used = client_state.read_used_names(runtime, settings)
    skills = list_client_skills(client, own_headers)
    return savings.choose_saving(runtime, client, skills, settings, used, paths, is_off)


def _plan_saving(
    runtime: surroundings.Runtime,
    client: str,
    headers: Sequence[CapabilityHeader],
    folders: client_state.ReadFolders,
    settings: ListingSettings,
) -> savings.Saving | str:
    """What `_choose_saving` gives, or why there is none."""
    try:
        return _choose_saving(runtime, client, headers, folders, settings)
    except InputError as error:
        return error.message


def _is_stdout(path: Path) -> bool:
    return str(path) == user_files.STDIN


def _write_page(runtime: surroundings.Runtime, html: Path, page: str) -> None:
    """Write the page, and say where it is."""
    data = page.encode("utf-8", "replace")
    if _is_stdout(html):
        console.print_bytes(data)
        return
    user_files.write_file(runtime.expand(html), data)
    console.print_notice(f"notice: wrote {html}; open it in a browser")


def _fix(
    runtime: surroundings.Runtime, client: str, saving: savings.Saving, yes: bool, json: bool
) -> int:
    """Show what the saving is, and write it once somebody agrees; the exit status."""
    if not json:
        console.print_lines(savings.describe_saving(client, saving))
    if saving.changed and not saving.is_use_known:
        console.print_notice(
            "notice: no use of a skill is recorded here, so every skill counts as unused"
        )
    changes = savings.plan_saving(runtime, client, saving)
    facts: JsonObject = {
        "listed": saving.listed,
        "changed": saving.changed,
        "windows": [
            {"window": window, "tokens_before": before, "tokens_after": after}
            for window, (before, after) in saving.tokens.items()
        ],
    }
    if not saving.changed and not json:
        return ExitCode.OK
    status = _carry_out(runtime, client, changes, yes, json, facts=facts)
    parts = find_states(runtime, client).values() if saving.changed else ()
    if parts and not any(PRESENT in states.values() for states in parts):
        console.print_notice(
            f"notice: {find_client(client).title} has neither capdisc's hook nor its server, so "
            f"nothing names the skills that fit: capdisc setup {client}"
        )
    return status


def _carry_out(
    runtime: surroundings.Runtime,
    client: str,
    changes: Sequence[FileChange],
    yes: bool,
    json: bool,
    undo: bool = False,
    facts: JsonObject | None = None,
) -> int:
    request = setup_changes.SetupRequest(
        clients=(client,), undo=undo, yes=yes, json=json, facts=facts or {}
    )
    return setup_changes.carry_out(runtime, request, changes, None)


def _load_headers(
    ctx: open_index.CommandContext, kinds: list[str] | None
) -> list[CapabilityHeader]:
    """The headers of the capabilities that are audited, in order of their ids."""
    if kinds:
        query = Query(texts=(), kinds=tuple(kinds))
        query = query_execution.check_query(ctx, query)
    else:
        query = Query(texts=(), kinds=_LISTED_KINDS)
    return list(ctx.index.heads(query))


def _print_nothing(
    ctx: open_index.CommandContext, kinds: list[str] | None, client: str | None
) -> None:
    other_kinds = ctx.index.overview["kinds"]
    reader = f" that {find_client(client).title} reads" if client else ""
    console.print_notice(f"notice: there are no skills in this index{reader}")
    if other_kinds and not kinds:
        names = ", ".join(f"{count:,} {kind}" for kind, count in other_kinds.items())
        console.print_notice(
            f"hint: it holds {names}: capdisc audit --kind {next(iter(other_kinds))}"
        )


def _load_encoder(ctx: open_index.CommandContext) -> tuple[Encoder | None, tuple[str, ...]]:
    """The encoder of the index, and what is degraded; a notice says why it cannot be loaded."""
    encoder, failure = query_execution.try_load_encoder(ctx, None)
    if encoder is not None:
        return encoder, ctx.degraded
    problem = f"searching by words alone{f' ({failure})' if failure else ''}"
    console.print_notice(f"notice: {problem}")
    return None, (*ctx.degraded, problem)
