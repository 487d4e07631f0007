"""Documents from a server on this machine that stands in for every public one."""

import gzip
import re
import shutil
import socket
import ssl
import subprocess
import zlib
from contextlib import suppress

import pytest
from hosts import PUBLIC, answer, redirect, world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from url_cases import CASES, bomb, outcome

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.frozen import replace
from capdisc_run.connection import NetworkStack, start_tls
from capdisc_run.download import FetchOptions, fetch_document
from case_rows import read_rows

URL = "https://docs.example.com/start"
PLAIN, PACKED = "Content-Type: text/plain", "Content-Encoding: gzip"
CHUNKS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_comes_out_as_it_should(case) -> None:
    assert outcome(case) == case.verdict


def _fetch(start, url=URL, **options):
    with world({"/start": start}) as here:
        return fetch_document(url, FetchOptions(**options), here.network)


def _refusal(start) -> LinkRefusedError:
    with pytest.raises(LinkRefusedError) as raised:
        _fetch(start)
    assert raised.value.hint
    return raised.value


def _sent(*pieces: bytes):
    return lambda: pieces


def _read_answers(name: str):
    return [
        (answer(body.encode(), *headers, **options), expected)
        for body, headers, options, expected in read_rows(__file__, name)
    ]


def _endless():
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000


RAW_DEFLATE = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        *_read_answers("text"),
        (answer(gzip.compress(b"text"), PLAIN, PACKED), "text"),
        (answer(zlib.compress(b"text"), PLAIN, "Content-Encoding: deflate"), "text"),
        (
            answer(
                RAW_DEFLATE.compress(b"text") + RAW_DEFLATE.flush(),
                PLAIN,
                "Content-Encoding: deflate",
            ),
            "text",
        ),
        (_sent(CHUNKS, b"3\r\nabc\r\n", b"2;x=y\r\nde\r\n0\r\n\r\n"), "abcde"),
    ],
)
def test_text_of_every_kind_and_packing_is_fetched(start, text) -> None:
    assert _fetch(start).text == text


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        *_read_answers("refused"),
        (answer(gzip.compress(b"text" * 99, mtime=0)[:-9], PLAIN, PACKED), "cut short"),
        (answer(gzip.compress(b"text") + b"more", PLAIN, PACKED), "followed by other bytes"),
        (answer(bomb(), PLAIN, PACKED), "larger than 1,024 KiB"),
        (answer(b"\xff", PLAIN), "not UTF-8"),
        (answer(b"x" * (1 << 20) + b"x", PLAIN), "larger than 1,024 KiB"),
        (_sent(CHUNKS, b"3\r\nabc\r\n"), "failed"),
        (_sent(CHUNKS, b"zz\r\nabc\r\n"), "failed"),
        (_sent(b""), "failed"),
        (_sent(b"garbage\r\n\r\n"), "failed"),
        (_sent(b"HTTP/1.1 200 OK\r\n"), ""),
        (_sent(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n"), "failed"),
        # The first is ours, the second one of Python 3.14.
        (_endless, r"larger than|HTTPException"),
    ],
)
def test_what_is_no_sound_text_document_is_refused_with_the_reason(start, reason) -> None:
    assert re.search(reason, _refusal(start).message)


def test_a_document_comes_with_its_text_its_type_and_its_place() -> None:
    moved = {
        "/start": redirect("/a/b"),
        "/a/b": redirect("../guide"),
        "/guide": answer("\ufeffgrüß\r\n".encode()),
    }
    with world(moved) as here:
        found = fetch_document(URL, FetchOptions(), here.network)
    assert (found.text, found.content_type) == ("grüß\n", "text/markdown")
    assert found.url == "https://docs.example.com/guide"
    assert here.dialled == [PUBLIC] * 3


