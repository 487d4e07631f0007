"""Fetches one text document from the network, or gives the reason why not. Nothing else in capdisc
asks the network for a document.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.text.strict_url import Target, link_refusal, parse_url
from capdisc_run.connection import (
    RETRY_HINT,
    Deadline,
    NetworkStack,
    Wire,
    connect_to_target,
    start_deadline,
)

if TYPE_CHECKING:
    from http.client import HTTPResponse


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# No cookie, no credentials, and nothing that tells one user from another.
_REQUEST = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: capdisc\r\nConnection: close\r\n"
    "Accept: text/markdown, text/plain, application/json, application/yaml, text/*;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate\r\n\r\n"
)

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPE = re.compile(
    r"text/[a-z0-9.+-]+|application/(?:[a-z0-9.-]+\+|x-)?(?:json|yaml|markdown)"
)
_UTF8_CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii"})
_TEXT_ONLY_HINT = "only text, JSON, YAML and Markdown are fetched"


@frozen(kw_only=True)
class FetchOptions:
    """What is allowed beyond https and text, and the limits: bytes as sent and as decompressed,
    seconds in all, and redirects.
    """

    allow_http: bool = False
    allow_html: bool = False
    max_bytes: int = 1024 * 1024
    max_seconds: float = 10.0
    max_hops: int = 3


@frozen(kw_only=True)
class FetchedDocument:
    """A document: its text with `\\n` as its only line end, its media type, and its URL after all
    redirects.
    """

    text: str
    url: str
    content_type: str


_DEFAULT_OPTIONS = FetchOptions()


def fetch_document(
    url: str, options: FetchOptions = _DEFAULT_OPTIONS, network: NetworkStack | None = None
) -> FetchedDocument:
    """The document behind a URL. Every redirect is checked like the first URL. Raises
    LinkRefusedError with the reason and, where an option helps, its name; a server can cause no
    other exception.
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
        answer = _request_document(target, options, network or NetworkStack(), deadline)
        if isinstance(answer, FetchedDocument):
            return answer
        target = answer
    raise link_refusal(url, f"is redirected more than {options.max_hops} times")


def _request_document(
    target: Target, options: FetchOptions, network: NetworkStack, deadline: Deadline
) -> FetchedDocument | Target:
    """The document, or the target of a redirect."""
    from http.client import HTTPException

    message = _REQUEST.format(path=target.path, host=target.authority).encode("ascii")
    try:
        with connect_to_target(target, network, deadline) as connection:
            wire = Wire(connection, deadline, target.url, options.max_bytes)
            with wire.request(message, "GET") as response:
                return _read_response(target, options, wire, response)
    except (OSError, UnicodeError, HTTPException, zlib.error) as error:
        deadline.remaining()
        raise link_refusal(target.url, f"failed ({_error_text(error)})", RETRY_HINT) from error


def _error_text(error: Exception) -> str:
    # What is wrong with a certificate; the text of other errors may quote what the server sent.
    return str(
        getattr(error, "verify_message", "")
        or getattr(error, "strerror", None)
        or type(error).__name__
    )


def _read_response(
    target: Target, options: FetchOptions, wire: Wire, response: HTTPResponse
) -> FetchedDocument | Target:
    if response.status in _REDIRECTS:
        return _redirect_target(target, response.getheader("location"))
    if response.status != 200:
        raise link_refusal(target.url, f"was answered with status {response.status}", RETRY_HINT)
    kind = _check_content_type(response, target.url, options.allow_html)
    text = decode(wire.read_body(response), target.url)
    if isinstance(text, Finding):
        raise link_refusal(target.url, f"cannot be read: {text.message}")
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


def _check_content_type(response: HTTPResponse, url: str, allow_html: bool) -> str:
    """The media type of the document, such as `text/markdown`. Raises LinkRefusedError for what is
    not text, for HTML unless it is allowed, and for another charset than UTF-8.
    """
    kind, _, parameters = (response.getheader("content-type") or "").lower().partition(";")
    kind = kind.strip()
    if kind in _HTML_TYPES:
        if not allow_html:
            raise link_refusal(url, "is a page in HTML", "add --allow-html to get its source text")
    elif not _TEXT_TYPE.fullmatch(kind):
        raise link_refusal(url, "is not a text document", _TEXT_ONLY_HINT)
    charset = re.search(r"charset\s*=\s*[\"']?([^\"';\s]*)", parameters)
    if charset and charset[1] not in _UTF8_CHARSETS:
        raise link_refusal(url, "is not in UTF-8")
    return kind
