"""capdisc status: what the index holds and where."""

from __future__ import annotations

import time

from capdisc.args import params
from capdisc.context import open_index
from capdisc.context.freshness import format_age
from capdisc.context.workspace_trust import format_lines, index_requests
from capdisc.output import console, terminal
from capdisc.output.command_process import ExitCode
from capdisc_indexer.indexing.previous_build import count_findings
from capdisc_indexer.model.frozen import shallow_dict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Severity
from capdisc_indexer.store import generation, lance_table
from capdisc_indexer.store.durable_files import measure_folder
from capdisc_indexer.store.file_states import is_stale
from capdisc_indexer.store.state_database import StateDatabase
from capdisc_indexer.text.token_counts import DEFAULT_TOKENIZER


def status(index_dir: params.IndexDir = None, json: params.Json = False) -> int:
    """Print what the index holds, how old it is, and where it lies.

    Example: capdisc status --json
    """
    with open_index.open_index(index_dir, "auto", may_build=False) as ctx:
        document = _status_document(ctx)
    if json:
        console.print_document(document)
    else:
        terminal.print_fields(terminal.find_screen(ctx.runtime), _format_status(document))
    return ExitCode.OK


def _status_document(ctx: open_index.CommandContext) -> JsonObject:
    index = ctx.index
    files = StateDatabase(index.folder)
    findings = count_findings(files, index.scan)
    held_back = files.held_ids()
    usage = measure_folder(index.index_dir)
    stale = sorted(
        declared.resolved_id
        for file_state in files.values()
        if is_stale(file_state)
        for declared in file_state.declared_ids
        if declared.resolved_id
    )
    return {
        "index_dir": ctx.shared_index.url if ctx.shared_index else str(index.index_dir),
        "copy": str(index.index_dir) if ctx.shared_index else None,
        "generation": index.generation.number,
        "built_at": index.generation.built_at,
        "freshness": ctx.freshness.document(),
        "index_version": generation.SCHEMA_VERSION,
        "covers": _describe_coverage(ctx),
        "roots": index.scan["roots"],
        "files": len(files),
        "capabilities": len(index.documents),
        "vectors": index.generation.counts["rows"],
        "encoder": index.generation.fingerprint or None,
        "encoder_name": index.generation.encoder if index.generation.fingerprint else None,
        "reranker": index.generation.reranker if index.reranker_matrix else None,
        "table": _describe_table(ctx),
        "kinds": index.overview["kinds"],
        "categories": {
            entry["category"]: entry["count"] for entry in index.overview["categories"]
        },
        "errors": findings.get(Severity.ERROR, 0),
        "warnings": findings.get(Severity.WARNING, 0),
        "held_back": held_back,
        "waiting": [] if ctx.shared_index else index_requests(ctx.runtime, ctx.config),
        "stale": stale,
        "bytes": usage.bytes,
        "shared_bytes": usage.shared_bytes,
        "tokenizer": DEFAULT_TOKENIZER,
    }


def _describe_coverage(ctx: open_index.CommandContext) -> JsonObject | None:
    """What the index covers and what of it is gone; None for an index that others publish."""
    if ctx.shared_index:
        return None
    from capdisc.context import coverage, index_update

    place = ctx.place
    builder_id = place.runtime.builder_id(place.index_dir)
    known = coverage.load_coverage(place.runtime, place.config, place.index_dir, builder_id)
    missing = ctx.index.scan.get("missing", {})
    gone = f"; {index_update.describe_missing(place, missing)}" if missing else ""
    return {
        **shallow_dict(known),
        "missing": list(missing),
        "text": index_update.describe_coverage(place, known) + gone,
    }


def _describe_table(ctx: open_index.CommandContext) -> JsonObject:
    """Where the LanceDB table lies, its rows, and whether it equals the documents; that of a
    shared index lies in the store and is published with it.
    """
    if ctx.shared_index:
        return {"path": "", "state": "equal", "rows": None, "generation": None}
    state = lance_table.read_state(ctx.index.index_dir)
    is_equal = state is not None and state.generation == ctx.index.generation.number
    return {
        "path": str(lance_table.table_folder(ctx.index.index_dir)),
        "state": "missing" if state is None else "equal" if is_equal else "behind",
        "rows": state.rows if state else None,
        "generation": state.generation if state else None,
    }


def _format_newer(freshness: JsonObject) -> str:
    """What changed on disk since the index was built."""
    if freshness["state"] == "unchecked":
        return f"unknown: {freshness['reason'] or 'nobody looks at the folders of this index'}"
    if freshness["changed"]:
        count = console.format_count(freshness["changed"], "file or folder", "files or folders")
        hidden = freshness["changed"] - len(freshness["names"])
        names = console.format_names(freshness["names"], unnamed=hidden)
        return f"{count} changed on disk ({names}); the next search picks up a few"
    return "nothing on disk" if freshness["complete"] else "nothing in the files looked at"


def _format_status(status: JsonObject) -> list[str]:
    kinds = ", ".join(
        console.format_count(count, kind, f"{kind[:-1]}ies" if kind.endswith("y") else "")
        for kind, count in status["kinds"].items()
    )
    capabilities = console.format_count(status["capabilities"], "capability", "capabilities")
    copy, held_back, waiting, stale, reranker = [], [], [], [], []
    if status["reranker"]:
        reranker = [f"reranker    {status['reranker']}: in mcp, eval and with --mode rerank"]
    if status["copy"]:
        copy = [f"copy        {status['copy']}"]
    if names := console.format_names(status["held_back"]):
        held_back = [f"held back   {names}: changed definitions; see each: capdisc trust ID"]
    if lines := format_lines(status["waiting"]):
        waiting = [f"waiting     {lines}: left out until you trust it: capdisc trust"]
    if names := console.format_names(status["stale"]):
        stale = [
            f"stale       {names}: last good versions of broken files; see why: capdisc index"
        ]
    age = format_age(status["built_at"], time.time())
    shared = status["shared_bytes"]
    shared = f", {shared / 1e6:.1f} MB of it in common with other indexes" if shared else ""
    return [
        f"index       {status['index_dir']} (generation {status['generation']}, {age})",
        *copy,
        f"newer       {_format_newer(status['freshness'])}",
        *([f"covers      {status['covers']['text']}"] if status["covers"] else []),
        f"roots       {', '.join(status['roots']) or 'none of them exists'}",
        f"holds       {capabilities} from {console.format_count(status['files'], 'file')}: {kinds}",
        f"vectors     {status['vectors']:,} by {status['encoder_name'] or 'no encoder: searching goes by words alone'}",
        *reranker,
        f"findings    {console.format_count(status['errors'], 'error')}, "
        f"{console.format_count(status['warnings'], 'warning')}; form is checked by: capdisc validate",
        *held_back,
        *waiting,
        *stale,
        f"size        {status['bytes'] / 1e6:.1f} MB{shared}",
    ]