def test_a_request_tells_nothing_about_who_asks(monkeypatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with world() as here:
        fetch_document("https://docs.example.com/a?b=c#d", FetchOptions(), here.network)
    first, *headers = here.heads[0].rstrip().split("\r\n")
    assert first == "GET /a?b=c HTTP/1.1"
    names = [line.partition(":")[0] for line in headers]
    assert sorted(names) == sorted("Host User-Agent Connection Accept Accept-Encoding".split())
    assert "Host: docs.example.com" in headers


def test_a_name_is_looked_up_once_and_an_address_never() -> None:
    with world(lookups=[[PUBLIC], ["127.0.0.1"]]) as here:
        assert fetch_document(URL, FetchOptions(), here.network).text == "fine"
    assert (here.asked, here.dialled) == (["docs.example.com"], [PUBLIC])
    with world() as here:
        fetch_document(f"https://{PUBLIC}/x", FetchOptions(), here.network)
    assert here.asked == []


@pytest.mark.parametrize("addresses", [[PUBLIC, "127.0.0.1"], ["::1"], ["fe80::1%eth0"], []])
def test_one_address_that_is_not_public_is_enough_to_refuse(addresses) -> None:
    with world(lookups=[addresses]) as here:
        with pytest.raises(LinkRefusedError, match="not all public"):
            fetch_document(URL, FetchOptions(), here.network)
        assert here.dialled == []


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with world(lookups=[["2606:4700::1111", PUBLIC]]) as here:

        def connect(address, port, timeout_s):
            if ":" in address:
                raise ConnectionRefusedError(111, "Connection refused")
            return here.connect(address, port, timeout_s)

        network = replace(here.network, connect=connect)
        assert fetch_document(URL, FetchOptions(), network).text == "fine"


def test_plain_http_and_html_need_leave() -> None:
    down = redirect("http://docs.example.com/plain")
    assert "--allow-http" in _refusal(down).hint
    assert _fetch(down, allow_http=True).text == "fine"
    page = answer(b"<p>hi</p>", "Content-Type: text/html; charset=utf-8")
    assert "--allow-html" in _refusal(page).hint
    assert _fetch(page, allow_html=True).text == "<p>hi</p>"


def test_three_hops_are_followed_and_a_fourth_is_not() -> None:
    hops = {f"/{n}": redirect(f"/{n + 1}") for n in range(4)}
    with world(hops) as here:
        found = fetch_document("https://docs.example.com/1", FetchOptions(), here.network)
        assert found.text == "fine"
        with pytest.raises(LinkRefusedError, match="more than 3 times"):
            fetch_document("https://docs.example.com/0", FetchOptions(), here.network)


def test_the_deadline_holds_for_the_headers_and_the_name_server_too() -> None:
    with world() as here:

        def drip():
            yield b"HTTP/1.1 200 OK\r\nA: "
            while not here.over.wait(0.02):
                yield b"x"

        here.answers = {"/start": drip}
        stuck = replace(here.network, resolve=lambda host, port: [PUBLIC] * here.over.wait(30))
        for network in (here.network, stuck):
            with pytest.raises(LinkRefusedError, match=r"longer than 0\.2 seconds"):
                fetch_document(URL, FetchOptions(max_seconds=0.2), network)


def test_a_name_that_does_not_exist_is_said_plainly() -> None:
    def resolve(host, port):
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(LinkRefusedError, match="cannot be found"):
        fetch_document(URL, FetchOptions(), NetworkStack(resolve=resolve))


PIECES = [
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 302 Found\r\n", b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/0.9 -1\r\n", b"\r\n", b"\n",
    b"Content-Type: text/plain\r\n", b"Content-Length: 3\r\n", b"Content-Length: -1\r\n", b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: deflate\r\n", b"Transfer-Encoding: chunked\r\n", b"Location: //[\r\n", b"Location: /\xff\r\n",
    b"3\r\nabc\r\n", b"-1\r\n",
    b"ffffffffffffffffffff\r\n", b"0\r\n\r\n", gzip.compress(b"abc"), b" folded\r\n", b":\r\n",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])  # one slow draw on a loaded machine
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=10))
def test_whatever_a_server_sends_is_a_document_or_a_refusal(pieces) -> None:
    def connect(address, port, timeout_s):
        here, there = socket.socketpair()
        there.sendall(b"".join(pieces))
        there.shutdown(socket.SHUT_WR)
        ends.append(there)
        return here

    ends: list[socket.socket] = []
    network = NetworkStack(
        resolve=lambda host, port: [PUBLIC],
        connect=connect,
        secure=lambda connection, host: connection,
    )
    try:
        assert isinstance(fetch_document(URL, FetchOptions(), network).text, str)
    except LinkRefusedError as error:
        assert error.hint
    finally:
        for end in ends:
            end.close()


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs the openssl program")
def test_a_certificate_is_good_for_its_own_name_and_only_if_somebody_vouches_for_it(
    tmp_path, monkeypatch
) -> None:
    key, chain = tmp_path / "key.pem", tmp_path / "chain.pem"
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout {key} -out {chain}"
    words += " -subj /CN=docs.example.com -addext subjectAltName=DNS:docs.example.com"
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with world({"/start": answer(b"secret")}) as here:
        plain = here._answer

        def answered(connection):
            with suppress(OSError):
                plain(context.wrap_socket(connection, server_side=True))

        here._answer = answered
        network = replace(here.network, secure=start_tls)
        with pytest.raises(LinkRefusedError, match=r"self.signed certificate"):
            fetch_document(URL, FetchOptions(), network)
        assert here.heads == []
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
        assert fetch_document(URL, FetchOptions(), network).text == "secret"
        with pytest.raises(LinkRefusedError, match="Hostname mismatch"):
            fetch_document("https://other.example.com/start", FetchOptions(), network)
