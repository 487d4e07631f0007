"""A URL taken apart so strictly that no other reader can see another host in it."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

from capdisc_indexer.errors import LinkRefusedError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.network.addresses import is_public
from capdisc_indexer.text import UNSAFE, one_line

MAX_URL = 2_048
UNTRUSTED = "open it yourself if you trust it"
PORTS = {"https": 443, "http": 80}

_URL = re.compile(r"([a-z][a-z0-9+.-]*):(?://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# A host whose last label is a number is an address to most readers: 127.1, 0177.0.0.1 and 0x7f000001 are all loopback.
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_RESERVED = ("localhost", "local", "internal")
# What a path and a query may hold as it is; all else is sent as percent escapes of its UTF-8 bytes.
_KEPT = "%/?:@!$&'()*+,;=~[]"


@frozen(kw_only=True)
class Target:
    """Where a request goes. `host` is a lower-case name, or an address without brackets; `path` is ASCII, begins with
    a slash and carries the query; a fragment is dropped."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as the request's Host line has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL in its plain form."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse(url: str, base: Target | None = None, allow_private: bool = False) -> Target:
    """The target of an https or http URL, or of a reference as a server at `base` gives it. Raises LinkRefusedError
    for any other scheme, a host that is or may be read as this machine or its network, another port than 80 and 443,
    and whatever readers disagree about. With `allow_private`, any host and port will do."""
    # Before anything is joined: that drops some control characters without a word.
    if len(url) > MAX_URL:
        raise refused(url, f"is longer than {MAX_URL:,} characters")
    if "\\" in url or UNSAFE.search(url) or any(char.isspace() for char in url):
        raise refused(url, "holds a blank, a backslash or a control character")
    match = _URL.fullmatch(_joined(base, url) if base else url)
    scheme = match[1].lower() if match else ""
    if scheme not in PORTS or match is None:
        raise refused(url, "is not an https URL")
    host, port = _host_and_port(url, match[2] or "", allow_private)
    return Target(scheme=scheme, host=host, port=port or PORTS[scheme], path=_path(match[3], match[4]))


def refused(url: str, reason: str, hint: str = UNTRUSTED) -> LinkRefusedError:
    """The error for a URL that is not fetched; the URL is shown on one line and cut."""
    return LinkRefusedError(f"the link {one_line(url, 200)} {reason}; not fetched", hint)


def _joined(base: Target, reference: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base.url, reference)
    except ValueError:
        raise refused(reference, "cannot be read") from None


def _host_and_port(url: str, authority: str, allow_private: bool) -> tuple[str, int]:
    if "@" in authority:
        raise refused(url, "has a user name before its host")
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not match[1]:
        raise refused(url, "has no host, or one that cannot be read")
    port = int(match[2] or 0)
    if match[2] and port not in PORTS.values() and not (allow_private and 0 < port < 65_536):
        raise refused(url, "names another port than 80 and 443")
    return _host(url, match[1].lower(), allow_private), port


def _host(url: str, host: str, allow_private: bool) -> str:
    if not host.isascii():
        raise refused(url, "has letters outside ASCII in its host", "write the host in its xn-- form")
    address = _address(url, host)
    if address:
        if not allow_private and not is_public(address):
            raise refused(url, "leads to an address that is not public")
        return address
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise refused(url, "has a host name that is not well formed")
    if not allow_private and (len(labels) < 2 or labels[-1] in _RESERVED):
        raise refused(url, "has a host name that is reserved for this machine or its network")
    return host


def _address(url: str, host: str) -> str:
    """The address that the host is, in its plain form; "" for a name."""
    is_v6 = host.startswith("[")
    if not is_v6 and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return ""
    try:
        if "%" in host:  # a zone, which only means something on this machine
            raise ValueError(host)
        return str(IPv6Address(host[1:-1]) if is_v6 else IPv4Address(host))
    except ValueError:
        raise refused(url, "has an address that is not written in its plain form") from None


def _path(path: str, query: str | None) -> str:
    from urllib.parse import quote

    return quote(f"{path or '/'}{query or ''}", safe=_KEPT)
