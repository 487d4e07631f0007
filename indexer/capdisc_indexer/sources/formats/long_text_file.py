"""The files that belong to a manifest: those next to it, with the schema of its inputs and its
long text, and the one that it names for its long text, which must lie inside the capability's own
folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.readers.file_bytes import decode, read_path
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    held_by_content,
    held_by_name,
    secret_file,
)
from capdisc_indexer.text.normalization import compile_late

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH120


MAX_SCHEMA_BYTES = 256 * 1024
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
        path, is_schema = companion.path, companion.path.lower().endswith(".json")
        limit = MAX_SCHEMA_BYTES if is_schema else MAX_FILE_BYTES
        data = _read_without_secrets(path, companion.resolved, limit)
        content: Any = data
        lines = 0
        if isinstance(data, bytes):
            lines = data.count(b"\n")
            companions = replace(companions, data=(*companions.data, data))
            content = _read_schema(data, path) if is_schema else _body_of(data, path)
        if isinstance(content, Finding):
            companions = replace(companions, findings=(*companions.findings, content))
        elif is_schema:
            companions = replace(companions, schema=content, schema_path=path)
        else:
            line = lines - content.count("\n") + 1
            companions = replace(companions, body=content, body_path=path, body_line=line)
    return companions


def _read_without_secrets(path: str, resolved: str, limit_bytes: int) -> bytes | Finding:
    """The bytes of a file, unless it holds secrets: a link may lead to any file of its folder."""
    if holds := held_by_name(path, resolved):
        return secret_file(path, holds)
    data = read_path(path, resolved, limit_bytes)
    holds = "" if isinstance(data, Finding) else held_by_content(data)
    return secret_file(path, holds) if holds else data


def text_or_file(value: str, file: FoundFile) -> str | Finding:
    """The value itself, or the body of the file next to the manifest that it names; the finding if
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
        message = f"{value[:200]} cannot be read: {error.strerror}"
        return Finding("path-missing", Severity.ERROR, message, "correct the path")
    folders = [os.path.dirname(file.resolved), system.realpath(os.path.dirname(file.path))]
    if not is_inside(resolved, folders):
        return _outside_folder(value)
    data = _read_without_secrets(path, resolved, MAX_FILE_BYTES)
    return data if isinstance(data, Finding) else _body_of(data, path)


def _body_of(data: bytes, path: str) -> str | Finding:
    """The text of a Markdown file, without its front matter."""
    text = decode(data, path)
    if isinstance(text, Finding):
        return text
    halves = split_front_matter(text, path)
    # A text that merely begins with a rule has no block, so all of it is the body.
    return text if halves.findings and halves.block is None else halves.body


def _read_schema(data: bytes, path: str) -> dict[str, Json] | Finding:
    """The schema in a JSON file, or the finding that says why there is none."""
    from capdisc_indexer.sources.readers.json_reader import read_json

    text = decode(data, path)
    value = text if isinstance(text, Finding) else read_json(text, path)
    if isinstance(value, Finding | dict):
        return value
    message = "the schema is not a JSON object"
    hint = 'write {"type": "object", "properties": {...}}'
    return Finding("schema-type", Severity.ERROR, message, hint, path)


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
    hint = "put the text into a file inside that folder"
    return Finding("path-escape", Severity.ERROR, message, hint)
