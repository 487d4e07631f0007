"""capdisc audit: what clients show of the skills, what they cost, and which of them compete."""

from __future__ import annotations

import json as json_module
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.context import open_index, query_execution, surroundings, user_files
from capdisc.output import console, terminal
from capdisc.output.failures import ExitCode
from capdisc_audit.audit_report import (
    ReportSection,
    draw_sections,
    format_sections,
    make_sections,
    report_document,
)
from capdisc_audit.client_listings import CLIENT_LISTINGS, find_client
from capdisc_audit.hook_week import count_week, describe_week
from capdisc_audit.listing_budgets import ListingSettings
from capdisc_audit.skill_audit import audit_index, draw_skill_map, problem_counts
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Query
from capdisc_indexer.text.similar_names import unknown_choice

# The kinds that clients put into their lists.
_LISTED_KINDS = ("skill", "command")
_FORMATS = ("text", "markdown", "json")
# Searches of one audit for each of the two questions: 3 s together.
_MAX_SEARCHES, _ALL_SEARCHES = 250, 1_000_000_000
# A use counts half as much each week, but a tenth at least, as Claude Code 2.1 weighs it.
_HALF_LIFE_DAYS, _LEAST_WEIGHT = 7.0, 0.1
_MS_PER_DAY = 86_400_000


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
    svg: Annotated[
        Path | None,
        option("--svg", metavar="FILE", help="Draw a map of the skills as SVG.", panel="Output"),
    ] = None,
    format: Annotated[
        str,
        option("--format", help="The layout of the report.", panel="Output", choices=_FORMATS),
    ] = "text",
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """Print what clients show of the skills within their own budgets, what each skill costs, and
    which skills compete.

    Every skill of the index counts as installed. docs/audit.md has the figures of each client and
    where they come from.

    Example: capdisc audit claude --window 200000
    """
    wanted = _check_options(client, budget, error, format, svg)
    form = "json" if json else format
    if svg:
        user_files.check_target(surroundings.current_runtime().expand(svg))
    with open_index.open_index(index_dir, fresh) as ctx:
        headers = _load_headers(ctx, kind)
        if not headers:
            _print_nothing(ctx, kind)
            return ExitCode.FINDINGS
        encoder, degraded = _load_encoder(ctx)
        settings = {
            name: _read_settings(ctx.runtime, name, window, budget or None)
            for name in ([client] if client else CLIENT_LISTINGS)
        }
        searches = _ALL_SEARCHES if thorough else _MAX_SEARCHES
        with console.progress_bar(ctx.runtime.stderr_is_terminal) as progress:
            report = audit_index(
                ctx.index, headers, settings, client is not None, encoder, searches, progress
            )
        if svg:
            title = f"Skills in {ctx.runtime.workspace.name or 'this index'}"
            drawing = draw_skill_map(ctx.index, report, headers, title)
            user_files.write_file(ctx.runtime.expand(svg), drawing.encode("utf-8", "replace"))
    problems = problem_counts(report)
    names = {header["name"] for header in headers}
    week = count_week(ctx.runtime.user_state_dir(), names)
    if form == "json":
        document = report_document(report, wanted, degraded)
        console.print_document({**document, "hook_week": asdict(week) if week else None})
    else:
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
    failed = [name for name in wanted if problems[name]]
    if failed:
        counts = ", ".join(f"{name} {problems[name]:,}" for name in failed)
        console.print_notice(f"error: {counts}")
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _check_options(
    client: str | None, budget: int, error: str, form: str, svg: Path | None
) -> tuple[str, ...]:
    """The names of problems that are errors. Raises UsageError for what cannot be asked for."""
    if client is not None:
        find_client(client)
    elif budget:
        raise UsageError(
            "--budget needs a client, since each has its own unit",
            f"capdisc audit claude --budget {budget}",
        )
    if str(svg) == user_files.STDIN:
        raise UsageError("--svg needs the name of a file", "capdisc audit --svg skills.svg")
    if form not in _FORMATS:
        raise unknown_choice("format", form, _FORMATS)
    wanted = tuple(dict.fromkeys(name.strip() for name in error.split(",") if name.strip()))
    known = problem_counts(None)
    if unknown := [name for name in wanted if name not in known]:
        raise unknown_choice("problem", unknown[0], known)
    return wanted


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


