"""capdisc index: scan the roots and bring the index up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc import asked_databases, asked_servers, options, output, runtime, streams, trusting
from capdisc.declaring import argument, option
from capdisc.exit_codes import ExitCode
from capdisc.roots import existing
from capdisc_indexer.build import build
from capdisc_indexer.frozen import replace
from capdisc_indexer.remote.building import build_shared
from capdisc_indexer.sources.files import printable
from capdisc_indexer.types import BuildOptions, BuildReport, Severity

SHOWN_WARNINGS = 20


def index(
    paths: Annotated[list[Path] | None, argument(metavar="[PATH]...", help="Folders or files to scan.")] = None,
    index_dir: options.IndexDir = None,
    rebuild: Annotated[
        bool | None,
        option(
            help="Build anew, trusting nothing of the last index; or never: one that is damaged or of another release "
            "is an error then. Without either: where it is needed."
        ),
    ] = None,
    verify: Annotated[bool, option("--verify", help="Read every file, whatever its time stamp says.")] = False,
    ask_servers: Annotated[
        bool,
        option(
            "--ask-servers", help="Start the MCP servers of the configuration and ask each for its tools (extra mcp)."
        ),
    ] = False,
    encoder: options.EncoderName = None,
    lock_timeout: options.LockTimeout = None,
    quiet: Annotated[bool, option("--quiet", "-q", help="Print no warnings, only errors and the summary.")] = False,
    json: options.Json = False,
) -> int:
    """Scan folders of capabilities and bring the index up to date.

    Without PATH: the configured folders and sources, CAPDISC_DIRS, and the conventional ones of the workspace and the
    user. Only what changed is read again. Exit status 1 says that some files had errors; the others are indexed.

    Example: capdisc index fixtures/catalogs/small
    """
    here = runtime.current()
    config = here.config()
    for key in config.unknown:
        output.notice(f"notice: unknown setting {key}")
    waiting = trusting.announce_all(here, config)
    where, shared = here.index_dir(index_dir, config), here.shared(index_dir, config)
    sources = here.sources(config, paths or ())
    builder_id = None if shared else here.ensure_builder_id(where)
    asked_servers.ask(here, config, sources, ask_servers)
    asked_databases.ask(here, sources, ask_servers)
    settings = BuildOptions(
        encoder=here.encoder_name(encoder or config["encoder"]) or None,
        encoder_required=bool(encoder),
        rebuild=bool(rebuild),
        may_rebuild=rebuild is not False,
        verify=verify,
        lock_timeout_s=config["lock_timeout"] if lock_timeout is None else lock_timeout,
        sources=sources,
        guard=here.definition_guard(),
        builder_id=builder_id,
        confined={} if paths else here.confined(config),
    )

    def built(folder: Path) -> BuildReport:
        roots = [here.expand(path) for path in paths] if paths else existing(here, config, folder, builder_id)
        return build(roots, folder, settings, progress)

    with streams.native_hushed(), output.progress(here.stderr_is_terminal and not json) as progress:
        report = build_shared(shared, built, settings, progress) if shared else built(where)
    report = replace(report, degraded=(*waiting, *report.degraded))
    _print(report, shared.url if shared else str(where), json, quiet, len(waiting))
    failed = any(finding.severity is Severity.ERROR for finding in report.findings)
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _print(report: BuildReport, where: str, json: bool, quiet: bool, waiting: int) -> None:
    """The report; the first `waiting` texts of what is degraded have been said already."""
    _report(report, quiet)
    for text in report.degraded[waiting:]:
        output.notice(f"notice: {text}")
    if json:
        output.document(
            {
                "generation": report.generation.number,
                "published": report.published,
                "index_dir": where,
                "roots": report.roots,
                "counts": report.counts,
                "encoder": report.generation.fingerprint,
                "degraded": report.degraded,
                "held_definitions": report.held_definitions,
                "changed_definitions": report.changed_definitions,
                "findings": report.findings,
                "seconds": round(report.seconds, 3),
            }
        )
    else:
        output.lines(_summary(report))


def _report(report: BuildReport, quiet: bool) -> None:
    """Every error, and the first warnings; a large collection has hundreds, and --json has them all."""
    by_severity = {each: [one for one in report.findings if one.severity is each] for each in Severity}
    # A run that changed nothing has nothing new to say about files.
    warnings = [] if quiet or not report.published else by_severity[Severity.WARNING]
    for finding in [*by_severity[Severity.ERROR], *warnings[:SHOWN_WARNINGS]]:
        for line in output.finding_lines(finding):
            output.notice(line)
    if changed := report.changed_definitions:
        output.notice(f"notice: {output.changed_definitions(changed)}")
    for root in report.dropped_roots:
        output.notice(f"notice: no longer scanned: {root}")
    if gone := report.dropped_sources:
        what = f"{output.count(len(gone), 'file')} of declared sources, such as {output.safe(printable(gone[0]))}"
        output.notice(f"notice: no longer scanned: {what}; without PATH all are")
    if len(warnings) > SHOWN_WARNINGS:
        output.notice(f"notice: {len(warnings) - SHOWN_WARNINGS:,} more warnings: capdisc index --json lists all")


def _summary(report: BuildReport) -> list[str]:
    c = report.counts
    changes = ", ".join(f"{c[name]:,} {name}" for name in ("added", "updated", "removed") if c[name]) or "no change"
    notes = ", ".join(f"{c[name]:,} {text}" for name, text in _NOTES if c[name])
    indexed = f"{output.count(c['capabilities'], 'capability', 'capabilities')} from {output.count(c['files'], 'file')}"
    work = f"parsed {c['parsed']:,}, embedded {c['embedded']:,}, {report.seconds:.1f} s"
    return [f"{indexed} ({changes}); {work}" + (f"; {notes}" if notes else "")]


_NOTES = (("failed", "failed"), ("copies", "identical copies"), ("shadowed", "shadowed"), ("held", "held back"))
