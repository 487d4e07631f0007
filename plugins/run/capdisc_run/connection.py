"""A connection to an address that was checked, and one HTTP response over it within a deadline and
a limit of bytes, at whatever pace they come.
"""

from __future__ import annotations

import io
import socket
import time
import zlib
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.strict_url import Target, is_public, link_refusal

if TYPE_CHECKING:
    from http.client import HTTPResponse

RETRY_HINT = "try again, or open it yourself"
# All addresses of a name are checked, and at most this many are tried.
_MAX_ADDRESSES_TRIED = 4
# Allowed in addition to the body: status, headers, the sizes of chunks.
_OVERHEAD_BYTES = 256 * 1024


class TooLargeError(LinkRefusedError):
    """The document has, or would have, more bytes than are allowed."""


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
    connection = _connect_first(addresses[:_MAX_ADDRESSES_TRIED], target, network, deadline)
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
        """The seconds that are left, more than 0. Raises LinkRefusedError when it is over."""
        seconds = self._ends - time.monotonic()
        if seconds <= 0:
            raise self._refusal
        return seconds

    def at_most(self, seconds: float) -> Deadline:
        """This deadline, or one this many seconds from now if that is sooner."""
        return Deadline(min(self._ends, time.monotonic() + seconds), self._refusal)


def start_deadline(seconds: float, url: str) -> Deadline:
    """The deadline of all work for a URL, from now on."""
    return Deadline(
        time.monotonic() + seconds,
        link_refusal(url, f"took longer than {seconds:g} seconds", RETRY_HINT),
    )


class Wire(io.RawIOBase):
    """The bytes of one connection as a raw stream, from which `http.client` reads a response, and
    that response. Raises LinkRefusedError past the deadline or past `max_bytes`.
    """

    def __init__(
        self, connection: socket.socket, deadline: Deadline, url: str, max_bytes: int
    ) -> None:
        super().__init__()
        self._connection, self._deadline = connection, deadline
        self._url, self._max_bytes = url, max_bytes
        self._bytes_left = max_bytes + _OVERHEAD_BYTES
        self._reader = _WireReader(self)

    def request(self, message: bytes, method: str) -> HTTPResponse:
        """The response to the request, with its headers read; its caller closes it."""
        from http.client import HTTPResponse

        self._connection.settimeout(self._deadline.remaining())
        self._connection.sendall(message)
        response = HTTPResponse(self, method=method)  # type: ignore[arg-type]
        response.begin()
        return response

    def read_body(self, response: HTTPResponse) -> bytes:
        """The decompressed body. Raises LinkRefusedError for more than `max_bytes`, as sent or
        decompressed, and for another length than the declared one; and zlib.error.
        """
        declared = self._declared_length(response)
        if declared is not None and declared > self._max_bytes:
            raise self._size_refusal()
        data = response.read(self._max_bytes + 1)
        if len(data) > self._max_bytes:
            raise self._size_refusal()
        if declared is not None and (len(data) != declared or self._has_more()):
            raise self._refusal("has another length than its server declares", RETRY_HINT)
        return self._decompress(data, response.getheader("content-encoding") or "identity")

    def makefile(self, mode: str) -> io.BufferedReader:
        """The one reader of this connection: all that `HTTPResponse` needs of a socket."""
        return self._reader

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """See `io.RawIOBase`."""
        # For every read: a socket's own limit starts again with each byte.
        self._connection.settimeout(self._deadline.remaining())
        count = self._connection.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise self._size_refusal()
        return count

    def _has_more(self) -> bool:
        """Whether more bytes follow within half a second. A server that neither sends nor closes
        has no more.
        """
        self._deadline = self._deadline.at_most(0.5)
        try:
            return bool(self._reader.read(1))
        except (OSError, LinkRefusedError):
            return False

    def _declared_length(self, response: HTTPResponse) -> int | None:
        """The length in bytes; None where chunks or the end of the connection give it."""
        framing = (response.getheader("transfer-encoding") or "").lower()
        if framing not in {"", "chunked"}:
            raise self._refusal("is sent with a transfer encoding that is not supported")
        lengths = set(response.headers.get_all("content-length", []))
        if not lengths:
            return None
        length = lengths.pop().strip()
        is_number = length.isascii() and length.isdigit() and len(length) < 16
        if lengths or not is_number or framing:
            raise self._refusal("declares its length in two ways, or not as a number", RETRY_HINT)
        return int(length)

    def _decompress(self, data: bytes, encoding: str) -> bytes:
        encoding = encoding.lower().strip()
        if encoding == "identity":
            return data
        if encoding not in {"gzip", "x-gzip", "deflate"}:
            raise self._refusal("is compressed in a way that is not supported")
        # Some servers send "deflate" without the header of zlib, whose first byte ends in 8.
        window = 31 if encoding != "deflate" else 15 if data[:1] and data[0] & 15 == 8 else -15
        decompressor = zlib.decompressobj(window)
        plain = decompressor.decompress(data, self._max_bytes + 1)
        if len(plain) > self._max_bytes:
            raise self._size_refusal()
        if not decompressor.eof or decompressor.unused_data:
            raise self._refusal(
                "is compressed, and cut short or followed by other bytes", RETRY_HINT
            )
        return plain

    def _refusal(self, reason: str, *hint: str) -> LinkRefusedError:
        return link_refusal(self._url, reason, *hint)

    def _size_refusal(self) -> TooLargeError:
        refusal = self._refusal(f"is larger than {self._max_bytes // 1024:,} KiB")
        return TooLargeError(refusal.message, refusal.hint)


class _WireReader(io.BufferedReader):
    def close(self) -> None:
        """Does nothing: a response closes its reader with its last byte, and `_has_more` reads
        after that.
        """
