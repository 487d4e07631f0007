"""capdisc watch: keep the index up to date while files change."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import capdisc_indexer as cd
from capdisc.args import params
from capdisc.args.command_line import BadValueError, argument, option, parse_seconds
from capdisc.context import housekeeping, surroundings, workspace_trust
from capdisc.context.coverage import add_paths, list_roots, load_coverage, make_build_options
from capdisc.context.index_scope import folder_requests
from capdisc.output import command_process, console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import CapdiscError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import BuildReport, Coverage
from capdisc_indexer.platforms import system
from capdisc_indexer.watching import WatchOptions, WatchUpdate


def run_shell_command(command: str, environ: Mapping[str, str], limit_s: float) -> str:
    """Run the user's command through the shell and wait for it. Returns why it failed, "" where it
    did not. Its output goes to stderr, since stdout holds our results.
    """
    import subprocess

    from capdisc_indexer.sources.readers.process_group import managed_process

    out = _stderr_fd(subprocess.DEVNULL)

    def start() -> subprocess.Popen[bytes]:
        # A group of its own, so that what it starts can be ended with it.
        return subprocess.Popen(
            command,
            shell=True,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            **system.group_options(),
        )

    try:
        with managed_process(start) as child:
            return _exit_problem(child.wait(limit_s))
    except subprocess.TimeoutExpired:
        return f"did not end within {limit_s:g} s and was ended"
    except OSError as error:
        return f"could not be started: {error.strerror}"


def _stderr_fd(otherwise: int) -> int:
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or a test's
        return otherwise


def _exit_problem(code: int) -> str:
    if code == 0:
        return ""
    return f"ended with status {code}" if code > 0 else f"was ended by signal {-code}"


EXEC_TIMEOUT_S = 60.0
MIN_INTERVAL_S = 0.1


def parse_debounce(text: str) -> float:
    """The seconds as `parse_seconds` reads them. Raises BadValueError for a large number without a
    unit, too.
    """
    seconds, text = parse_seconds(text), text.strip()
    # From ten on it is likelier meant as milliseconds, which other watchers count.
    if seconds >= 10 and text[-1].isdigit():
        raise BadValueError(f"{text!r} has no unit: give {text}ms or {text}s")
    return seconds


@frozen(kw_only=True)
class WatchRequest:
    """What is watched, how often it is looked at, and what follows a change."""

    paths: Annotated[
        list[Path] | None, argument(metavar="[PATH]...", help="Folders or files to watch.")
    ] = None
    index_dir: params.IndexDir = None
    interval: Annotated[
        float | None,
        option(
            metavar="TIME",
            parser=parse_seconds,
            help="Scan this often, also without events [1m; 2s where there are none].",
        ),
    ] = None
    debounce: Annotated[
        float | None,
        option(
            metavar="TIME",
            parser=parse_debounce,
            help="Wait until no file has changed for this long [500ms].",
        ),
    ] = None
    poll: Annotated[
        bool,
        option(help="Scan every interval instead of waiting for events of the kernel."),
    ] = False
    command: Annotated[
        str | None,
        option(
            "--exec",
            metavar="CMD",
            help="Run CMD in the shell after each change; it gets CAPDISC_GENERATION and "
            "CAPDISC_INDEX_DIR.",
        ),
    ] = None
    encoder: params.EncoderName = None
    lock_timeout: params.LockTimeout = None
    json: params.Json = False


def watch(request: WatchRequest = WatchRequest()) -> int:
    """Bring the index up to date, and keep it so while files change, until interrupted.

    Prints a line for each change that was indexed; with --json, a JSON document on each line.
    Folders are those of `capdisc index`; it waits for those that do not exist yet. A file that is
    being written keeps its last version until it can be parsed, or two seconds have passed.

    Example: capdisc watch fixtures/catalogs/small --exec 'capdisc status'
    """
    pace = _watch_options(request)
    system.limit_malloc_arenas()
    with command_process.silence_native_stderr():
        same_release = False
        while _watch_until_outdated(request, pace, same_release):
            same_release = True
            console.print_notice(
                "notice: the settings or what the index covers changed: reading them again"
            )
    return 0


def _watch_until_outdated(request: WatchRequest, pace: WatchOptions, same_release: bool) -> bool:
    """Watch what the settings and the index name now. Returns whether it ended because one of them
    names something else. With `same_release`, an index that another release has written meanwhile is
    an error.
    """
    runtime, index_dir = surroundings.current_runtime(), request.index_dir
    config = runtime.config()
    if shared := runtime.shared_index(index_dir, config):
        hint = "watch into a folder, --index-dir DIR; publish with: capdisc index"
        raise UsageError(f"watch does not publish to {shared.url}", hint)
    waiting = workspace_trust.announce_settings(
        config, folder_requests(runtime, config), where=runtime.workspace.as_posix()
    )
    where = runtime.index_dir(index_dir, config)
    builder_id = runtime.ensure_builder_id(where)
    named_paths = [runtime.expand(path) for path in request.paths or ()]
    coverage = last = load_coverage(runtime, config, where, builder_id)
    if index_dir and named_paths:
        coverage = Coverage(added=tuple(map(Path.as_posix, named_paths)))
    elif named_paths:
        coverage = add_paths(runtime, config, coverage, named_paths)
    roots = list_roots(runtime, config, coverage)
    build = replace(
        make_build_options(runtime, config, builder_id, coverage, roots, request.lock_timeout),
        encoder=runtime.encoder_name(request.encoder or config["encoder"]) or None,
        encoder_required=bool(request.encoder),
        last_coverage=last,
        same_release=same_release,
    )
    expected = {*named_paths, *runtime.configured_roots(config)}

    def is_current() -> bool:
        with suppress(CapdiscError):  # While a file of settings is broken, the last ones hold.
            now = runtime.config()
            covered = load_coverage(runtime, now, where, builder_id)
            return now == config and covered in (last, coverage)
        return True

    options = replace(
        pace,
        optional=frozenset(root for root in roots if root not in expected),
        is_current=is_current,
    )
    with closing(cd.watch(roots, where, build, options)) as updates:
        return _print_updates(updates, request, runtime, config, where, builder_id, waiting)


def _watch_options(request: WatchRequest) -> WatchOptions:
    interval, debounce = request.interval, request.debounce
    if interval is not None and interval < MIN_INTERVAL_S:
        raise UsageError(
            f"--interval must be at least {MIN_INTERVAL_S:g} seconds", "see: capdisc watch --help"
        )
    quiet_s = WatchOptions().quiet_s if debounce is None else debounce
    return WatchOptions(interval_s=interval, quiet_s=quiet_s, poll=request.poll)


def _print_updates(
    updates: Iterator[WatchUpdate],
    request: WatchRequest,
    runtime: surroundings.Runtime,
    config: Config,
    where: Path,
    builder_id: str | None,
    waiting: tuple[str, ...],
) -> bool:
    """Print the updates. Returns True once there are no more: what is watched has to be chosen
    again.
    """
    for update in updates:
        for text in update.notices:
            console.print_notice(f"notice: {text}")
        if update.report and (changed := update.report.changed_definitions):
            console.print_notice(f"notice: {console.format_changed_definitions(changed)}")
        for finding in update.errors:
            console.print_notice(console.format_finding(finding)[0])
        if request.json:
            console.print_json_line(_update_document(update, where, waiting))
            waiting = ()
        elif update.report:
            console.print_lines([_format_update(update.report)])
        if update.report and update.report.published:
            housekeeping.start_table_update(config, where, builder_id)
            if request.command:
                number = update.report.generation.number
                _run_exec_command(request.command, number, runtime, where)
    return True


def _update_document(
    update: WatchUpdate, where: Path, waiting: tuple[str, ...]
) -> dict[str, object]:
    report = update.report
    return {
        "generation": report.generation.number if report else None,
        "published": bool(report and report.published),
        "index_dir": str(where),
        "counts": report.counts if report else None,
        "ids": report.changed_ids if report else None,
        "held_definitions": report.held_definitions if report else (),
        "changed_definitions": report.changed_definitions if report else (),
        "findings": update.errors,
        "notices": (*waiting, *update.notices),
        "seconds": round(report.seconds, 3) if report else None,
    }


def _format_update(report: BuildReport) -> str:
    counts = report.counts
    changes = ", ".join(
        f"{counts[name]:,} {name}" for name in ("added", "updated", "removed") if counts[name]
    )
    now = time.strftime("%H:%M:%S")
    return f"{now} generation {report.generation.number}: {changes or 'no change'} ({report.seconds:.1f} s)"


def _run_exec_command(
    command: str, number: int, runtime: surroundings.Runtime, where: Path
) -> None:
    """Run the command of --exec after a change; a failure is a notice, and watching goes on."""
    variables = {"CAPDISC_GENERATION": str(number), "CAPDISC_INDEX_DIR": str(where)}
    if problem := run_shell_command(command, {**runtime.environ, **variables}, EXEC_TIMEOUT_S):
        console.print_notice(f"notice: the command of --exec {problem}")
