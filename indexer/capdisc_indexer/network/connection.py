"""A connection to an address that was looked at first."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from threading import Thread

from capdisc_indexer.frozen import frozen
from capdisc_indexer.network.addresses import is_public
from capdisc_indexer.network.url import Target, refused
from capdisc_indexer.network.wire import LATER, Deadline

# Of a name with many addresses; all are looked at, these are tried.
MAX_TRIED = 4


def addresses_of(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def connected(address: str, port: int, timeout_s: float) -> socket.socket:
    """A connection to this address and no other. Raises OSError."""
    return socket.create_connection((address, port), timeout_s)


def secured(connection: socket.socket, host: str) -> socket.socket:
    """The connection under TLS, with a certificate for `host` that the system trusts. Raises OSError."""
    import ssl

    # An end that was cut off must not look like the end of the document.
    return ssl.create_default_context().wrap_socket(connection, server_hostname=host, suppress_ragged_eofs=False)


@frozen(kw_only=True)
class Network:
    """All that reaches the outside; tests put their own in its place."""

    resolve: Callable[[str, int], Sequence[str]] = addresses_of
    connect: Callable[[str, int, float], socket.socket] = connected
    secure: Callable[[socket.socket, str], socket.socket] = secured


def opened(target: Target, network: Network, deadline: Deadline, allow_private: bool = False) -> socket.socket:
    """A connection to the target. Its name is looked up once, every address of it must be public unless private ones
    are allowed, and the connection goes to one of these addresses: a second answer of the name server is never asked
    for. Raises OSError as well."""
    addresses = _addresses(target, network, deadline, allow_private)
    connection = _first(addresses[:MAX_TRIED], target, network, deadline)
    try:
        connection.settimeout(deadline.remaining())
        return network.secure(connection, target.host) if target.scheme == "https" else connection
    except BaseException:
        connection.close()
        raise


def _addresses(target: Target, network: Network, deadline: Deadline, allow_private: bool) -> Sequence[str]:
    if is_public(target.host):
        return [target.host]
    addresses = _resolved(target, network, deadline)
    if not addresses or not (allow_private or all(map(is_public, addresses))):
        raise refused(target.url, "has a host whose addresses are not all public")
    return addresses


def _resolved(target: Target, network: Network, deadline: Deadline) -> Sequence[str]:
    """The addresses, asked for in a thread: the system's own look-up knows no limit of time."""
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
        raise refused(target.url, "has a host that cannot be looked up", LATER)
    if isinstance(answers[0], OSError):
        raise refused(target.url, "has a host that cannot be found", "check the name")
    return answers[0]


def _first(addresses: Sequence[str], target: Target, network: Network, deadline: Deadline) -> socket.socket:
    """A connection to the first address that answers in its share of the time."""
    problem: OSError = OSError("no address")
    for number, address in enumerate(addresses):
        try:
            return network.connect(address, target.port, deadline.remaining() / (len(addresses) - number))
        except OSError as error:
            problem = error
    deadline.remaining()
    raise refused(target.url, f"does not answer ({problem.strerror or type(problem).__name__})", LATER)
