"""Descriptors on disk while an index is built: those of a large catalogue do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.records import decode_descriptor, digest_record
from capdisc_indexer.model.types import Descriptor

# The descriptors of a few thousand capabilities stay in memory.
_MAX_MEMORY_BYTES = 32 * 1024 * 1024


@frozen
class SpooledRecord:
    """Where a descriptor's record lies in the spool, with the id that its file gives it and the
    record's digest.
    """

    id: str
    start: int
    size: int
    digest: str


class DescriptorSpool:
    """Stores the records of descriptors until the build ends.

    What does not fit into memory lies in a file without a name in `folder`: it disappears with
    this process, however the process ends.
    """

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = SpooledTemporaryFile(_MAX_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115
        self._end = 0

    def __enter__(self) -> DescriptorSpool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, declared_id: str, record: bytes) -> SpooledRecord:
        """Where the record lies from now on; `declared_id` is the id in it."""
        self._file.seek(self._end)
        self._file.write(record)
        start, self._end = self._end, self._end + len(record)
        return SpooledRecord(declared_id, start, len(record), digest_record(record))

    def read(self, spooled: SpooledRecord) -> bytes:
        """The record that lies there."""
        self._file.seek(spooled.start)
        return self._file.read(spooled.size)


class SpooledDescriptors(Mapping[str, Descriptor]):
    """Descriptors by final id, each decoded from the spool on access."""

    def __init__(self, spool: DescriptorSpool, records: Mapping[str, SpooledRecord]) -> None:
        self._spool, self._records = spool, records

    def __getitem__(self, resolved_id: str) -> Descriptor:
        descriptor = decode_descriptor(self.record(resolved_id))
        return descriptor if descriptor.id == resolved_id else replace(descriptor, id=resolved_id)

    def record(self, resolved_id: str) -> bytes:
        """The stored record, still with the id that its file gives it."""
        return self._spool.read(self._records[resolved_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)
