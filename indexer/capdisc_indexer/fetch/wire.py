"""The bytes of a connection, within a deadline and a limit, whatever pace they come at."""

from __future__ import annotations

import io
import socket
import time

from capdisc_indexer.fetch.strict_url import link_refusal
from capdisc_indexer.model.errors import LinkRefusedError

RETRY_HINT = "try again, or open it yourself"
# What may come beside the document itself: status, headers, the sizes of chunks.
_OVERHEAD_BYTES = 256 * 1024


class TooLargeError(LinkRefusedError):
    """More came, or would have come, than was allowed."""


class Deadline:
    """The moment at which everything has to be over."""

    def __init__(self, ends: float, refusal: LinkRefusedError) -> None:
        self._ends, self._refusal = ends, refusal

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._ends

    def remaining(self) -> float:
        """The seconds that are left, more than none. Raises LinkRefusedError when it is over."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self._refusal
        return left

    def at_most(self, seconds: float) -> Deadline:
        """The same, or so many seconds from now if that is sooner."""
        return Deadline(min(self._ends, time.monotonic() + seconds), self._refusal)


def start_deadline(seconds: float, url: str) -> Deadline:
    """The deadline of everything that is done for a URL."""
    return Deadline(
        time.monotonic() + seconds,
        link_refusal(url, f"took longer than {seconds:g} seconds", RETRY_HINT),
    )


class Wire(io.RawIOBase):
    """What comes over one connection, as a stream that an HTTP response can be read from."""

    def __init__(
        self, connection: socket.socket, deadline: Deadline, url: str, max_bytes: int
    ) -> None:
        super().__init__()
        self._connection, self._deadline = connection, deadline
        self._left, self._refusal = max_bytes + _OVERHEAD_BYTES, size_refusal(url, max_bytes)
        self.reader = _WireReader(self)

    def makefile(self, mode: str) -> io.BufferedReader:
        """The one reader of this connection, which is all that a response wants of a socket."""
        return self.reader

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """As of any raw stream. Raises LinkRefusedError past the deadline or the limit."""
        # For every read anew: a socket's own limit starts again with each byte.
        self._connection.settimeout(self._deadline.remaining())
        count = self._connection.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise self._refusal
        return count

    def has_more(self, patience_s: float = 0.5) -> bool:
        """Whether anything follows what was read. A server that neither sends nor closes has
        nothing more.
        """
        self._deadline = self._deadline.at_most(patience_s)
        try:
            return bool(self.reader.read(1))
        except (OSError, LinkRefusedError):
            return False


class _WireReader(io.BufferedReader):
    def close(self) -> None:
        """Stays open: a response closes it with its last byte, and what follows that byte is of
        interest.
        """


def size_refusal(url: str, max_bytes: int) -> TooLargeError:
    """The refusal of a document that is larger, as sent or unpacked."""
    refusal = link_refusal(url, f"is larger than {max_bytes // 1024:,} KiB")
    return TooLargeError(refusal.message, refusal.hint)
