"""Descriptors on disk while an index is built: those of a large catalogue do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.records import digest_of, from_bytes
from capdisc_indexer.types import Descriptor

# What a build of a few thousand capabilities needs stays in memory.
_IN_MEMORY = 32 * 1024 * 1024


@frozen
class Stored:
    """A descriptor in the spool: what the file calls it, where it lies, and the digest of its record."""

    id: str
    start: int
    size: int
    digest: str


class Spool:
    """Takes the records of descriptors and gives them back.

    Many of them lie in a file without a name in `folder`, which is gone when this process ends, however it does.
    """

    def __init__(self, folder: Path) -> None:
        self._file: Any = SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))  # noqa: SIM115
        self._end = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, name: str, record: bytes) -> Stored:
        """Keep a record; `name` is the id in it."""
        self._file.seek(self._end)
        self._file.write(record)
        start, self._end = self._end, self._end + len(record)
        return Stored(name, start, len(record), digest_of(record))

    def get(self, place: Stored) -> bytes:
        """The record that was kept there."""
        self._file.seek(place.start)
        record: bytes = self._file.read(place.size)
        return record


class Spooled(Mapping[str, Descriptor]):
    """Descriptors by the id that the index calls them by, each read from the spool when it is asked for."""

    def __init__(self, spool: Spool, places: Mapping[str, Stored]) -> None:
        self._spool, self._places = spool, places

    def __getitem__(self, final: str) -> Descriptor:
        found = from_bytes(self.record(final))
        return found if found.id == final else replace(found, id=final)

    def record(self, final: str) -> bytes:
        """Its record, in which it still has the id that its file gives it."""
        return self._spool.get(self._places[final])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
