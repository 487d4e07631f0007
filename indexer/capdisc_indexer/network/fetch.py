"""One text document from the network, or the reason why not: the only place that asks for anything from there."""

from __future__ import annotations

import zlib

from capdisc_indexer.errors import LinkRefusedError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.network.connection import Network, opened
from capdisc_indexer.network.document import content_type, text_of
from capdisc_indexer.network.url import Target, parse, refused
from capdisc_indexer.network.wire import LATER, Deadline, Wire, deadline_in

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# No cookie, no credentials, and nothing that tells one user from another.
_REQUEST = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: capdisc\r\nConnection: close\r\n"
    "Accept: text/markdown, text/plain, application/json, application/yaml, text/*;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate\r\n\r\n"
)


@frozen(kw_only=True)
class FetchOptions:
    """What is allowed beyond https and text, and the limits: bytes as sent and as unpacked, seconds in all, and how
    often a server may point elsewhere."""

    allow_http: bool = False
    allow_html: bool = False
    max_bytes: int = 1024 * 1024
    max_seconds: float = 10.0
    max_hops: int = 3


@frozen(kw_only=True)
class Fetched:
    """A document: its text with `\\n` as its only line end, its type, and the URL that it came from after all
    redirects."""

    text: str
    url: str
    content_type: str


_DEFAULT, _SYSTEM = FetchOptions(), Network()


def fetch(url: str, options: FetchOptions = _DEFAULT, network: Network = _SYSTEM) -> Fetched:
    """The document behind a URL. Every hop is checked as if it were the first. Raises LinkRefusedError with the reason
    and, where an option would help, its name; nothing else is raised for what a server does."""
    deadline = deadline_in(options.max_seconds, url)
    target = parse(url)
    for _ in range(options.max_hops + 1):
        if target.scheme == "http" and not options.allow_http:
            raise refused(target.url, "is plain http", "add --allow-http to let it be read and changed on its way")
        answer = _answer(target, options, network, deadline)
        if isinstance(answer, Fetched):
            return answer
        target = answer
    raise refused(url, f"is redirected more than {options.max_hops} times")


def _answer(target: Target, options: FetchOptions, network: Network, deadline: Deadline) -> Fetched | Target:
    """The document, or where the server says that it is."""
    from http.client import HTTPException

    try:
        with opened(target, network, deadline) as connection:
            connection.settimeout(deadline.remaining())
            connection.sendall(_REQUEST.format(path=target.path, host=target.authority).encode("ascii"))
            return _read(target, options, Wire(connection, deadline, target.url, options.max_bytes))
    except (OSError, UnicodeError, HTTPException, zlib.error) as error:
        deadline.remaining()
        raise refused(target.url, f"failed ({_reason(error)})", LATER) from error


def _reason(error: Exception) -> str:
    # Of a certificate, what is wrong with it; of others their own words may quote what the server sent.
    return str(getattr(error, "verify_message", "") or getattr(error, "strerror", None) or type(error).__name__)


def _read(target: Target, options: FetchOptions, wire: Wire) -> Fetched | Target:
    from http.client import HTTPResponse

    with HTTPResponse(wire, method="GET") as response:  # type: ignore[arg-type]
        response.begin()
        if response.status in _REDIRECTS:
            return _redirected(target, response.getheader("location"))
        if response.status != 200:
            raise refused(target.url, f"was answered with status {response.status}", LATER)
        kind = content_type(response, target.url, options.allow_html)
        text = text_of(response, wire, target.url, options.max_bytes)
    return Fetched(text=text, url=target.url, content_type=kind)


def _redirected(target: Target, location: str | None) -> Target:
    if not location:
        raise refused(target.url, "is redirected to nowhere", LATER)
    try:
        return parse(location, target)
    except LinkRefusedError as error:
        raise LinkRefusedError(f"{error.message} (redirected from {target.host})", error.hint) from None
