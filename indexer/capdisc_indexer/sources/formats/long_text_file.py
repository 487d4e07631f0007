"""The files that belong to a manifest: those beside it, with the schema of its inputs and its long
text, and the one that it names for its long text, which must lie inside the capability's own
folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.readers.file_bytes import decode, read_bytes, read_path
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import (
    FileStat,
    FoundFile,
    held_by_content,
    held_by_name,
    secret_file,
)
from capdisc_indexer.text.normalization import compile_late

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH120


MAX_SCHEMA_BYTES = 256 * 1024
MAX_CONTENT_BYTES = 64 * 1024
MAX_FILE_BYTES = 1024 * 1024
LONGEST_PATH = 4_096
_BLANK = compile_late(r"\s")
_TEXT_FILE = compile_late(r"\.(md|markdown|txt)(:.*)?\Z", re.IGNORECASE)
_ESCAPED = compile_late(r"%[0-9a-fA-F]{2}")
_DEVICE = compile_late(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
# Home folders, variables, percent escapes, Windows separators and anything with a scheme or drive
# before a colon.
_ELSEWHERE = compile_late(r"[/~$%]|[^/]*[\\%]|[a-z][a-z0-9+.-]*:", re.IGNORECASE)


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


def _add_finding(companions: Companions, finding: Finding) -> Companions:
    return replace(companions, findings=(*companions.findings, finding))


def text_or_file(value: str, file: FoundFile) -> str | Finding:
    """The value itself, or the body of the file beside the manifest that it names; the finding if
    that cannot be read.
    """
    if not _is_path(value, file):
        return value
    if _ELSEWHERE.match(value) or _DEVICE.fullmatch(value) or "\n" in value:
        return _outside_folder(value)
    path = system.join(os.path.dirname(file.path), value)
    try:
        resolved = system.realpath(path, strict=True)
    except OSError as error:
        # A path outside is refused by its name alone, so that no message shows whether it exists.
        if not is_inside(system.normpath(path), [os.path.dirname(file.path)]):
            return _outside_folder(value)
        return _content_finding(
            "path-missing", f"{value[:200]} cannot be read: {error.strerror}", "correct the path"
        )
    folders = [os.path.dirname(file.resolved), system.realpath(os.path.dirname(file.path))]
    if not is_inside(resolved, folders):
        return _outside_folder(value)
    return _read_body(path, resolved)


def _read_body(path: str, resolved: str) -> str | Finding:
    if holds := held_by_name(path, resolved):
        return secret_file(path, holds)
    data = read_path(path, resolved, MAX_FILE_BYTES)
    if isinstance(data, Finding):
        return data
    holds = held_by_content(data)
    return secret_file(path, holds) if holds else body_of(data, path)


def body_of(data: bytes, path: str) -> str | Finding:
    """The text of a Markdown file, without its front matter."""
    text = decode(data, path)
    if isinstance(text, Finding):
        return text
    halves = split_front_matter(text, path)
    # A text that merely begins with a rule has no block, so all of it is the body.
    return text if halves.findings and halves.block is None else halves.body


def clip_content(text: str) -> str:
    """The text up to the last full line within MAX_CONTENT_BYTES, or up to that limit if lines are
    very long.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_CONTENT_BYTES:
        return text
    clipped = data[:MAX_CONTENT_BYTES].decode("utf-8", "ignore")
    end = clipped.rfind("\n") + 1
    return clipped[:end] if end > len(clipped) // 2 else clipped


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


def _is_path(value: str, file: FoundFile) -> bool:
    if not value or ("\n" in value and (" " in value or len(value) > 256)):
        return False
    if len(value) > LONGEST_PATH:  # nothing can lie there, and a text of that length has blanks
        return bool(_TEXT_FILE.search(value)) and not _BLANK.search(value)
    if value.startswith(("./", "../", "/", "~/")):
        return True
    if " " not in value:
        has_path_sign = "/" in value or "\\" in value or value.lower().startswith("file:")
        return bool(
            has_path_sign
            or _DEVICE.fullmatch(value)
            or _TEXT_FILE.search(value)
            or _ESCAPED.search(value)
            or _exists(value, file)
        )
    # A sentence may end with the name of a file; with blanks inside, only an existing file counts.
    return bool(_TEXT_FILE.search(value)) and _exists(value, file)


def _exists(value: str, file: FoundFile) -> bool:
    return (
        len(value) < 256
        and "\n" not in value
        and os.path.lexists(system.join(os.path.dirname(file.path), value))
    )


def _outside_folder(value: str) -> Finding:
    message = f"{value[:200]} leads out of the capability's own folder; not read"
    return _content_finding("path-escape", message, "put the text into a file inside that folder")


def _content_finding(code: str, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint)
