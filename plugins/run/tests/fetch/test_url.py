"""What is read out of a URL, which URLs are refused before any look-up, and which addresses are public."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from url_cases import REFUSED

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.text.strict_url import is_public, parse_url
from case_rows import read_rows


@pytest.mark.parametrize(("url", "plain"), read_rows(__file__, "plain"))
def test_a_sound_url_comes_out_in_its_plain_form(url, plain) -> None:
    assert parse_url(url).url == plain


@pytest.mark.parametrize(
    "url",
    [
        *REFUSED,
        *read_rows(__file__, "refused"),
        "https://" + "a." * 130 + "com/",
        "https://example.com/" + "a" * 3000,
    ],
)
def test_what_readers_disagree_about_is_refused(url) -> None:
    with pytest.raises(LinkRefusedError) as raised:
        parse_url(url)
    assert raised.value.hint
    assert "\n" not in raised.value.message


@given(st.text() | st.text(alphabet="htps:/.[]@#?%\\0123456789xabc").map("https://".__add__))
def test_any_text_is_read_or_refused_and_nothing_else(text) -> None:
    try:
        target = parse_url(text)
    except LinkRefusedError:
        return
    assert target.path.startswith("/")
    assert target.path.isascii()
    assert not any(char.isspace() or not char.isprintable() for char in target.url)
    assert parse_url(target.url) == target


def test_a_reference_is_read_as_a_server_means_it_and_checked_as_any_url() -> None:
    base = parse_url("https://example.com/a/b")
    assert parse_url("../c?d", base).url == "https://example.com/c?d"
    assert parse_url("//other.example/x", base).host == "other.example"
    for reference in (
        "//127.0.0.1/",
        "file:///etc/passwd",
        "\tjavascript:x",
        "//[",
        "http:\\\\evil",
    ):
        with pytest.raises(LinkRefusedError):
            parse_url(reference, base)


@pytest.mark.parametrize("address", read_rows(__file__, "public"))
def test_public_addresses_are_public_in_every_form(address) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", read_rows(__file__, "private"))
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
