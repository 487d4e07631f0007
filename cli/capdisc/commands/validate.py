"""capdisc validate: what is wrong with capability files; needs no index, model or network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from capdisc import options, output, runtime
from capdisc.exit_codes import ExitCode
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import read_bytes
from capdisc_indexer.sources.scan import scan
from capdisc_indexer.types import Finding, Severity


def validate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders.")],
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    json: options.Json = False,
) -> int:
    """Check capability files. Exit status 1: something is wrong with them.

    Example: capdisc validate fixtures/catalogs/small
    """
    here = runtime.current()
    found = scan([here.expand(path) for path in paths])
    findings = list(found.findings)
    for file in found.files:
        source = SOURCES[file.format]
        data = read_bytes(file, source.limit_bytes)
        findings += [data] if isinstance(data, Finding) else source.load(file, data).findings
    if json:
        output.document({"files": len(found.files), "findings": findings})
    else:
        output.lines(line for one in findings for line in output.finding_lines(one))
        output.notice(f"{output.count(len(found.files), 'file')}, {output.count(len(findings), 'finding')}")
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return ExitCode.FINDINGS if any(one.severity in failing for one in findings) else ExitCode.OK
