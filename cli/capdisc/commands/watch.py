"""capdisc watch: keep the index up to date while files change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Annotated

from capdisc import options, output, runtime, shell, streams, trusting
from capdisc.declaring import argument, option
from capdisc.roots import awaited
from capdisc_indexer.errors import UsageError
from capdisc_indexer.types import BuildOptions, BuildReport
from capdisc_indexer.watching import Turn, WatchOptions
from capdisc_indexer.watching import watch as turns_of

EXEC_LIMIT_S = 60.0
LEAST_INTERVAL_S = 0.1


def watch(
    paths: Annotated[list[Path] | None, argument(metavar="[PATH]...", help="Folders or files to watch.")] = None,
    index_dir: options.IndexDir = None,
    interval: Annotated[
        float | None,
        option(
            metavar="TIME",
            parser=options.seconds,
            help="Look at everything this often, events or not [1m; 2s without the kernel's events].",
        ),
    ] = None,
    debounce: Annotated[
        float | None,
        option(metavar="TIME", parser=options.seconds, help="Wait until files were quiet so long [500ms]."),
    ] = None,
    poll: Annotated[bool, option("--poll", help="Look every interval, without the kernel's events.")] = False,
    exec_: Annotated[
        str | None,
        option(
            "--exec",
            metavar="CMD",
            help="Run CMD through the shell after each change, with CAPDISC_GENERATION and CAPDISC_INDEX_DIR set.",
        ),
    ] = None,
    encoder: options.EncoderName = None,
    lock_timeout: options.LockTimeout = None,
    serve: Annotated[bool, option("--serve", help="Answer searches too, as capdisc serve does.")] = False,
    json: options.Json = False,
) -> int:
    """Bring the index up to date, and keep it so while files change, until interrupted.

    Prints a line for each change that was taken up; with --json, a JSON document a line. Folders are those that
    `capdisc index` would take; the ones that do not exist yet are waited for. A file that is being written keeps its
    last version until it parses, or has failed to for two seconds.

    Example: capdisc watch fixtures/catalogs/small --exec 'capdisc status'
    """
    here = runtime.current()
    config = here.config()
    if shared := here.shared(index_dir, config):
        hint = "watch into a folder, --index-dir DIR; publish with: capdisc index"
        raise UsageError(f"watch does not publish to {shared.url}", hint)
    waiting = trusting.announce_all(here, config)
    where = here.index_dir(index_dir, config)
    builder_id = here.ensure_builder_id(where)
    named = [here.expand(path) for path in paths or []]
    roots = list(dict.fromkeys(named)) or awaited(here, config, where, builder_id)
    build = BuildOptions(
        encoder=here.encoder_name(encoder or config["encoder"]) or None,
        encoder_required=bool(encoder),
        lock_timeout_s=config["lock_timeout"] if lock_timeout is None else lock_timeout,
        sources=here.sources(config, named),
        guard=here.definition_guard(),
        builder_id=builder_id,
        confined={} if named else here.confined(config),
    )
    expected = {*named, *here.configured(config)}
    pace = _pace(interval, debounce, poll, frozenset(root for root in roots if root not in expected))
    runtime.keep_small()
    with _serving(serve), streams.native_hushed(), closing(turns_of(roots, where, build, pace)) as turns:
        _tell(turns, here, where, json, exec_, waiting)
    return 0


def _serving(wanted: bool) -> AbstractContextManager[None]:
    """With a server beside it, if that is wanted."""
    if not wanted:
        return nullcontext()
    from capdisc.serve import beside, places

    path = places.own_socket()
    return beside.answering(path, lambda: output.notice(f"notice: answering at {path}"))


def _pace(interval: float | None, debounce: float | None, poll: bool, optional: frozenset[Path]) -> WatchOptions:
    if interval is not None and interval < LEAST_INTERVAL_S:
        raise UsageError(f"--interval must be at least {LEAST_INTERVAL_S:g} seconds", "see: capdisc watch --help")
    quiet_s = WatchOptions().quiet_s if debounce is None else debounce
    return WatchOptions(interval_s=interval, quiet_s=quiet_s, poll=poll, optional=optional)


def _tell(
    turns: Iterator[Turn], here: runtime.Runtime, where: Path, json: bool, command: str | None, waiting: tuple[str, ...]
) -> None:
    for turn in turns:
        for text in turn.notices:
            output.notice(f"notice: {text}")
        if turn.report and (changed := turn.report.changed_definitions):
            output.notice(f"notice: {output.changed_definitions(changed)}")
        for finding in turn.errors:
            output.notice(output.finding_lines(finding)[0])
        if json:
            output.line(_document(turn, where, waiting))
            waiting = ()
        elif turn.report:
            output.lines([_line(turn.report)])
        if command and turn.report and turn.report.published:
            _follow(command, turn.report.generation.number, here, where)


def _document(turn: Turn, where: Path, waiting: tuple[str, ...]) -> dict[str, object]:
    report = turn.report
    return {
        "generation": report.generation.number if report else None,
        "published": bool(report and report.published),
        "index_dir": str(where),
        "counts": report.counts if report else None,
        "held_definitions": report.held_definitions if report else (),
        "changed_definitions": report.changed_definitions if report else (),
        "findings": turn.errors,
        "notices": (*waiting, *turn.notices),
        "seconds": round(report.seconds, 3) if report else None,
    }


def _line(report: BuildReport) -> str:
    counts = report.counts
    changes = ", ".join(f"{counts[name]:,} {name}" for name in ("added", "updated", "removed") if counts[name])
    now = time.strftime("%H:%M:%S")
    return f"{now} generation {report.generation.number}: {changes or 'no change'} ({report.seconds:.1f} s)"


def _follow(command: str, number: int, here: runtime.Runtime, where: Path) -> None:
    """What the user wants done after a change; its failure is news, and no more."""
    facts = {"CAPDISC_GENERATION": str(number), "CAPDISC_INDEX_DIR": str(where)}
    if problem := shell.run(command, {**here.environ, **facts}, EXEC_LIMIT_S):
        output.notice(f"notice: the command of --exec {problem}")
