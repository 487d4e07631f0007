"""capdisc status: what the index holds and where."""

from __future__ import annotations

from typing import Any

from capdisc.args import params
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.serve import claim
from capdisc_indexer.model.types import Severity
from capdisc_indexer.store import file_states, generation
from capdisc_indexer.text.token_counts import DEFAULT_TOKENIZER


def status(index_dir: params.IndexDir = None, json: params.Json = False) -> int:
    """Say what the index holds, how old it is, and where it lies.

    Example: capdisc status --json
    """
    with open_index.open_index(index_dir) as ctx:
        facts = _status_facts(ctx)
    if json:
        console.print_document(facts)
    else:
        console.print_lines(_format_status(facts))
    return ExitCode.OK


def _status_facts(ctx: open_index.CommandContext) -> dict[str, Any]:
    index = ctx.index
    files = file_states.load_states(index.folder / "meta" / "files.json").files
    findings = [finding for file_state in files.values() for finding in file_state.findings]
    held = sorted(
        claim.id
        for one in files.values()
        for claim in one.declared_ids
        if claim.status == file_states.HELD
    )
    bytes_on_disk = sum(entry["size"] for entry in index.generation.files.values())
    return {
        "index_dir": ctx.shared_index.url if ctx.shared_index else str(index.index_dir),
        "copy": str(index.index_dir) if ctx.shared_index else None,
        "generation": index.generation.number,
        "built_at": index.generation.built_at,
        "index_version": generation.SCHEMA_VERSION,
        "roots": index.scan["roots"],
        "files": len(files),
        "capabilities": len(index.documents),
        "vectors": index.generation.counts["rows"],
        "encoder": index.generation.fingerprint or None,
        "kinds": index.overview["kinds"],
        "categories": {entry["category"]: entry["count"] for entry in index.overview["categories"]},
        "errors": sum(finding.severity is Severity.ERROR for finding in findings),
        "warnings": sum(finding.severity is Severity.WARNING for finding in findings),
        "held_back": held,
        "bytes": bytes_on_disk,
        "tokenizer": DEFAULT_TOKENIZER,
        "server": claim.server_pid() or None,
    }


def _format_status(facts: dict[str, Any]) -> list[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in facts["kinds"].items())
    copy = [f"copy        {facts['copy']}"] if facts["copy"] else []
    waiting = console.format_names(facts["held_back"])
    held = (
        [f"held back   {waiting}: changed definitions; look at each with capdisc trust ID"]
        if waiting
        else []
    )
    server = [f"server      process {facts['server']}"] if facts["server"] else []
    return [
        f"index       {facts['index_dir']} (generation {facts['generation']}, {facts['built_at']})",
        *copy,
        f"roots       {', '.join(facts['roots'])}",
        f"holds       {facts['capabilities']:,} capabilities from {facts['files']:,} files: {kinds}",
        f"vectors     {facts['vectors']:,} by {facts['encoder'] or 'no encoder: searching goes by words alone'}",
        f"findings    {facts['errors']:,} errors, {facts['warnings']:,} warnings",
        *held,
        f"size        {facts['bytes'] / 1e6:.1f} MB",
        *server,
    ]
