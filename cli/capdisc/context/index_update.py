"""How does an index come into being, and up to date, before a command answers from it?

The build is that of `capdisc index`. What would take long is left to a process of its own, and
whatever goes wrong, an index that stands answers. Imported only where something is to be built.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

import capdisc_indexer as cd
from capdisc.context import housekeeping, surroundings
from capdisc.context.client_places import read_plugins_once
from capdisc.context.coverage import (
    covers_usual_folders,
    find_default_roots,
    has_other_sources,
    list_existing_roots,
    list_roots,
    list_seeds,
    load_coverage,
    make_build_options,
    name_absent_roots,
)
from capdisc.context.freshness import Freshness, IndexPlace
from capdisc.context.index_scope import folder_requests
from capdisc.context.workspace_trust import announce
from capdisc.output import command_process, console
from capdisc_indexer.indexing.missing_folders import KEPT_S
from capdisc_indexer.model.errors import (
    BusyError,
    CapdiscError,
    IndexStateError,
    ManyChangesError,
)
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import (
    BuildOptions,
    BuildReport,
    Coverage,
    Finding,
    Generation,
    Severity,
)
from capdisc_indexer.platforms import system
from capdisc_indexer.plugins import registry
from capdisc_indexer.store.folder_stamps import Look

# Up to this many changed files are indexed before an answer: 5 ms each.
FEW_FILES = 10
# With more files than this, a build for one change takes two seconds and runs in the background.
_MAX_FILES = 20_000
# Up to this many are built while the first query waits, in three to five seconds.
FIRST_FILES = 1_000
# Another process that indexes the same change is done by then.
_LOCK_WAIT_S = 0.5
# What waits for trust is a warning, and what it leads to or holds is not found; nor do the words
# of an overlay that fits nothing find anything.
WAITING_CODES = ("symlink", "other-owner", "overlay-unused")
_BEING_INDEXED = "it is being indexed, which takes seconds here"
_SHOWN_ERRORS, _SHOWN_FILES, _SHOWN_FOLDERS = 3, 3, 4


def take_in_changes(place: IndexPlace, generation: Generation, look: Look, mode: str) -> Freshness:
    """Bring the index, whose open generation this is, up to date with what the look found, if that
    is soon done or `mode` requires it. Returns how the index stands to the disk then, and prints
    what a person should know.

    With `mode` require, raises what a build raises.
    """
    is_required = mode == "require"
    if generation.counts["files"] > _MAX_FILES and not is_required:
        return _leave_to_background(place, look)
    try:
        report = _build_again(place, look, is_required)
    except ManyChangesError as error:
        freshness = _stay_behind(error.paths, "", look)
        return replace(freshness, building=_describe_build(place, generation, look, error.paths))
    except BusyError as error:
        if is_required:
            raise
        freshness = _stay_behind(look.changed, _say_why(error), look)
        return replace(freshness, building=_describe_build(place, generation, look))
    except (CapdiscError, OSError) as error:
        if is_required:
            raise
        return _stay_behind(look.changed, _say_why(error), look)
    _print_new_errors(report, look)
    if place.config.file in look.changed:
        _print_unknown_settings(place)
    if report.generation.number == generation.number:
        return Freshness(state="current", missing=report.missing)
    return Freshness(
        state="updated",
        changed=look.changed,
        changed_count=len(look.changed),
        missing=report.missing,
    )


def _describe_build(
    place: IndexPlace, generation: Generation, look: Look, paths: Collection[str] = ()
) -> str:
    """How far the first build is that goes on in the background; "" where none does. `paths` are
    the files that it has not read, as far as they are known. A part of an index has no stamps.
    """
    from capdisc.context import background_build

    if look.is_known or not background_build.is_running(place):
        return ""
    return _describe_part(generation.counts["files"], len(paths))


def _describe_part(count: int, missing_count: int) -> str:
    if not missing_count:
        return f"the index is being built in the background, with {count:,} files so far"
    share = 100 * count // (count + missing_count)
    return f"index {share} % built, the rest follows in the background"


def _leave_to_background(place: IndexPlace, look: Look) -> Freshness:
    """Let another process index a few changes. Many are named, as for any index."""
    from capdisc.context import background_build

    is_few = len(look.changed) <= FEW_FILES
    is_started = is_few and background_build.start_update(place, "")
    return _stay_behind(look.changed, _BEING_INDEXED if is_started else "", look)


@read_plugins_once()
def _build_again(place: IndexPlace, look: Look, is_required: bool) -> BuildReport:
    runtime, config = place.runtime, place.config
    builder_id = runtime.builder_id(place.index_dir)
    if servers := registry.find_service("servers"):
        servers.drop_lists_of_removed_servers(runtime)
    coverage = load_coverage(runtime, config, place.index_dir, builder_id, look)
    all_roots = list_roots(runtime, config, coverage, look.roots)
    roots = list_existing_roots(all_roots)
    name_absent_roots(runtime, config, coverage)
    options = make_build_options(
        runtime, config, builder_id, coverage, all_roots, None if is_required else _LOCK_WAIT_S
    )
    options = replace(
        options, max_changes=None if is_required else FEW_FILES, only_new_findings=True
    )
    return _build(runtime, roots, place.index_dir, options, is_shown=is_required)


def _build(
    runtime: surroundings.Runtime,
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    *,
    is_shown: bool,
) -> BuildReport:
    with (
        command_process.silence_native_stderr(),
        console.progress_bar(is_shown and runtime.stderr_is_terminal) as progress,
    ):
        report = cd.build(roots, index_dir, options, progress)
    if report.published:
        housekeeping.start_table_update(runtime.config(), index_dir, options.builder_id)
    return report


def _stay_behind(changed: Sequence[str], reason: str, look: Look) -> Freshness:
    return Freshness(
        state="behind",
        changed=tuple(changed),
        changed_count=len(changed),
        reason=reason,
        missing=look.missing,
    )


def describe_coverage(place: IndexPlace, coverage: Coverage) -> str:
    """What an index covers, as words: `the usual folders, docs/skills`."""
    added = [short_path(place, path) for path in coverage.added]
    parts = [*(["the usual folders"] if coverage.is_conventional else []), *added]
    return console.format_names(parts) or "nothing"


def describe_missing(place: IndexPlace, missing: Mapping[str, float]) -> str:
    """Which covered folders are gone, and how long their capabilities stay."""
    names = console.format_names([short_path(place, path) for path in missing], _SHOWN_FOLDERS)
    ends = date.fromtimestamp(min(missing.values()) + KEPT_S)
    verb, owner = ("is", "its") if len(missing) == 1 else ("are", "their")
    return f"{names} {verb} gone or empty; {owner} capabilities stay in the index until {ends}"


def forget_command(missing: Iterable[str]) -> str:
    """The command that drops the capabilities of folders that are gone."""
    return f"capdisc index --forget {' '.join(map(system.quote_word, missing))}"


def describe_lag(place: IndexPlace, freshness: Freshness) -> str:
    """What changed since the index was built and is not in it, and why, or the command to run."""
    if freshness.building:
        return freshness.building
    count = freshness.changed_count
    verb = "has" if count == 1 else "have"
    names = console.format_names(
        [short_path(place, path) for path in freshness.changed], _SHOWN_FILES
    )
    files = console.format_count(count, "file")
    if not count:
        reason = freshness.reason or refresh_command(place)
        return f"results may be slightly out of date: {reason}"
    text = f"{files} {verb} changed since the index was built ({names})"
    if freshness.reason:
        return f"{text}; results do not show that yet: {freshness.reason}"
    return f"{text}: {refresh_command(place)}"


def refresh_command(place: IndexPlace) -> str:
    """The command that brings the index up to date with what it covers."""
    return f"capdisc index{'' if covers_usual_folders(place.index_dir) else ' --again'}"


def short_path(place: IndexPlace, path: str) -> str:
    """The path as a person knows it: below the workspace or the home folder."""
    runtime = place.runtime
    for folder, prefix in ((runtime.workspace.as_posix(), ""), (runtime.home.as_posix(), "~/")):
        if path.startswith(f"{folder}/"):
            return prefix + path[len(folder) + 1 :]
    return path


def _say_why(error: CapdiscError | OSError) -> str:
    if isinstance(error, CapdiscError):
        return error.message
    return error.strerror or str(error)


def _print_new_errors(report: BuildReport, look: Look) -> None:
    """Print why a file that was just written is not found."""
    places = tuple(look.changed)
    errors = [
        finding
        for finding in report.findings
        if (finding.severity is Severity.ERROR or finding.code in WAITING_CODES)
        and any(
            finding.path == place or (place.endswith("/") and finding.path.startswith(place))
            for place in places
        )
    ]
    _print_findings(errors)
    if changed := report.changed_definitions:
        console.print_notice(f"notice: {console.format_changed_definitions(changed)}")


def _print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings[:_SHOWN_ERRORS]:
        for line in console.format_finding(finding):
            console.print_notice(line)


def _print_unknown_settings(place: IndexPlace) -> None:
    for key in place.config.unknown:
        console.print_notice(f"notice: unknown setting {key}")


@read_plugins_once()
def build_first(place: IndexPlace) -> Freshness | None:
    """Build the index that is not there. Of many files the first ones are read at once, those of
    the nearest folders, and all of them in the background: then returns how it stands to the disk.

    Raises IndexStateError where there is nothing to build it from.
    """
    from capdisc.context import background_build

    runtime, config = place.runtime, place.config
    builder_id = runtime.ensure_builder_id(place.index_dir)
    # A build that was ended before it published anything may have left its folders.
    coverage = load_coverage(runtime, config, place.index_dir, builder_id)
    all_roots = list_roots(runtime, config, coverage)
    roots = list_existing_roots(all_roots)
    if not roots and not has_other_sources(runtime, config):
        raise no_index_error(place)
    name_absent_roots(runtime, config, coverage)
    options = make_build_options(runtime, config, builder_id, coverage, all_roots)
    seeds = list_seeds(runtime, place.index_dir)
    options = replace(options, max_changes=FIRST_FILES, seeds=seeds)
    part: Freshness | None = None
    try:
        report = _build(runtime, roots, place.index_dir, options, is_shown=True)
    except ManyChangesError as error:
        options = replace(options, max_files=FIRST_FILES)
        report = _build(runtime, roots, place.index_dir, options, is_shown=True)
        background_build.start_first_build(place)
        later_paths = error.paths[report.counts["files"] :]
        part = Freshness(
            state="behind",
            changed=tuple(later_paths),
            changed_count=len(later_paths),
            building=_describe_part(report.counts["files"], len(later_paths)),
        )
    count = console.format_count(report.counts["files"], "file")
    _print_unknown_settings(place)
    announce(folder_requests(runtime, config), runtime.workspace.as_posix())
    # A first build may have hundreds of errors in files that nobody asked about.
    _print_findings([finding for finding in report.findings if finding.code in WAITING_CODES])
    housekeeping.collect_indexes(runtime, config, place.index_dir, is_quiet=bool(part))
    if part:
        return part
    state = ""
    if failed := report.counts["failed"]:
        verb = "has" if failed == 1 else "have"
        state = f"; {failed:,} {verb} errors: {refresh_command(place)}"
    console.print_notice(f"notice: indexed {count} in {report.seconds:.1f} s{state}")
    return None


def no_index_error(place: IndexPlace) -> IndexStateError:
    """The error where there is no index: where capdisc looked, and what makes one."""
    runtime, config = place.runtime, place.config
    if find_default_roots(runtime, config) or has_other_sources(runtime, config):
        default = runtime.index_dir(None, config)
        option = "" if place.index_dir == default else f" --index-dir {place.index_dir}"
        return IndexStateError(
            f"there is no index yet in {place.index_dir}", f"run: capdisc index{option}"
        )
    folders = [short_path(place, path.as_posix()) for path in runtime.candidate_roots(config)]
    return IndexStateError(
        "there is no index yet, and nothing to make one from",
        f"looked in {console.format_names(folders, _SHOWN_FOLDERS)} (capdisc config lists them): "
        "put a capability there, or name a folder: capdisc index PATH",
    )
