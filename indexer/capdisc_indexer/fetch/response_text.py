"""The text in a response: of a type that is text, whole, unpacked within a limit, and UTF-8."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from capdisc_indexer.fetch.strict_url import link_refusal
from capdisc_indexer.fetch.wire import RETRY_HINT, Wire, size_refusal
from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.text_decoding import decode

if TYPE_CHECKING:
    from http.client import HTTPResponse

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPE = re.compile(
    r"text/[a-z0-9.+-]+|application/(?:[a-z0-9.-]+\+|x-)?(?:json|yaml|markdown)"
)
_UTF8_CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii"})
_TEXT_ONLY_HINT = "only text, JSON, YAML and Markdown are fetched"


def check_content_type(response: HTTPResponse, url: str, allow_html: bool) -> str:
    """The document's type, such as `text/markdown`. Raises LinkRefusedError for what is no text,
    and for HTML unless it is allowed.
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


def read_text(response: HTTPResponse, wire: Wire, url: str, max_bytes: int) -> str:
    """The text. Raises LinkRefusedError for more than `max_bytes`, sent or
    unpacked, for a length that is not the declared one, and for what is not UTF-8."""
    text = decode(read_data(response, wire, url, max_bytes), url)
    if isinstance(text, Finding):
        raise link_refusal(url, f"cannot be read: {text.message}")
    return text


def read_data(response: HTTPResponse, wire: Wire, url: str, max_bytes: int) -> bytes:
    """The bytes, unpacked. Raises LinkRefusedError and zlib.error as `text_of`, but for what they
    are.
    """
    packing = (response.getheader("content-encoding") or "identity").lower().strip()
    return _decompress(_read_body(response, wire, url, max_bytes), packing, url, max_bytes)


def _read_body(response: HTTPResponse, wire: Wire, url: str, max_bytes: int) -> bytes:
    declared = _declared_length(response, url)
    if declared is not None and declared > max_bytes:
        raise size_refusal(url, max_bytes)
    data = response.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise size_refusal(url, max_bytes)
    if declared is not None and (len(data) != declared or wire.has_more()):
        raise link_refusal(url, "has another length than its server declares", RETRY_HINT)
    return data


def _declared_length(response: HTTPResponse, url: str) -> int | None:
    """The declared length; None where the end of the document is told in another way."""
    framing = (response.getheader("transfer-encoding") or "").lower()
    if framing not in {"", "chunked"}:
        raise link_refusal(url, "is sent in a way that was not asked for")
    lengths = set(response.headers.get_all("content-length", []))
    if not lengths:
        return None
    length = lengths.pop().strip()
    is_number = length.isascii() and length.isdigit() and len(length) < 16
    if lengths or not is_number or framing:
        raise link_refusal(url, "declares its length in two ways, or not as a number", RETRY_HINT)
    return int(length)


def _decompress(data: bytes, packing: str, url: str, max_bytes: int) -> bytes:
    if packing == "identity":
        return data
    if packing not in {"gzip", "x-gzip", "deflate"}:
        raise link_refusal(url, "is packed in a way that was not asked for")
    # Some servers send what they call deflate without the header of zlib: its first byte ends in
    # 8.
    window = 31 if packing != "deflate" else 15 if data[:1] and data[0] & 15 == 8 else -15
    unpacker = zlib.decompressobj(window)
    plain = unpacker.decompress(data, max_bytes + 1)
    if len(plain) > max_bytes:
        raise size_refusal(url, max_bytes)
    if not unpacker.eof or unpacker.unused_data:
        raise link_refusal(
            url, "is packed, and cut short or followed by something else", RETRY_HINT
        )
    return plain
