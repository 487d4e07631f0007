"""The long text of a capability: given in place, or in a file that must lie inside the
capability's own folder.
"""

# Paths are plain text here: they may hold bytes that are no text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import re

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.readers.file_bytes import read_path
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.sources.scan.secret_files import held_by_content, held_by_name, secret_file

MAX_CONTENT_BYTES = 64 * 1024
MAX_FILE_BYTES = 1024 * 1024

LONGEST_PATH = 4_096
_BLANK = re.compile(r"\s")
_TEXT_FILE = re.compile(r"\.(md|markdown|txt)(:.*)?\Z", re.IGNORECASE)
_ESCAPED = re.compile(r"%[0-9a-fA-F]{2}")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
# Home folders, variables, percent escapes, Windows separators and anything with a scheme or drive
# before a colon.
_ELSEWHERE = re.compile(r"[/~$%]|[^/]*[\\%]|[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def text_or_file(value: str, file: FoundFile) -> str | Finding:
    """The value itself, or the body of the file that it names, looked for beside the manifest."""
    if not _is_path(value, file):
        return value
    if _ELSEWHERE.match(value) or _DEVICE.fullmatch(value) or "\n" in value:
        return _escape(value)
    path = os.path.join(os.path.dirname(file.path), value)
    try:
        resolved = os.path.realpath(path, strict=True)
    except OSError as error:
        # What lies outside is refused by its name alone, so that no answer tells whether it
        # exists.
        if not is_inside(os.path.normpath(path), [os.path.dirname(file.path)]):
            return _escape(value)
        return _content_finding(
            "path-missing", f"{value[:200]} cannot be read: {error.strerror}", "correct the path"
        )
    if not is_inside(
        resolved, [os.path.dirname(file.resolved), os.path.realpath(os.path.dirname(file.path))]
    ):
        return _escape(value)
    return _body_at(path, resolved)


def _body_at(path: str, resolved: str) -> str | Finding:
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
    """The text up to the last whole line within MAX_CONTENT_BYTES, or up to that limit where lines
    are very long.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_CONTENT_BYTES:
        return text
    kept_text = data[:MAX_CONTENT_BYTES].decode("utf-8", "ignore")
    end = kept_text.rfind("\n") + 1
    return kept_text[:end] if end > len(kept_text) // 2 else kept_text


def _is_path(value: str, file: FoundFile) -> bool:
    if not value or ("\n" in value and (" " in value or len(value) > 256)):
        return False
    if len(value) > LONGEST_PATH:  # nothing can lie there, and a text of that length has blanks
        return bool(_TEXT_FILE.search(value)) and not _BLANK.search(value)
    if value.startswith(("./", "../", "/", "~/")):
        return True
    if " " not in value:
        spelt = (
            "/" in value
            or "\\" in value
            or value.lower().startswith("file:")
            or _DEVICE.fullmatch(value)
        )
        return bool(
            spelt or _TEXT_FILE.search(value) or _ESCAPED.search(value) or _is_there(value, file)
        )
    # A sentence may end in a file's name; with blanks inside, only a file that is there counts.
    return bool(_TEXT_FILE.search(value)) and _is_there(value, file)


def _is_there(value: str, file: FoundFile) -> bool:
    return (
        len(value) < 256
        and "\n" not in value
        and os.path.lexists(os.path.join(os.path.dirname(file.path), value))
    )


def _escape(value: str) -> Finding:
    message = f"{value[:200]} leads out of the capability's own folder; not read"
    return _content_finding("path-escape", message, "put the text into a file inside that folder")


def _content_finding(code: str, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint)
