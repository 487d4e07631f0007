"""capdisc log: what was asked here, what was found, and what of it was used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_sessions import request_log
from capdisc_sessions.request_log import LogEvent

# The lists of a summary, and what each counts.
_LISTS = {
    "called": "name",
    "queries": "query",
    "nothing_found": "query",
    "found": "id",
    "used": "id",
}


def log(
    limit: Annotated[
        int, option("-k", "--limit", min=1, max=10_000, help="How many entries of each list.")
    ] = 20,
    top: Annotated[
        bool, option("--top", help="The most frequent queries, hits and uses.", panel="Output")
    ] = False,
    nothing_found: Annotated[
        bool,
        option("--nothing-found", help="The queries that found nothing.", panel="Output"),
    ] = False,
    export: Annotated[
        Path | None,
        option(
            "--export",
            metavar="FOLDER",
            help="Write an evaluation set: queries.jsonl and qrels.tsv.",
            panel="Output",
        ),
    ] = None,
    clear: Annotated[bool, option("--clear", help="Delete the log.", panel="Output")] = False,
    json: params.Json = False,
) -> int:
    """Print the local log of requests and uses of this workspace.

    It is off until the setting log is true (in your own configuration, or CAPDISC_LOG=1). It then
    holds the queries of search, render, tools and of the discovery tools (call, mcp) with what
    they found, and what show, run and session use took of it. It lies in your state folder, only
    you can read it, and nothing sends it anywhere. In an exported set a capability that was run or
    used after a query has grade 2, one that was read grade 1.

    Example: CAPDISC_LOG=1 capdisc search "merge PDF files" && capdisc log --top
    """
    if sum((top, nothing_found, export is not None, clear)) > 1:
        raise UsageError(
            "--top, --nothing-found, --export and --clear exclude each other", "give one"
        )
    runtime = surroundings.current_runtime()
    state_dir = runtime.state_dir()
    if clear:
        request_log.clear_log(state_dir)
        return ExitCode.OK
    events = request_log.read_events(state_dir)
    is_on = runtime.config()["log"]
    if not is_on:
        console.print_notice("notice: the log is off; to keep one: capdisc config set log true")
    if export is not None:
        return _export(runtime.expand(export), events, json)
    if json:
        summary = request_log.summarise_log(events)
        lists = {
            name: [{_LISTS[name]: key, "count": count} for key, count in pairs[:limit]]
            for name, pairs in summary.items()
        }
        console.print_document(
            {
                "log": str(request_log.log_path(state_dir)),
                "is_on": is_on,
                "requests": sum(count for _, count in summary["queries"]),
                **lists,
                "events": events[-limit:],
            }
        )
    elif top or nothing_found:
        _print_counts(events, limit, nothing_found)
    else:
        console.print_lines([_event_line(event) for event in events[-limit:]])
    return ExitCode.OK if events else ExitCode.FINDINGS


def _print_counts(events: Sequence[LogEvent], limit: int, nothing_found: bool) -> None:
    for name, pairs in request_log.summarise_log(events).items():
        if (name == "nothing_found") is nothing_found:
            console.print_lines([f"{name}:"] if pairs and not nothing_found else [])
            rows = pairs[:limit]
            console.print_lines([f"{count:6,}  {console.sanitise(key)}" for key, count in rows])


def _event_line(event: LogEvent) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(event.at))
    ids = console.format_names(event.ids) or "nothing"
    about = f"{event.query} → {ids}" if event.is_request else ids
    return console.sanitise(f"{at}  {event.event:6}  {about}{'' if event.ok else ' (failed)'}")


def _export(folder: Path, events: Sequence[LogEvent], json: bool) -> int:
    grades = request_log.judge_requests(events)
    if not grades:
        console.print_notice("nothing of what was found was read, run or used afterwards")
        return ExitCode.FINDINGS
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in request_log.evaluation_files(grades).items():
            (folder / name).write_text(text, encoding="utf-8")
            written.append(str(folder / name))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written ({error.strerror})", "choose another folder"
        ) from error
    if json:
        console.print_document({"written": written, "queries": len(grades)})
    else:
        console.print_lines([f"wrote {name}" for name in written])
        console.print_notice(f"hint: capdisc eval {written[0]} {written[1]}")
    return ExitCode.OK
