"""Which addresses count as public."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.text.strict_url import is_public


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_public_addresses_are_public_in_every_form(address) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    """
    0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
    224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1
    64:ff9b:1::1 100::1 2001:2::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::1 2001:0:a00:1:: 3fff::1 5f00::1 fc00::1
    fd00:ec2::254 fe80::1 fec0::1 ff02::1 2606:4700::1111%eth0 fe80::1%eth0 127.1 0x7f000001 2130706433 localhost
    """.split(),
)
def test_addresses_of_this_machine_and_its_networks_are_not(address) -> None:
    assert not is_public(address)


def test_the_client_inside_a_teredo_address_is_looked_at_too() -> None:
    server, private = ipaddress.IPv4Address("8.8.8.8"), ipaddress.IPv4Address("10.0.0.1")
    address = ipaddress.IPv6Address(
        (0x20010000 << 96) | (int(server) << 64) | (int(private) ^ 0xFFFFFFFF)
    )
    assert not is_public(str(address))


@given(st.ip_addresses())
def test_nothing_is_public_that_python_knows_to_be_private(address) -> None:
    carries = address.version == 6 and (address.ipv4_mapped or address.sixtofour or address.teredo)
    if (
        is_public(str(address))
        and not carries
        and address not in ipaddress.ip_network("64:ff9b::/96")
    ):
        assert address.is_global
        assert not (
            address.is_multicast
            or address.is_reserved
            or address.is_loopback
            or address.is_link_local
        )
