"""A connection to an address that was looked at first."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from threading import Thread

from capdisc_indexer.fetch.addresses import is_public
from capdisc_indexer.fetch.strict_url import Target, link_refusal
from capdisc_indexer.fetch.wire import RETRY_HINT, Deadline
from capdisc_indexer.model.frozen import frozen

# Of a name with many addresses; all are looked at, these are tried.
MAX_ADDRESSES_TRIED = 4


def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows them. Raises OSError."""
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

    # An end that was cut off must not look like the end of the document.
    return ssl.create_default_context().wrap_socket(
        connection, server_hostname=host, suppress_ragged_eofs=False
    )


@frozen(kw_only=True)
class NetworkStack:
    """All that reaches the outside; tests put their own in its place."""

    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    connect: Callable[[str, int, float], socket.socket] = open_connection
    secure: Callable[[socket.socket, str], socket.socket] = start_tls


def connect_to_target(
    target: Target, network: NetworkStack, deadline: Deadline, allow_private: bool = False
) -> socket.socket:
    """A connection to the target. Its name is looked up once, every address of it must be public
    unless private ones are allowed, and the connection goes to one of these addresses: a second
    answer of the name server is never asked for. Raises OSError as well.
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
        raise link_refusal(target.url, "has a host that cannot be looked up", RETRY_HINT)
    if isinstance(answers[0], OSError):
        raise link_refusal(target.url, "has a host that cannot be found", "check the name")
    return answers[0]


def _connect_first(
    addresses: Sequence[str], target: Target, network: NetworkStack, deadline: Deadline
) -> socket.socket:
    """A connection to the first address that answers in its share of the time."""
    problem: OSError = OSError("no address")
    for number, address in enumerate(addresses):
        try:
            return network.connect(
                address, target.port, deadline.remaining() / (len(addresses) - number)
            )
        except OSError as error:
            problem = error
    deadline.remaining()
    raise link_refusal(
        target.url, f"does not answer ({problem.strerror or type(problem).__name__})", RETRY_HINT
    )
