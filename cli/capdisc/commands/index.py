"""capdisc index: scan the roots and bring the index up to date."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import capdisc_indexer as cd
from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.context import data_files, housekeeping, surroundings, workspace_trust
from capdisc.context.client_places import read_plugins_once, server_files
from capdisc.context.coverage import (
    add_paths,
    complete_coverage,
    list_roots,
    list_seeds,
    make_build_options,
    name_absent_roots,
    remove_paths,
    require_something,
)
from capdisc.context.freshness import IndexPlace, locate_index
from capdisc.context.index_scope import folder_requests, list_declared_sources
from capdisc.context.index_update import (
    WAITING_CODES,
    describe_coverage,
    describe_missing,
    short_path,
)
from capdisc.output import command_process, console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.indexing.previous_build import PreviousBuild, recover_settings
from capdisc_indexer.model.errors import CapdiscError, InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildReport, Coverage, DeclaredSource, Finding, Severity
from capdisc_indexer.plugins import registry
from capdisc_indexer.plugins.registry import find_store
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.store import lance_table, state_file
from capdisc_indexer.text.normalization import one_line

_ASK_COMMAND = "capdisc index --ask-servers"
# Findings printed of a large collection: of each rule, and in all.
SHOWN_OF_RULE, MAX_SHOWN_WARNINGS, MAX_SHOWN_ERRORS = 3, 20, 20
_SHOWN_DECLARATIONS = 3
_CHANGES = ("added", "updated", "removed")
_COUNT_LABELS = (
    ("failed", "failed"),
    ("stale", "stale"),
    ("copies", "identical copies"),
    ("shadowed", "shadowed"),
    ("held", "held back"),
)


def _ask_sources(
    runtime: surroundings.Runtime,
    config: Config,
    sources: Sequence[DeclaredSource],
    ask_servers: bool,
    network: bool,
) -> None:
    """Ask the servers and databases that sources name, and fetch their documents, as far as
    options and declarations ask for it.
    """
    names_servers = any(source.format == "mcp-servers" for source in sources)
    if names_servers and (lists := registry.find_service("server-lists")):
        lists.ask_servers(runtime, config, sources, ask_servers)
    ask_databases(runtime, sources, ask_servers)
    if network:
        fetch_documents(sources)


def ask_databases(
    runtime: surroundings.Runtime, sources: Sequence[DeclaredSource], everyone: bool
) -> None:
    """Ask the databases of all sources, or without `everyone` those of sources with `ask = true`
    in the user's own configuration. Prints a notice for one that fails, whose last answer stays.
    """
    for source in sources:
        if "url_secret" not in source.options:
            continue
        wants = bool(source.options.get("ask"))
        if everyone or (wants and source.trusted):
            _ask_database(runtime, source)
        elif wants:
            message = f"ask = true counts in your own configuration only, not in {source.origin}"
            console.print_notice(f"notice: {message}; to ask its database: {_ASK_COMMAND}")


def _ask_database(runtime: surroundings.Runtime, source: DeclaredSource) -> None:
    databases = registry.load_service("databases")
    answer_path = Path(source.path)
    name = source.name or str(source.options["url_secret"])
    try:
        secret = str(source.options["url_secret"])
        if not (url := runtime.environ.get(secret)):
            raise InputError(f"{secret} is not set", f"set {secret} to the database's address")
        answer = databases.reflect_database(url)
        with state_file.lock_folder(answer_path.parent):
            state_file.replace_state_file(
                answer_path,
                databases.kept_text(datetime.now(UTC).isoformat(timespec="seconds"), answer),
            )
    except CapdiscError as problem:
        stays = "; what it said last stays" if answer_path.exists() else ""
        console.print_notice(
            f"notice: the database {name} could not be asked: {problem.message}{stays} ({problem.hint})"
        )


def fetch_documents(sources: Sequence[DeclaredSource]) -> None:
    """Fetch the documents on the web that sources name, and keep them for later builds. Prints a
    notice for one that cannot be fetched, whose last copy stays.
    """
    fetch_document = registry.load_service("web").fetch_document
    for source in sources:
        if not source.url:
            continue
        path = Path(source.path)
        try:
            document = fetch_document(source.url)
            with state_file.lock_folder(path.parent):
                state_file.replace_state_file(path, document.text.encode("utf-8", "replace"))
        except CapdiscError as problem:
            stays = "; its last copy stays" if path.exists() else ""
            console.print_notice(f"notice: {problem.message}{stays}")


def index(
    paths: Annotated[
        list[Path] | None,
        argument(metavar="[PATH]...", help="Folders or files to add to what the index covers."),
    ] = None,
    only: Annotated[
        bool, option(help="Cover the PATHs alone, and nothing that was covered before.")
    ] = False,
    forget: Annotated[
        bool,
        option(
            help="Take the PATHs out again, or the capabilities of a folder that is gone.",
        ),
    ] = False,
    index_dir: params.IndexDir = None,
    rebuild: Annotated[
        bool | None,
        option(
            "--rebuild/--no-rebuild",
            help="Rebuild, reusing only intact vectors of the last index; or never, so that one "
            "that is damaged or of another release is an error. Without either: where it is needed.",
        ),
    ] = None,
    again: Annotated[
        bool,
        option(help="Do not add the usual folders to an index made with --only."),
    ] = False,
    verify: Annotated[
        bool,
        option(help="Read every file, also those whose time stamps have not changed."),
    ] = False,
    ask_servers: Annotated[
        bool,
        option(
            help="Start the MCP servers of the configuration and ask each for its tools.",
        ),
    ] = False,
    network: Annotated[
        bool,
        option(
            help="Fetch the documents that sources name by an address, by https, and keep them.",
        ),
    ] = False,
    wait: Annotated[
        bool,
        option(
            help="Write the LanceDB table, too, or bring it up to date; with --verify, compare "
            "every row of it.",
        ),
    ] = False,
    encoder: params.EncoderName = None,
    lock_timeout: params.LockTimeout = None,
    quiet: Annotated[
        bool,
        option(
            "--quiet", "-q", help="Print no warnings, only errors and the summary.", panel="Output"
        ),
    ] = False,
    verbose: Annotated[
        bool,
        option("--verbose", "-v", help="Say why all folders had to be read.", panel="Output"),
    ] = False,
    json: params.Json = False,
) -> int:
    """Scan folders of capabilities and bring the index up to date.

    It covers the usual folders (the configured ones, CAPDISC_DIRS, and those of clients in the
    workspace and in your home), declared sources, and every PATH that was added before. With
    --index-dir and PATHs, it covers these alone. A covered folder that is gone keeps its
    capabilities for a week, or until --forget. Only what changed is read again. Exit status 1 says
    that some files had errors; the others are indexed.

    Example: capdisc index fixtures/catalogs/small
    """
    if again and paths:
        raise UsageError("--again goes without PATH", "leave out one of them")
    if (only or forget) and ((only and forget) or not paths):
        raise UsageError("--only and --forget go with PATHs, one of them at a time", "name PATHs")
    runtime = surroundings.current_runtime()
    config = runtime.config()
    for problem in (
        *(f"unknown setting {key}" for key in config.unknown),
        *registry.find_problems(),
    ):
        console.print_notice(f"notice: {one_line(problem, 300)}")
    with read_plugins_once():
        waiting = _announce_left_out(runtime, config)
        shared = runtime.shared_index(index_dir, config)
        where = runtime.index_dir(index_dir, config)
        place = IndexPlace(index_dir=where, runtime=runtime, config=config)
        is_of_workspace = (paths and not forget) or (
            ask_servers and registry.load_service("servers").names_servers(runtime, config)
        )
        if not shared and not is_of_workspace:
            place = locate_index(runtime, config, index_dir)
            where, runtime, config = place.index_dir, place.runtime, place.config
        declared = list_declared_sources(runtime, config, paths or ())
        asks_clients = not paths and (ask_servers or not quiet)
        _refresh_server_lists(runtime, config, declared, ask_servers, asks_clients)
        builder_id = None if shared else runtime.ensure_builder_id(where)
        named_paths = [runtime.expand(path) for path in paths or ()]
        last = PreviousBuild() if shared else recover_settings(where, builder_id)
        coverage = _choose_coverage(
            place,
            last,
            named_paths,
            is_alone=bool(only or shared or index_dir),
            is_same=again,
            forget=forget,
        )
        roots = list_roots(runtime, config, coverage, last.roots)
        require_something(runtime, config, last, coverage, roots, named_paths)
        name_absent_roots(runtime, config, coverage)
        forgotten_paths = named_paths if forget else ()
        build_options = make_build_options(
            runtime, config, builder_id, coverage, roots, lock_timeout, forgotten_paths
        )
        _ask_sources(runtime, config, build_options.sources, ask_servers, network)
        build_options = replace(
            build_options,
            encoder=runtime.encoder_name(encoder or config["encoder"]) or None,
            encoder_required=bool(encoder),
            last_coverage=last.coverage,
            rebuild=bool(rebuild),
            seeds=() if shared else list_seeds(runtime, where),
            may_rebuild=rebuild is not False,
            verify=verify,
            only_new_findings=not json,
        )

        def build(folder: Path) -> BuildReport:
            # A path that was named just now and does not exist is an error.
            existing = [path for path in roots if path.exists() or path in named_paths]
            return cd.build(existing, folder, build_options, progress)

        with (
            command_process.silence_native_stderr(),
            console.progress_bar(runtime.stderr_is_terminal and not json) as progress,
        ):
            report = (
                find_store(shared.url).build_shared_index(shared, build, build_options, progress)
                if shared
                else build(where)
            )
            table_notices = (
                () if shared else _wait_for_table(config, where, builder_id, wait, verify)
            )
    missing = [describe_missing(place, report.missing)] if report.missing else []
    reasons = (
        [f"all folders were read: {report.widened_by}"] if verbose and report.widened_by else []
    )
    report = replace(
        report,
        degraded=(
            *waiting,
            *report.degraded,
            *missing,
            *table_notices,
            *reasons,
        ),
    )
    table_state = "equal" if shared or lance_table.equals_index(where) else "behind"
    covers = describe_coverage(place, coverage) if paths and not (index_dir or shared) else ""
    _print_report(
        report,
        shared.url if shared else str(where),
        table_state,
        json,
        quiet,
        len(waiting),
        coverage,
        covers,
    )
    if not quiet:
        _describe_new_paths(place, last, coverage, is_empty=not report.changed_ids["added"])
    if not shared:
        # What a hook builds, or another index gave most of, stays small: no table unasked.
        is_new = not last.roots and 2 * report.counts["embedded"] > report.counts["added"]
        housekeeping.start_table_update(config, where, builder_id, is_first=is_new and not quiet)
        housekeeping.collect_indexes(runtime, config, where, is_quiet=quiet)
    failed = any(finding.severity is Severity.ERROR for finding in report.findings)
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _announce_left_out(runtime: surroundings.Runtime, config: Config) -> tuple[str, ...]:
    """Print what is left out until the user trusts the workspace. Returns the notices."""
    folders = folder_requests(runtime, config)
    if not (folders or config.waiting or config.strays):
        return ()
    where = runtime.workspace.as_posix()
    return workspace_trust.announce_settings(config, folders, where=where)


def _refresh_server_lists(
    runtime: surroundings.Runtime,
    config: Config,
    declared: Sequence[DeclaredSource],
    is_asked_for: bool,
    asks_clients: bool,
) -> None:
    """Bring the kept tools of MCP servers up to date; without a kept list and a client's file that
    names a server there are none.
    """
    has_files = asks_clients and any(os.path.lexists(file.path) for file in server_files(runtime))
    has_servers = has_files or runtime.has_tool_lists()
    if has_servers and (lists := registry.find_service("server-lists")):
        lists.refresh_lists(runtime, config, declared, is_asked_for, asks_clients)


def _choose_coverage(
    place: IndexPlace,
    last: PreviousBuild,
    paths: Sequence[Path],
    *,
    is_alone: bool,
    is_same: bool,
    forget: bool,
) -> Coverage:
    """What the index covers from now on: these paths alone with `is_alone`, what it covered
    without them with `forget`, else what it covered and them. Without paths also the usual
    folders, unless the index `is_alone` or stays the same.
    """
    if paths and is_alone and not forget:
        return Coverage(added=tuple(dict.fromkeys(map(Path.as_posix, paths))))
    coverage = complete_coverage(place.runtime, place.config, last)
    if forget:
        return remove_paths(coverage, paths, last.missing)
    if paths:
        return add_paths(place.runtime, place.config, coverage, paths)
    return coverage if is_alone or is_same else replace(coverage, is_conventional=True)


def _wait_for_table(
    config: Config, where: Path, builder_id: str | None, wait: bool, verify: bool
) -> tuple[str, ...]:
    """Bring the LanceDB table up to date, where the option or the setting says to wait for it.
    Returns a notice where that fails.
    """
    if not wait and housekeeping.choose_table_mode(config) != "wait":
        return ()
    problem = housekeeping.finish_table(where, builder_id, verify=wait and verify)
    return (problem,) if problem else ()


def _print_report(
    report: BuildReport,
    where: str,
    table_state: str,
    json: bool,
    quiet: bool,
    printed_count: int,
    coverage: Coverage,
    covers: str,
) -> None:
    """Print the report, with what the index `covers` where that is of interest; the first
    `printed_count` texts of `degraded` are on stderr already.
    """
    _print_findings(report, quiet, coverage)
    for text in report.degraded[printed_count:]:
        console.print_notice(f"notice: {text}")
    document = {
        "generation": report.generation.number,
        "published": report.published,
        "index_dir": where,
        "table": table_state,
        "roots": report.roots,
        "covers": coverage,
        "missing": list(report.missing),
        "counts": report.counts,
        "encoder": report.generation.fingerprint,
        "degraded": report.degraded,
        "held_definitions": report.held_definitions,
        "changed_definitions": report.changed_definitions,
        "findings": report.findings,
        "seconds": round(report.seconds, 3),
    }
    console.print_answer(json, document, [_format_summary(report, covers)])
    if not report.counts["files"]:
        console.print_notice(
            f"hint: looked for {_list_sources()}; to start one: capdisc new skill NAME"
        )


def _describe_new_paths(
    place: IndexPlace, last: PreviousBuild, coverage: Coverage, *, is_empty: bool
) -> None:
    """Print what was not read in the paths that were added just now: everything, if they gave
    nothing, or files of data that only a declaration reads, to those who have none.
    """
    known_paths = last.coverage.added if last.coverage else ()
    new_paths = [path for path in coverage.added if path not in known_paths]
    if new_paths and is_empty:
        names = console.format_names([short_path(place, path) for path in new_paths])
        console.print_notice(f"notice: no new capability was found in {names}")
    if place.config.sources:
        return
    base = place.runtime.workspace
    tables = [
        table
        for path in new_paths
        for table in data_files.draft_declarations(Path(path), base, is_scanned=True)
    ]
    if not tables:
        return
    file = short_path(place, place.config.file or "capdisc.toml")
    # Init sees the workspace alone.
    is_seen = not place.config.file and all(Path(path).is_relative_to(base) for path in new_paths)
    or_init = "run capdisc init, or " if is_seen else ""
    console.print_notice(f"hint: to read the data in it, {or_init}put this into {file}:")
    if len(tables) > _SHOWN_DECLARATIONS:
        tables[_SHOWN_DECLARATIONS:] = [f"# and {len(tables) - _SHOWN_DECLARATIONS:,} more"]
    head = "[[tool.capdisc.source]]" if file == "pyproject.toml" else "[[source]]"
    for line in "\n".join(tables).replace("[[source]]", head).splitlines():
        console.print_notice(f"  {line}")


def _list_sources() -> str:
    """The names and endings of files that a scan recognises."""
    names = [name for source in SOURCES.values() for name in source.filenames[:1]]
    endings = [f"*{ending}" for source in SOURCES.values() for ending in source.endings]
    return ", ".join(dict.fromkeys([*names, *endings]))


def _print_findings(report: BuildReport, quiet: bool, coverage: Coverage) -> None:
    """Print the findings by rule, and what is no longer scanned."""
    # A run that changed nothing has nothing new to say about files; what waits for trust waits on,
    # and so does a source that was not fetched.
    _print_finding_groups(
        [
            finding
            for finding in report.findings
            if finding.severity is Severity.ERROR
            or (
                _is_shown(finding)
                and not quiet
                and (report.published or finding.code in (*WAITING_CODES, "source-missing"))
            )
        ]
    )
    if changed := report.changed_definitions:
        console.print_notice(f"notice: {console.format_changed_definitions(changed)}")
    for root in report.dropped_roots:
        console.print_notice(f"notice: no longer scanned: {root}")
    if dropped := report.dropped_sources:
        count = console.format_count(len(dropped), "file")
        example = console.sanitise(printable_path(dropped[0]))
        console.print_notice(
            f"notice: no longer scanned: {count} outside these folders, such as {example}"
        )
    if (dropped or report.dropped_roots) and not coverage.is_conventional:
        console.print_notice("hint: to cover the usual folders, too: capdisc index")


def _is_shown(finding: Finding) -> bool:
    """Whether a run prints a finding that is not an error: warnings, and `tools-empty`, since
    nothing else would say why a list of tools is missing.
    """
    return finding.severity is Severity.WARNING or finding.code == "tools-empty"


def _print_finding_groups(findings: Sequence[Finding]) -> None:
    """Print the first findings of each rule and how many more it has; errors first, then the rule
    with the most findings. What is left out is counted by rule at the end.
    """
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.code), []).append(finding)
    order = sorted(
        groups, key=lambda rule: (rule[0] is not Severity.ERROR, -len(groups[rule]), rule[1])
    )
    shown_count, is_cut, left_out = 0, False, Counter[str]()
    for severity, code in order:
        group = groups[severity, code]
        if severity is Severity.ERROR:
            shown = group[:MAX_SHOWN_ERRORS]
        else:
            shown = group[: min(SHOWN_OF_RULE, max(MAX_SHOWN_WARNINGS - shown_count, 0))]
            shown_count += len(shown)
        _print_group(shown, len(group) - len(shown))
        is_cut = is_cut or len(shown) < len(group)
        if not shown:
            left_out[code] = len(group)
    if left_out:
        of_rules = ", ".join(f"{count:,} {code}" for code, count in left_out.items())
        console.print_notice(f"notice: and {left_out.total():,} of other rules: {of_rules}")
    if is_cut:
        console.print_notice(
            "hint: capdisc index --json lists all; capdisc validate --rule CODE explains one"
        )


def _print_group(shown: Sequence[Finding], left_out: int) -> None:
    """Print findings of one rule, each with its place as compilers print it. A hint that all of
    them share stands below the last. A person gets a heading, and paths without what is known.
    """
    is_for_person = surroundings.is_terminal(sys.stderr)
    if not shown:
        return
    if is_for_person:
        count = console.format_count(len(shown) + left_out, "finding")
        console.print_notice(f"{shown[0].severity}[{shown[0].code}]: {count}")
    for position, finding in enumerate(shown):
        is_repeated = position + 1 < len(shown) and shown[position + 1].hint == finding.hint
        printed = replace(finding, hint="" if is_repeated else finding.hint)
        lines = _format_for_person(printed) if is_for_person else console.format_finding(printed)
        for line in lines:
            console.print_notice(line)
    if left_out:
        console.print_notice(f"  and {left_out:,} more {shown[0].code}")


def _format_for_person(finding: Finding) -> Iterator[str]:
    """The place and the text of a finding on lines of their own, below the heading of its rule."""
    runtime = surroundings.current_runtime()
    path, cwd, home = finding.path, f"{runtime.cwd.as_posix()}/", f"{runtime.home.as_posix()}/"
    if path.startswith(cwd):
        path = path.removeprefix(cwd)
    elif path.startswith(home):
        path = f"~/{path.removeprefix(home)}"
    yield f"  {one_line(path)}:{finding.line}:{finding.column}"
    yield f"    {one_line(finding.message)}"
    if finding.hint:
        yield f"  hint: {one_line(finding.hint)}"


def _format_summary(report: BuildReport, covers: str) -> str:
    counts = report.counts
    changes = [f"{counts[name]:,} {name}" for name in _CHANGES if counts[name]]
    capabilities = console.format_count(counts["capabilities"], "capability", "capabilities")
    files = console.format_count(counts["files"], "file")
    summary = f"{capabilities} from {files} ({', '.join(changes) or 'no change'})"
    work = f"parsed {counts['parsed']:,}, embedded {counts['embedded']:,}, {report.seconds:.1f} s"
    labels = dict(_COUNT_LABELS) | ({"copies": "identical copy"} if counts["copies"] == 1 else {})
    notes = [f"{counts[name]:,} {text}" for name, text in labels.items() if counts[name]]
    parts = [summary, work, ", ".join(notes), covers and f"covers {covers}"]
    return "; ".join(filter(None, parts))