def _print_nothing(ctx: open_index.CommandContext, kinds: list[str] | None) -> None:
    others = ctx.index.overview["kinds"]
    console.print_notice("notice: there are no skills in this index")
    if others and not kinds:
        names = ", ".join(f"{count:,} {kind}" for kind, count in others.items())
        console.print_notice(f"hint: it holds {names}: capdisc audit --kind {next(iter(others))}")


def _load_encoder(ctx: open_index.CommandContext) -> tuple[Encoder | None, tuple[str, ...]]:
    """The encoder of the index, and what is degraded; a notice says why it cannot be loaded."""
    encoder, failure = query_execution.try_load_encoder(ctx, None)
    if encoder is not None:
        return encoder, ctx.degraded
    problem = f"searching by words alone{f' ({failure})' if failure else ''}"
    console.print_notice(f"notice: {problem}")
    return None, (*ctx.degraded, problem)


# What a client's own files and variables say about its list. Only Claude Code documents such
# settings: the share of the window, the limit for one description, what is switched off; and it
# records how often each skill was used.


def _read_settings(
    runtime: surroundings.Runtime, client: str, window: int | None, budget: int | None
) -> ListingSettings:
    """The settings of a client here: as typed, else as its user has set them."""
    if client == "claude":
        return _read_claude_settings(runtime, window, budget)
    variable = find_client(client).budget_variable
    set_budget = _positive_integer(runtime.environ.get(variable, ""))
    origins = (f"${variable}",) if set_budget and budget is None else ()
    return ListingSettings(window=window, budget=budget or set_budget, origins=origins)


def _read_claude_settings(
    runtime: surroundings.Runtime, window: int | None, budget: int | None
) -> ListingSettings:
    base = runtime.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(base) if base else runtime.home / ".claude"
    places = [
        folder / "settings.json",
        runtime.workspace / ".claude" / "settings.json",
        runtime.workspace / ".claude" / "settings.local.json",
    ]
    state = (Path(base) if base else runtime.home) / ".claude.json"
    merged: JsonObject = {}
    origins = []
    for place in dict.fromkeys(places):  # the workspace may be the home folder
        values = {
            key: value
            for key, value in _read_object(place).items()
            if key.startswith("skill") or key == "disableBundledSkills"
        }
        overrides = {**_mapping(merged, "skillOverrides"), **_mapping(values, "skillOverrides")}
        merged |= values | ({"skillOverrides": overrides} if overrides else {})
        origins += [str(place)] if values else []
    uses = _weigh_uses(_mapping(_read_object(state), "skillUsage"), 1000 * time.time())
    origins += [str(state)] if uses else []
    variable = _positive_integer(runtime.environ.get("SLASH_COMMAND_TOOL_CHAR_BUDGET", ""))
    origins += ["$SLASH_COMMAND_TOOL_CHAR_BUDGET"] if variable and budget is None else []
    share, longest = (
        merged.get("skillListingBudgetFraction"),
        merged.get("skillListingMaxDescChars"),
    )
    return ListingSettings(
        window=window,
        budget=budget or variable,
        share=share if isinstance(share, int | float) and 0 < share <= 1 else None,
        max_description=longest if isinstance(longest, int) and longest > 0 else None,
        has_own_skills=merged.get("disableBundledSkills") is not True,
        uses=uses,
        overrides={
            name: value
            for name, value in _mapping(merged, "skillOverrides").items()
            if isinstance(value, str)
        },
        origins=tuple(origins),
    )


def _weigh_uses(usage: Mapping[str, Any], now_ms: float) -> dict[str, float]:
    """How much each skill is in use, by its name; a skill of a plugin is `plugin:name` there."""
    uses: dict[str, float] = {}
    for key, record in usage.items():
        count, last_ms = (
            (record.get("usageCount"), record.get("lastUsedAt"))
            if isinstance(record, dict)
            else (None, None)
        )
        if isinstance(count, int | float) and isinstance(last_ms, int | float):
            days = max(0.0, (now_ms - last_ms) / _MS_PER_DAY)
            weight = count * max(0.5 ** (days / _HALF_LIFE_DAYS), _LEAST_WEIGHT)
            name = key.rpartition(":")[2]
            uses[name] = max(uses.get(name, 0.0), weight)
    return uses


def _read_object(path: Path) -> JsonObject:
    """The JSON object in a file of the client; an empty one where there is none. A notice names a
    file that cannot be read.
    """
    try:
        content = json_module.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        console.print_notice(f"notice: {path} is left out: {reason}")
        return {}
    return content if isinstance(content, dict) else {}


def _mapping(values: JsonObject, name: str) -> JsonObject:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _positive_integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
