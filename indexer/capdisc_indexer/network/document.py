"""The text in a response: of a type that is text, whole, unpacked within a limit, and UTF-8."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from capdisc_indexer.network.url import refused
from capdisc_indexer.network.wire import LATER, Wire, too_large
from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.types import Finding

if TYPE_CHECKING:
    from http.client import HTTPResponse

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(r"text/[a-z0-9.+-]+|application/(?:[a-z0-9.-]+\+|x-)?(?:json|yaml|markdown)")
_UTF8 = frozenset({"", "utf-8", "utf8", "us-ascii"})
_NOT_TEXT = "only text, JSON, YAML and Markdown are fetched"


def content_type(response: HTTPResponse, url: str, allow_html: bool) -> str:
    """The document's type, such as `text/markdown`. Raises LinkRefusedError for what is no text, and for HTML unless
    it is allowed."""
    kind, _, rest = (response.getheader("content-type") or "").lower().partition(";")
    kind = kind.strip()
    if kind in _HTML:
        if not allow_html:
            raise refused(url, "is a page in HTML", "add --allow-html to get its source text")
    elif not _TEXT.fullmatch(kind):
        raise refused(url, "is not a text document", _NOT_TEXT)
    charset = re.search(r"charset\s*=\s*[\"']?([^\"';\s]*)", rest)
    if charset and charset[1] not in _UTF8:
        raise refused(url, "is not in UTF-8")
    return kind


def text_of(response: HTTPResponse, wire: Wire, url: str, max_bytes: int) -> str:
    """The text. Raises LinkRefusedError for more than `max_bytes`, sent or
    unpacked, for a length that is not the declared one, and for what is not UTF-8."""
    text = decode(data_of(response, wire, url, max_bytes), url)
    if isinstance(text, Finding):
        raise refused(url, f"cannot be read: {text.message}")
    return text


def data_of(response: HTTPResponse, wire: Wire, url: str, max_bytes: int) -> bytes:
    """The bytes, unpacked. Raises LinkRefusedError and zlib.error as `text_of`, but for what they are."""
    packing = (response.getheader("content-encoding") or "identity").lower().strip()
    return _unpacked(_body(response, wire, url, max_bytes), packing, url, max_bytes)


def _body(response: HTTPResponse, wire: Wire, url: str, max_bytes: int) -> bytes:
    declared = _declared(response, url)
    if declared is not None and declared > max_bytes:
        raise too_large(url, max_bytes)
    data = response.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise too_large(url, max_bytes)
    if declared is not None and (len(data) != declared or wire.has_more()):
        raise refused(url, "has another length than its server declares", LATER)
    return data


def _declared(response: HTTPResponse, url: str) -> int | None:
    """The declared length; None where the end of the document is told in another way."""
    framing = (response.getheader("transfer-encoding") or "").lower()
    if framing not in {"", "chunked"}:
        raise refused(url, "is sent in a way that was not asked for")
    lengths = set(response.headers.get_all("content-length", []))
    if not lengths:
        return None
    length = lengths.pop().strip()
    is_number = length.isascii() and length.isdigit() and len(length) < 16
    if lengths or not is_number or framing:
        raise refused(url, "declares its length in two ways, or not as a number", LATER)
    return int(length)


def _unpacked(data: bytes, packing: str, url: str, max_bytes: int) -> bytes:
    if packing == "identity":
        return data
    if packing not in {"gzip", "x-gzip", "deflate"}:
        raise refused(url, "is packed in a way that was not asked for")
    # Some servers send what they call deflate without the header of zlib: its first byte ends in 8.
    window = 31 if packing != "deflate" else 15 if data[:1] and data[0] & 15 == 8 else -15
    unpacker = zlib.decompressobj(window)
    plain = unpacker.decompress(data, max_bytes + 1)
    if len(plain) > max_bytes:
        raise too_large(url, max_bytes)
    if not unpacker.eof or unpacker.unused_data:
        raise refused(url, "is packed, and cut short or followed by something else", LATER)
    return plain
