"""Descriptors on disk while an index is built: those of a large catalogue do not fit into
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.records import decode_descriptor, digest_record
from capdisc_indexer.model.types import Descriptor

# What a build of a few thousand capabilities needs stays in memory.
_MAX_MEMORY_BYTES = 32 * 1024 * 1024


@frozen
class SpooledRecord:
    """A descriptor in the spool: what the file calls it, where it lies, and the digest of its
    record.
    """

    id: str
    start: int
    size: int
    digest: str


class DescriptorSpool:
    """Takes the records of descriptors and gives them back.

    Many of them lie in a file without a name in `folder`, which is gone when this process ends,
    however it does.
    """

    def __init__(self, folder: Path) -> None:
        self._file: Any = SpooledTemporaryFile(_MAX_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115
        self._end = 0

    def __enter__(self) -> DescriptorSpool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, name: str, record: bytes) -> SpooledRecord:
        """Keep a record; `name` is the id in it."""
        self._file.seek(self._end)
        self._file.write(record)
        start, self._end = self._end, self._end + len(record)
        return SpooledRecord(name, start, len(record), digest_record(record))

    def get(self, spooled: SpooledRecord) -> bytes:
        """The record that was kept there."""
        self._file.seek(spooled.start)
        record: bytes = self._file.read(spooled.size)
        return record


class SpooledDescriptors(Mapping[str, Descriptor]):
    """Descriptors by the id that the index calls them by, each read from the spool when it is
    asked for.
    """

    def __init__(self, spool: DescriptorSpool, records: Mapping[str, SpooledRecord]) -> None:
        self._spool, self._places = spool, records

    def __getitem__(self, resolved_id: str) -> Descriptor:
        descriptor = decode_descriptor(self.record(resolved_id))
        return descriptor if descriptor.id == resolved_id else replace(descriptor, id=resolved_id)

    def record(self, resolved_id: str) -> bytes:
        """Its record, in which it still has the id that its file gives it."""
        return self._spool.get(self._places[resolved_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
