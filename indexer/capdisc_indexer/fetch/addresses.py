"""Which addresses are those of a public host, whatever form they are written in.

The networks are those of IANA's two registries of special-purpose addresses, written out here
since the answers of `ipaddress` (`is_global`, `is_private`) differ between versions of Python.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_SPECIAL_IPV4 = [
    IPv4Network(network)
    for network in """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    168.63.129.16/32
    """.split()  # the last one: public by number, but answered by the host that an Azure machine runs on
]
# All that is public lies in here: what is outside is private, link-local, multicast or not given out.
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_SPECIAL_IPV6 = [IPv6Network(network) for network in "2001::/23 2001:db8::/32 3fff::/20".split()]
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether this is an address that belongs to a host of the public internet. An IPv6 address
    that only carries IPv4 ones (mapped, NAT64, 6to4, Teredo) is as public as all of these.

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
    is_global = address in _GLOBAL_IPV6 and not any(address in network for network in _SPECIAL_IPV6)
    return is_global and address.scope_id is None


def _embedded_ipv4(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses inside; packets to the IPv6 address may end at any of them."""
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour:
        return (address.sixtofour,)
    return address.teredo or ()
