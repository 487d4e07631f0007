"""A connection to an address that was checked, and its bytes within a deadline and a limit, at
whatever pace they come.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Sequence
from threading import Thread

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.strict_url import Target, is_public, link_refusal

# For a name with many addresses: all are checked, only so many are tried.
MAX_ADDRESSES_TRIED = 4


def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a host name, by the resolver of the system. Raises OSError."""
    address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in address_infos))


def open_connection(address: str, port: int, timeout_s: float) -> socket.socket:
    """A connection to this address and no other. Raises OSError."""
    return socket.create_connection((address, port), timeout_s)


def start_tls(connection: socket.socket, host: str) -> socket.socket:
    """The connection under TLS, with a certificate for `host` that the system trusts. Raises
    OSError.
    """
    import ssl

    # A connection that is cut off must not look like the end of the document.
    return ssl.create_default_context().wrap_socket(
        connection, server_hostname=host, suppress_ragged_eofs=False
    )


@frozen(kw_only=True)
class NetworkStack:
    """The functions that reach the network; tests replace them."""

    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    connect: Callable[[str, int, float], socket.socket] = open_connection
    secure: Callable[[socket.socket, str], socket.socket] = start_tls


def connect_to_target(
    target: Target, network: NetworkStack, deadline: Deadline, allow_private: bool = False
) -> socket.socket:
    """A connection to the target, under TLS for https.

    The host name is resolved once, all its addresses must be public unless `allow_private`, and
    the connection goes to one of exactly these addresses: a second answer of the name server could
    differ. Raises LinkRefusedError, and OSError from TLS.
    """
    addresses = _allowed_addresses(target, network, deadline, allow_private)
    connection = _connect_first(addresses[:MAX_ADDRESSES_TRIED], target, network, deadline)
    try:
        connection.settimeout(deadline.remaining())
        return network.secure(connection, target.host) if target.scheme == "https" else connection
    except BaseException:
        connection.close()
        raise


def _allowed_addresses(
    target: Target, network: NetworkStack, deadline: Deadline, allow_private: bool
) -> Sequence[str]:
    if is_public(target.host):
        return [target.host]
    addresses = _resolve_with_deadline(target, network, deadline)
    if not addresses or not (allow_private or all(map(is_public, addresses))):
        raise link_refusal(target.url, "has a host whose addresses are not all public")
    return addresses


def _resolve_with_deadline(
    target: Target, network: NetworkStack, deadline: Deadline
) -> Sequence[str]:
    """The addresses, resolved in a thread: the resolver of the system has no limit of time."""
    answers: list[Sequence[str] | OSError] = []

    def ask() -> None:
        try:
            answers.append(network.resolve(target.host, target.port))
        except (OSError, UnicodeError) as error:
            answers.append(OSError(str(error)))

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(deadline.remaining())
    if not answers:
        deadline.remaining()
        raise link_refusal(target.url, "has a host that cannot be resolved", RETRY_HINT)
    if isinstance(answers[0], OSError):
        raise link_refusal(target.url, "has a host that cannot be found", "check the name")
    return answers[0]


def _connect_first(
    addresses: Sequence[str], target: Target, network: NetworkStack, deadline: Deadline
) -> socket.socket:
    """A connection to the first address that answers within its share of the remaining time."""
    last_error = OSError("no address")
    for number, address in enumerate(addresses):
        try:
            return network.connect(
                address, target.port, deadline.remaining() / (len(addresses) - number)
            )
        except OSError as error:
            last_error = error
    deadline.remaining()
    raise link_refusal(
        target.url,
        f"does not answer ({last_error.strerror or type(last_error).__name__})",
        RETRY_HINT,
    )


class Deadline:
    """The moment by which all work for a URL must end."""

    def __init__(self, ends: float, refusal: LinkRefusedError) -> None:
        self._ends, self._refusal = ends, refusal

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._ends

    def remaining(self) -> float:
        """The seconds that are left, always more than 0. Raises LinkRefusedError when it is over."""
        seconds = self._ends - time.monotonic()
        if seconds <= 0:
            raise self._refusal
        return seconds

    def at_most(self, seconds: float) -> Deadline:
        """This deadline, or one so many seconds from now if that is sooner."""
        return Deadline(min(self._ends, time.monotonic() + seconds), self._refusal)


def start_deadline(seconds: float, url: str) -> Deadline:
    """The deadline of all work for a URL, from now on."""
    return Deadline(
        time.monotonic() + seconds,
        link_refusal(url, f"took longer than {seconds:g} seconds", RETRY_HINT),
    )


class Wire(io.RawIOBase):
    """The bytes of one connection as a raw stream, from which `http.client` reads a response."""

    def __init__(
        self, connection: socket.socket, deadline: Deadline, url: str, max_bytes: int
    ) -> None:
        super().__init__()
        self._connection, self._deadline = connection, deadline
        self._bytes_left = max_bytes + _OVERHEAD_BYTES
        self._refusal = size_refusal(url, max_bytes)
        self.reader = _WireReader(self)

    def makefile(self, mode: str) -> io.BufferedReader:
        """The one reader of this connection: all that `HTTPResponse` needs of a socket."""
        return self.reader

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """See `io.RawIOBase`. Raises LinkRefusedError past the deadline or the limit."""
        # Anew for every read: a socket's own limit starts again with each byte.
        self._connection.settimeout(self._deadline.remaining())
        count = self._connection.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise self._refusal
        return count

    def has_more(self, patience_s: float = 0.5) -> bool:
        """Whether more bytes follow within `patience_s` seconds. A server that neither sends nor
        closes has no more.
        """
        self._deadline = self._deadline.at_most(patience_s)
        try:
            return bool(self.reader.read(1))
        except (OSError, LinkRefusedError):
            return False


class _WireReader(io.BufferedReader):
    def close(self) -> None:
        """Does nothing: a response closes its reader with its last byte, and `has_more` reads
        after that.
        """


RETRY_HINT = "try again, or open it yourself"
# Allowed beside the document itself: status, headers, the sizes of chunks.
_OVERHEAD_BYTES = 256 * 1024


class TooLargeError(LinkRefusedError):
    """The document has, or would have, more bytes than are allowed."""


def size_refusal(url: str, max_bytes: int) -> TooLargeError:
    """The refusal of a document that is larger than `max_bytes`, as sent or decompressed."""
    refusal = link_refusal(url, f"is larger than {max_bytes // 1024:,} KiB")
    return TooLargeError(refusal.message, refusal.hint)
