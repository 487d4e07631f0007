"""One text document from the network, or the reason why not: the only place that asks for anything
from there.
"""

from __future__ import annotations

import zlib

from capdisc_indexer.fetch.connection import NetworkStack, connect_to_target
from capdisc_indexer.fetch.response_text import check_content_type, read_text
from capdisc_indexer.fetch.strict_url import Target, link_refusal, parse_url
from capdisc_indexer.fetch.wire import RETRY_HINT, Deadline, Wire, start_deadline
from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import frozen

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# No cookie, no credentials, and nothing that tells one user from another.
_REQUEST = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: capdisc\r\nConnection: close\r\n"
    "Accept: text/markdown, text/plain, application/json, application/yaml, text/*;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate\r\n\r\n"
)


@frozen(kw_only=True)
class FetchOptions:
    """What is allowed beyond https and text, and the limits: bytes as sent and as unpacked,
    seconds in all, and how often a server may point elsewhere.
    """

    allow_http: bool = False
    allow_html: bool = False
    max_bytes: int = 1024 * 1024
    max_seconds: float = 10.0
    max_hops: int = 3


@frozen(kw_only=True)
class FetchedDocument:
    """A document: its text with `\\n` as its only line end, its type, and the URL that it came
    from after all redirects.
    """

    text: str
    url: str
    content_type: str


_DEFAULT_OPTIONS, _SYSTEM_NETWORK = FetchOptions(), NetworkStack()


def fetch_document(
    url: str, options: FetchOptions = _DEFAULT_OPTIONS, network: NetworkStack = _SYSTEM_NETWORK
) -> FetchedDocument:
    """The document behind a URL. Every hop is checked as if it were the first. Raises
    LinkRefusedError with the reason and, where an option would help, its name; nothing else is
    raised for what a server does.
    """
    deadline = start_deadline(options.max_seconds, url)
    target = parse_url(url)
    for _ in range(options.max_hops + 1):
        if target.scheme == "http" and not options.allow_http:
            raise link_refusal(
                target.url,
                "is plain http",
                "add --allow-http to let it be read and changed on its way",
            )
        answer = _request_document(target, options, network, deadline)
        if isinstance(answer, FetchedDocument):
            return answer
        target = answer
    raise link_refusal(url, f"is redirected more than {options.max_hops} times")


def _request_document(
    target: Target, options: FetchOptions, network: NetworkStack, deadline: Deadline
) -> FetchedDocument | Target:
    """The document, or where the server says that it is."""
    from http.client import HTTPException

    try:
        with connect_to_target(target, network, deadline) as connection:
            connection.settimeout(deadline.remaining())
            connection.sendall(
                _REQUEST.format(path=target.path, host=target.authority).encode("ascii")
            )
            return _read_response(
                target, options, Wire(connection, deadline, target.url, options.max_bytes)
            )
    except (OSError, UnicodeError, HTTPException, zlib.error) as error:
        deadline.remaining()
        raise link_refusal(target.url, f"failed ({_error_text(error)})", RETRY_HINT) from error


def _error_text(error: Exception) -> str:
    # Of a certificate, what is wrong with it; of others their own words may quote what the server
    # sent.
    return str(
        getattr(error, "verify_message", "")
        or getattr(error, "strerror", None)
        or type(error).__name__
    )


def _read_response(target: Target, options: FetchOptions, wire: Wire) -> FetchedDocument | Target:
    from http.client import HTTPResponse

    with HTTPResponse(wire, method="GET") as response:  # type: ignore[arg-type]
        response.begin()
        if response.status in _REDIRECTS:
            return _redirect_target(target, response.getheader("location"))
        if response.status != 200:
            raise link_refusal(
                target.url, f"was answered with status {response.status}", RETRY_HINT
            )
        kind = check_content_type(response, target.url, options.allow_html)
        text = read_text(response, wire, target.url, options.max_bytes)
    return FetchedDocument(text=text, url=target.url, content_type=kind)


def _redirect_target(target: Target, location: str | None) -> Target:
    if not location:
        raise link_refusal(target.url, "is redirected to nowhere", RETRY_HINT)
    try:
        return parse_url(location, target)
    except LinkRefusedError as error:
        raise LinkRefusedError(
            f"{error.message} (redirected from {target.host})", error.hint
        ) from None
