"""What is read out of a URL, and which URLs are refused before any look-up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from url_cases import REFUSED

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.text.strict_url import parse_url


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://example.com/guide.md", "https://example.com/guide.md"),
        ("HTTPS://Example.COM:443?q=1#part", "https://example.com/?q=1"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://example.com/ä b".replace(" ", ""), "https://example.com/%C3%A4b"),
        ("https://example.com/a%20b?x=%22&y=(1)", "https://example.com/a%20b?x=%22&y=(1)"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://93.184.216.34/", "https://93.184.216.34/"),
        ("https://[2606:4700:0::1111]/", "https://[2606:4700::1111]/"),
    ],
)
def test_a_sound_url_comes_out_in_its_plain_form(url, plain) -> None:
    assert parse_url(url).url == plain


@pytest.mark.parametrize(
    "url",
    [
        *REFUSED,
        "",
        "example.com/x",
        "//example.com/x",
        "https:example.com",
        "https://example.com:/",
        "https://example.com:080443/",
        "https://example.com:८०/",
        "https://user:word@example.com/",
        "https://@example.com/",
        "https://bücher.example/",
        "https://example.com\u200b/",
        "https://exa mple.com/",
        "https://[::1/",
        "https://[127.0.0.1]/",
        "https://1.2.3/",
        "https://1.2.3.4.5/",
        "https://127.0.0.0x1/",
        "https://256.1.1.1/",
        "https://printer.local/",
        "https://intranet/",
        "https://-a.example.com/",
        "https://a..example.com/",
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
