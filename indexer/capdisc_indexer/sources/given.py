"""What the loader of a format is given of a file."""

from __future__ import annotations

from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.file_bytes import digest_of, head_of, read_bytes
from capdisc_indexer.sources.files import FoundFile, content_hash
from capdisc_indexer.sources.secret_files import HEAD_BYTES, held_by_content, held_by_name, secret_file
from capdisc_indexer.types import Finding


def given(file: FoundFile) -> bytes | Finding:
    """The file's bytes; none where its format opens the file itself. Or the reason why it cannot be read."""
    source = SOURCES[file.format]
    if not file.allows_secrets and (holds := held_by_name(file.path, file.resolved)):
        return secret_file(file.path, holds)
    if not source.reads:
        wrong = digest_of(file, source.limit_bytes)
        return wrong if isinstance(wrong, Finding) else _unless_secret(file, head_of(file, HEAD_BYTES)) or b""
    data = read_bytes(file, source.limit_bytes)
    return data if isinstance(data, Finding) else _unless_secret(file, data) or data


def _unless_secret(file: FoundFile, data: bytes) -> Finding | None:
    holds = "" if file.allows_secrets else held_by_content(data)
    return secret_file(file.path, holds) if holds else None


def digest(file: FoundFile, companions: list[bytes], data: bytes | None = None) -> str | Finding:
    """One digest over the file and its companions; `data` is what was given of it, None when it was not read yet."""
    source = SOURCES[file.format]
    if not source.reads:
        own = digest_of(file, source.limit_bytes)
        return own if isinstance(own, Finding) or not companions else content_hash(own.encode(), companions)
    content = read_bytes(file, source.limit_bytes) if data is None else data
    return content if isinstance(content, Finding) else content_hash(content, companions)
