"""How a loader refuses a file: it raises the finding that says why, and the file costs itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NoReturn, TypeVar

from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.parsed_capability import file_finding
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.sources.source_format import Load

Value = TypeVar("Value")


class RefusedFileError(Exception):
    """A file that cannot be loaded, with the finding about it."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def catch_refusal(load: Callable[[FoundFile, bytes], LoadedFile]) -> Load:
    """The loader, which gives the finding of a file that it refuses."""

    @wraps(load)
    def load_or_refuse(file: FoundFile, data: bytes) -> LoadedFile:
        try:
            return load(file, data)
        except RefusedFileError as error:
            return LoadedFile(findings=(error.finding,))

    return load_or_refuse


def accept(value: Value | Finding) -> Value:
    """The value. Raises RefusedFileError for a finding in its place."""
    if isinstance(value, Finding):
        raise RefusedFileError(value)
    return value


def text_of(file: FoundFile, data: bytes) -> str:
    """The text of the file. Raises RefusedFileError for one that is not text."""
    return accept(decode(data, file.path))


def refuse(file: FoundFile, code: str, message: str, hint: str, line: int = 1) -> NoReturn:
    """Raises RefusedFileError with this error about the file."""
    raise RefusedFileError(file_finding(file, Severity.ERROR, code, message, hint, line))
