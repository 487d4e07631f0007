"""What stays open from one request to the next: indexes of the newest generation, and encoders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.remote.remote_types import SharedIndex
from capdisc_indexer.store import generation
from capdisc_indexer.store.builders import check_builder
from capdisc_indexer.store.snapshot import Index

# One for the workspace, and a few that command lines name: each is some megabytes.
_MAX_INDEXES = 4
FileStamps = tuple[tuple[int, int, int], ...]


class DeclinedError(SystemExit):
    """The client is to answer this itself. A SystemExit, because that is what nothing on the way
    out catches.
    """


@frozen
class _CachedIndex:
    """An open index, what CURRENT said when it was opened, and its files as they were then."""

    pointer: str
    paths: tuple[str, ...]
    stamps: FileStamps
    index: Index


class IndexCache:
    """The open indexes and encoders of one process, which uses one at a time."""

    def __init__(self) -> None:
        self._indexes: dict[Path, _CachedIndex] = {}
        self._encoders: dict[str, Encoder] = {}

    @contextmanager
    def index(self, index_dir: Path, builder_id: str | None) -> Iterator[Index]:
        """The published generation, open. Raises what opening an Index does."""
        cached = self._open_newest(index_dir, builder_id)
        try:
            yield cached.index
        except (CapdiscError, OSError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # As `with Index(…)` would: what nobody expected may have its reason in files that have
            # changed.
            del self._indexes[index_dir]
            cached.index.__exit__(type(error), error, error.__traceback__)
            raise

    def _open_newest(self, index_dir: Path, builder_id: str | None) -> _CachedIndex:
        pointer, before = generation.read_pointer(index_dir), self._indexes.pop(index_dir, None)
        if before is not None and (
            before.pointer != pointer or before.stamps != _file_stamps(before.paths)
        ):
            before.index.close()
            before = None
        if before is None:
            while len(self._indexes) >= _MAX_INDEXES:
                self._indexes.pop(next(iter(self._indexes))).index.close()
            index = Index(index_dir, builder_id)
            paths = tuple(
                f"{index.folder}/{name}" for name in ("MANIFEST", *index.generation.files)
            )
            before = _CachedIndex(pointer, paths, _file_stamps(paths), index)
        self._indexes[index_dir] = before
        # It may have been opened for who believes it, or before its user believed it no longer.
        check_builder(index_dir, before.index.generation.builder_id, builder_id)
        return before

    def sync_copy(self, shared: SharedIndex) -> tuple[str, ...]:
        """Raises DeclinedError: the credentials for an index on a network stay with the client."""
        raise DeclinedError(f"{shared.url} is not looked after here")

    def evict_stale(self) -> None:
        """Close what is not published any more: a generation stays on disk as long as it is
        open.
        """
        for index_dir, cached in list(self._indexes.items()):
            if generation.read_pointer(index_dir) != cached.pointer:
                self._indexes.pop(index_dir).index.close()

    def encoder(self, name: str) -> Encoder:
        """The encoder, if it takes no time. Raises DeclinedError for one that would hold everybody
        up.
        """
        if name in self._encoders or _loads_fast(name):
            return self._encoders.get(name) or encoders.load_encoder(name)
        raise DeclinedError("the encoder is not loaded")

    def load_encoder(self, name: str) -> None:
        """Keep this encoder, however long it takes. Raises EncoderError."""
        if not _loads_fast(name):
            self._encoders[name] = encoders.load_encoder(name)


def _loads_fast(name: str) -> bool:
    return name == encoders.SHIPPED_ENCODER or (Path(name) / "table.safetensors").is_file()


def _file_stamps(paths: Sequence[str]) -> FileStamps:
    """What changes when somebody writes into the generation, which nobody should: then it is
    looked at anew.
    """
    return tuple(map(_file_stamp, paths))


def _file_stamp(path: str) -> tuple[int, int, int]:
    try:
        file_stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return (0, 0, 0)
    return file_stat.st_ino, file_stat.st_mtime_ns, file_stat.st_size
