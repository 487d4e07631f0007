"""Long results: gathered whole before any of it is printed, so that a reader gets all of it or
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from capdisc_indexer.model.errors import InputError

_IN_MEMORY_BYTES = 4 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024


def gather(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces as UTF-8 in blocks, once the last piece is made; the text ends with a line end,
    unless it is empty.

    What is longer than 4 MiB waits in a file without a name in the folder for temporary files.
    Raises InputError where there is no room for it.
    """
    encoded = _encode(pieces)
    first: list[bytes] = []
    size = 0
    for piece in encoded:
        first.append(piece)
        size += len(piece)
        if size > _IN_MEMORY_BYTES:
            yield from _spool(b"".join(first), encoded)
            return
    yield b"".join(first)


def _encode(pieces: Iterable[str]) -> Iterator[bytes]:
    """Results are UTF-8 whatever the locale says."""
    last = "\n"
    for piece in filter(None, pieces):
        yield piece.encode("utf-8", "replace")
        last = piece[-1]
    if last != "\n":
        yield b"\n"


def _spool(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    import tempfile  # 4 ms, which a short result is spared

    try:
        spool = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError as error:
        raise _no_room(error) from error
    with spool:
        _write(spool, first)
        for piece in rest:
            _write(spool, piece)
        try:
            spool.seek(0)  # which writes out what is buffered
        except OSError as error:
            raise _no_room(error) from error
        while block := spool.read(_BLOCK_BYTES):
            yield block


def _write(spool: IO[bytes], data: bytes) -> None:
    try:
        spool.write(data)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> InputError:
    import tempfile

    folder = tempfile.tempdir or "the folder for temporary files"
    message = f"the result is too long to keep in memory, and {folder} does not take it: {error.strerror or error}"
    return InputError(message, "free some space there, or name another folder with TMPDIR")
