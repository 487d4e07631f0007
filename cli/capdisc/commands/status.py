"""capdisc status: what the index holds and where."""

from __future__ import annotations

from typing import Any

from capdisc import asking, options, output
from capdisc.exit_codes import ExitCode
from capdisc.serve import claim
from capdisc_indexer import state
from capdisc_indexer.store import generation
from capdisc_indexer.tokens import TOKENIZER
from capdisc_indexer.types import Severity


def status(index_dir: options.IndexDir = None, json: options.Json = False) -> int:
    """Say what the index holds, how old it is, and where it lies.

    Example: capdisc status --json
    """
    with asking.opened(index_dir) as asked:
        facts = _facts(asked)
    if json:
        output.document(facts)
    else:
        output.lines(_printed(facts))
    return ExitCode.OK


def _facts(asked: asking.Asked) -> dict[str, Any]:
    index = asked.index
    files = state.load(index.folder / "meta" / "files.json").files
    findings = [finding for one in files.values() for finding in one.findings]
    held = sorted(claim.id for one in files.values() for claim in one.claims if claim.status == state.HELD)
    bytes_on_disk = sum(entry["size"] for entry in index.generation.files.values())
    return {
        "index_dir": asked.shared.url if asked.shared else str(index.index_dir),
        "copy": str(index.index_dir) if asked.shared else None,
        "generation": index.generation.number,
        "built_at": index.generation.built_at,
        "index_version": generation.SCHEMA_VERSION,
        "roots": index.meta("scan")["roots"],
        "files": len(files),
        "capabilities": len(index.documents),
        "vectors": index.generation.counts["rows"],
        "encoder": index.generation.fingerprint or None,
        "kinds": index.meta("overview")["kinds"],
        "categories": {each["category"]: each["count"] for each in index.meta("overview")["categories"]},
        "errors": sum(finding.severity is Severity.ERROR for finding in findings),
        "warnings": sum(finding.severity is Severity.WARNING for finding in findings),
        "held_back": held,
        "bytes": bytes_on_disk,
        "tokenizer": TOKENIZER,
        "server": claim.running() or None,
    }


def _printed(facts: dict[str, Any]) -> list[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in facts["kinds"].items())
    copy = [f"copy        {facts['copy']}"] if facts["copy"] else []
    waiting = output.listed(facts["held_back"])
    held = [f"held back   {waiting}: changed definitions; look at each with capdisc trust ID"] if waiting else []
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
