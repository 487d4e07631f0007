"""Parses URLs so strictly that no other program can read another host in them, and tells public
addresses from others.

The networks that are not public are those of IANA's two registries of special-purpose addresses,
written out here, since the answers of `ipaddress` (`is_global`, `is_private`) differ between
versions of Python.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS, one_line

MAX_URL_CHARACTERS = 2_048
OPEN_YOURSELF_HINT = "open it yourself if you trust it"
DEFAULT_PORTS = {"https": 443, "http": 80}

_URL = re.compile(r"([a-z][a-z0-9+.-]*):(?://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# A host whose last label is a number is an address to most readers: 127.1, 0177.0.0.1 and
# 0x7f000001 are all loopback.
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_RESERVED_LABELS = ("localhost", "local", "internal")
# What a path and a query may hold as it is; all else is sent as percent escapes of its UTF-8
# bytes.
_SAFE_CHARACTERS = "%/?:@!$&'()*+,;=~[]"

_SPECIAL_IPV4 = [
    IPv4Network(network)
    for network in """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    168.63.129.16/32
    """.split()  # the last one: public by number, but answered by the host that an Azure machine runs on
]
# All public addresses lie in here; the others are private, link-local, multicast or unassigned.
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_SPECIAL_IPV6 = [IPv6Network(network) for network in "2001::/23 2001:db8::/32 3fff::/20".split()]
_NAT64 = IPv6Network("64:ff9b::/96")


@frozen(kw_only=True)
class Target:
    """Where a request goes. `host` is a lower-case name, or an address without brackets; `path` is
    ASCII, begins with a slash and carries the query; a fragment is dropped.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as in the Host line of a request."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL in its normal form."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(url: str, base: Target | None = None, allow_private: bool = False) -> Target:
    """The target of an https or http URL, or of a reference from a server at `base`.

    Raises LinkRefusedError for any other scheme, a host that is or may be read as this machine or
    its network, another port than 80 and 443, and anything that parsers disagree about. With
    `allow_private`, any host and port is accepted.
    """
    # Before the reference is joined, since urljoin silently drops some control characters.
    if len(url) > MAX_URL_CHARACTERS:
        raise link_refusal(url, f"is longer than {MAX_URL_CHARACTERS:,} characters")
    if "\\" in url or UNSAFE_CHARACTERS.search(url) or any(char.isspace() for char in url):
        raise link_refusal(url, "holds a blank, a backslash or a control character")
    match = _URL.fullmatch(_join_reference(base, url) if base else url)
    scheme = match[1].lower() if match else ""
    if scheme not in DEFAULT_PORTS or match is None:
        raise link_refusal(url, "is not an https URL")
    host, port = _parse_authority(url, match[2] or "", allow_private)
    return Target(
        scheme=scheme,
        host=host,
        port=port or DEFAULT_PORTS[scheme],
        path=_quote_path(match[3], match[4]),
    )


def link_refusal(url: str, reason: str, hint: str = OPEN_YOURSELF_HINT) -> LinkRefusedError:
    """The error for a URL that is not fetched; the URL is shown on one line and cut."""
    return LinkRefusedError(f"the link {one_line(url, 200)} {reason}; not fetched", hint)


def _join_reference(base: Target, reference: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base.url, reference)
    except ValueError:
        raise link_refusal(reference, "cannot be read") from None


def _parse_authority(url: str, authority: str, allow_private: bool) -> tuple[str, int]:
    if "@" in authority:
        raise link_refusal(url, "has a user name before its host")
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not match[1]:
        raise link_refusal(url, "has no host, or one that cannot be read")
    port = int(match[2] or 0)
    if (
        match[2]
        and port not in DEFAULT_PORTS.values()
        and not (allow_private and 0 < port < 65_536)
    ):
        raise link_refusal(url, "names another port than 80 and 443")
    return _check_host(url, match[1].lower(), allow_private), port


def _check_host(url: str, host: str, allow_private: bool) -> str:
    if not host.isascii():
        raise link_refusal(
            url, "has letters outside ASCII in its host", "write the host in its xn-- form"
        )
    address = _parse_address(url, host)
    if address:
        if not allow_private and not is_public(address):
            raise link_refusal(url, "leads to an address that is not public")
        return address
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise link_refusal(url, "has a host name that is not well formed")
    if not allow_private and (len(labels) < 2 or labels[-1] in _RESERVED_LABELS):
        raise link_refusal(url, "has a host name that is reserved for this machine or its network")
    return host


def _parse_address(url: str, host: str) -> str:
    """The address in its normal form if the host is one; "" for a name."""
    is_v6 = host.startswith("[")
    if not is_v6 and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return ""
    try:
        if "%" in host:  # a zone, which has a meaning on this machine only
            raise ValueError(host)
        return str(IPv6Address(host[1:-1]) if is_v6 else IPv4Address(host))
    except ValueError:
        raise link_refusal(url, "has an address that is not written in its plain form") from None


def _quote_path(path: str, query: str | None) -> str:
    from urllib.parse import quote

    return quote(f"{path or '/'}{query or ''}", safe=_SAFE_CHARACTERS)


def is_public(text: str) -> bool:
    """Whether the text is an address of a host on the public internet. An IPv6 address that
    carries IPv4 ones (mapped, NAT64, 6to4, Teredo) is public when all of these are.

    >>> is_public("93.184.216.34"), is_public("64:ff9b::a9fe:a9fe"), is_public("fe80::1%eth0")
    (True, False, False)
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_public_v4(address)
    carried = _embedded_ipv4(address)
    return all(map(_is_public_v4, carried)) if carried else _is_public_v6(address)


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _SPECIAL_IPV4)


def _is_public_v6(address: IPv6Address) -> bool:
    is_global = address in _GLOBAL_IPV6 and not any(
        address in network for network in _SPECIAL_IPV6
    )
    return is_global and address.scope_id is None


def _embedded_ipv4(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses in an IPv6 address; its packets may end at any of them."""
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour:
        return (address.sixtofour,)
    return address.teredo or ()
