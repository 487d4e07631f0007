"""The files beside a manifest that belong to it: the schema of its inputs, and its long text."""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.formats.long_text_file import MAX_FILE_BYTES, body_of
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile
from capdisc_indexer.sources.scan.secret_files import held_by_content, held_by_name, secret_file

MAX_SCHEMA_BYTES = 256 * 1024


@frozen(kw_only=True)
class Companions:
    """The contents of the companions; `data` has the bytes of each file that could be read, for
    the digest.
    """

    schema: Mapping[str, Json] | None = None
    body: str = ""
    body_path: str = ""
    body_line: int = 1
    schema_path: str = ""
    data: tuple[bytes, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_companions(file: FoundFile) -> Companions:
    """The companions of a manifest. One that cannot be used is an error, since the manifest is
    incomplete without it.
    """
    companions = Companions(findings=file.lost)
    for companion in file.companions:
        is_schema = companion.path.lower().endswith(".json")
        data = _read(companion, MAX_SCHEMA_BYTES if is_schema else MAX_FILE_BYTES)
        add_content = _with_schema if is_schema else _with_body
        companions = add_content(companions, companion, data)
        if isinstance(data, bytes):
            companions = replace(companions, data=(*companions.data, data))
    return companions


def _read(companion: FileStat, limit_bytes: int) -> bytes | Finding:
    """The bytes of a companion, unless it holds secrets: as a link, it may be any file of its
    folder.
    """
    if holds := held_by_name(companion.path, companion.resolved):
        return secret_file(companion.path, holds)
    data = read_bytes(companion, limit_bytes)
    holds = "" if isinstance(data, Finding) else held_by_content(data)
    return secret_file(companion.path, holds) if holds else data


def _with_schema(companions: Companions, companion: FileStat, data: bytes | Finding) -> Companions:
    schema = data if isinstance(data, Finding) else read_schema(data, companion.path)
    if isinstance(schema, Finding):
        return _add_finding(companions, schema)
    return replace(companions, schema=schema, schema_path=companion.path)


def _with_body(companions: Companions, companion: FileStat, data: bytes | Finding) -> Companions:
    body = data if isinstance(data, Finding) else body_of(data, companion.path)
    if isinstance(body, Finding) or isinstance(data, Finding):
        return _add_finding(companions, body) if isinstance(body, Finding) else companions
    lines_above = data.count(b"\n") - body.count("\n")
    return replace(companions, body=body, body_path=companion.path, body_line=lines_above + 1)


def read_schema(data: bytes, path: str) -> dict[str, Json] | Finding:
    """The schema in a JSON file, or the finding that says why there is none."""
    text = decode(data, path)
    value = text if isinstance(text, Finding) else read_json(text, path)
    if isinstance(value, Finding | dict):
        return value
    message, hint = (
        "the schema is not a JSON object",
        'write {"type": "object", "properties": {...}}',
    )
    return Finding(
        code="schema-type", severity=Severity.ERROR, message=message, hint=hint, path=path
    )


def _add_finding(companions: Companions, finding: Finding) -> Companions:
    return replace(companions, findings=(*companions.findings, finding))
