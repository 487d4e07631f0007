"""Documents from a server on this machine that stands in for every public one."""

import gzip
import re
import socket
import zlib

import pytest
from hosts import PUBLIC, answer, redirect, world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from url_cases import CASES, bomb, outcome

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_run.connection import NetworkStack
from capdisc_run.download import FetchOptions, fetch_document

URL = "https://docs.example.com/start"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_comes_out_as_it_should(case) -> None:
    assert outcome(case) == case.verdict


def _refusal(start, options=None, **answers) -> LinkRefusedError:
    given = {f"/{name}": each for name, each in answers.items()}
    with world({"/start": start, **given}) as here, pytest.raises(LinkRefusedError) as raised:
        fetch_document(URL, options or FetchOptions(), here.network)
    assert raised.value.hint
    return raised.value


def _text(start, options=None) -> str:
    with world({"/start": start}) as here:
        return fetch_document(URL, options or FetchOptions(), here.network).text


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
    assert {line.partition(":")[0] for line in headers} == {
        "Host", "User-Agent", "Connection", "Accept", "Accept-Encoding",
    }  # fmt: skip
    assert "Host: docs.example.com" in headers


def test_a_name_is_looked_up_once_and_the_second_answer_never_used() -> None:
    with world(lookups=[[PUBLIC], ["127.0.0.1"]]) as here:
        assert fetch_document(URL, FetchOptions(), here.network).text == "fine"
    assert (here.asked, here.dialled) == (["docs.example.com"], [PUBLIC])


@pytest.mark.parametrize("addresses", [[PUBLIC, "127.0.0.1"], ["::1"], ["fe80::1%eth0"], []])
def test_one_address_that_is_not_public_is_enough_to_refuse(addresses) -> None:
    with (
        world(lookups=[addresses]) as here,
        pytest.raises(LinkRefusedError, match="not all public"),
    ):
        fetch_document(URL, FetchOptions(), here.network)
    assert here.dialled == []


def test_an_address_needs_no_name_server() -> None:
    with world() as here:
        fetch_document(f"https://{PUBLIC}/x", FetchOptions(), here.network)
    assert here.asked == []


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with world(lookups=[["2606:4700::1111", PUBLIC]]) as here:

        def connect(address, port, timeout_s):
            if ":" in address:
                raise ConnectionRefusedError(111, "Connection refused")
            return here.connect(address, port, timeout_s)

        network = NetworkStack(
            resolve=here.network.resolve, connect=connect, secure=here.network.secure
        )
        assert fetch_document(URL, FetchOptions(), network).text == "fine"


def test_plain_http_needs_leave_at_every_hop() -> None:
    down = redirect("http://docs.example.com/plain")
    assert "--allow-http" in _refusal(down).hint
    assert _text(down, FetchOptions(allow_http=True)) == "fine"


def test_three_hops_are_followed_and_a_fourth_is_not() -> None:
    hops = {f"/{n}": redirect(f"/{n + 1}") for n in range(4)}
    with world(hops) as here:
        assert (
            fetch_document("https://docs.example.com/1", FetchOptions(), here.network).text
            == "fine"
        )
        with pytest.raises(LinkRefusedError, match="more than 3 times"):
            fetch_document("https://docs.example.com/0", FetchOptions(), here.network)


def test_a_redirect_to_a_place_that_is_not_public_names_who_sent_it() -> None:
    assert "redirected from docs.example.com" in _refusal(redirect("https://127.0.0.1/")).message
    assert "redirected from docs.example.com" in _refusal(redirect("file:///etc/passwd")).message


@pytest.mark.parametrize("packing", ["gzip", "deflate", "raw deflate"])
def test_packed_documents_are_unpacked(packing) -> None:
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(b"text"),
        "deflate": zlib.compress(b"text"),
        "raw deflate": raw.compress(b"text") + raw.flush(),
    }
    header = f"Content-Encoding: {packing.split()[-1]}"
    assert _text(answer(packed[packing], "Content-Type: text/plain", header)) == "text"


def test_chunks_are_put_together() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert _text(lambda: (head, b"3\r\nabc\r\n", b"2;x=y\r\nde\r\n0\r\n\r\n")) == "abcde"
    _refusal(lambda: (head, b"3\r\nabc\r\n"))
    _refusal(lambda: (head, b"zz\r\nabc\r\n"))


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        (["Content-Encoding: gzip"], gzip.compress(b"text" * 99, mtime=0)[:-9], "cut short"),
        (
            ["Content-Encoding: gzip"],
            gzip.compress(b"text", mtime=0) + b"more",
            "followed by other bytes",
        ),
        (["Content-Encoding: gzip"], b"no gzip", "failed"),
        (["Content-Encoding: br"], b"x", "compressed"),
        (["Content-Encoding: gzip, gzip"], b"x", "compressed"),
        (["Transfer-Encoding: gzip, chunked"], b"x", "transfer encoding"),
        (["Transfer-Encoding: chunked"], b"1\r\nx\r\n0\r\n\r\n", "two ways"),
        (["Content-Length: 2"], b"x", "two ways"),
        ([], b"\xff", "not UTF-8"),
        ([], b"a\0b", "NUL"),
        ([], b"x" * (1 << 20) + b"x", "larger than 1,024 KiB"),
    ],
)
def test_a_body_that_is_not_what_it_claims_is_refused(headers, body, reason) -> None:
    assert reason in _refusal(answer(body, "Content-Type: text/plain", *headers)).message


@pytest.mark.parametrize("length", [3, 5, 9_999_999, -4, "4 ", "4x"])
def test_another_length_than_the_declared_one_is_refused(length) -> None:
    if length == "4 ":
        assert _text(answer(b"text", length=length)) == "text"
    else:
        _refusal(answer(b"text", length=length))


def test_a_bomb_is_not_unpacked_beyond_the_limit() -> None:
    packed = bomb()
    assert len(packed) < 1 << 20
    head = ("Content-Type: text/plain", "Content-Encoding: gzip")
    assert "larger than 1,024 KiB" in _refusal(answer(packed, *head)).message


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/markdown; charset=UTF-8",
        "application/json",
        "application/problem+json",
        "application/yaml",
    ],
)
def test_text_of_every_kind_is_fetched(kind) -> None:
    assert _text(answer(b"x", f"Content-Type: {kind}")) == "x"


@pytest.mark.parametrize(
    "kind",
    [
        "text/html",
        "text/plain, text/html",
        "application/xhtml+xml",
        "application/pdf",
        "image/svg+xml",
        "",
        "text/",
    ],
)
def test_what_is_no_text_document_is_refused(kind) -> None:
    _refusal(answer(b"x", f"Content-Type: {kind}" if kind else "X-None: 1"))


def test_html_is_given_as_its_source_when_asked_for() -> None:
    page = answer(b"<p>hi</p>", "Content-Type: text/html; charset=utf-8")
    assert "--allow-html" in _refusal(page).hint
    assert _text(page, FetchOptions(allow_html=True)) == "<p>hi</p>"


def test_another_encoding_than_utf_8_is_refused() -> None:
    assert (
        "UTF-8" in _refusal(answer(b"x", "Content-Type: text/plain; charset=iso-8859-1")).message
    )


@pytest.mark.parametrize(
    "status", ["404 Not Found", "204 No Content", "101 Switching", "500 \x1b[31m"]
)
def test_any_other_status_is_refused_by_its_number_alone(status) -> None:
    message = _refusal(answer(b"x", status=status)).message
    assert f"status {status[:3]};" in message


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n",
    ],
)
def test_an_answer_that_is_no_http_is_refused(sent) -> None:
    _refusal(lambda: (sent,))


def test_endless_headers_end_at_a_limit() -> None:
    def forever():
        while True:
            yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

    # The first is ours, the second one of Python 3.14.
    assert re.search(r"larger than|HTTPException", _refusal(forever).message)


def test_the_deadline_holds_for_the_headers_and_the_name_server_too() -> None:
    with world() as here:

        def drip():
            yield b"HTTP/1.1 200 OK\r\nA: "
            while not here.over.wait(0.02):
                yield b"x"

        here.answers = {"/start": drip}
        options = FetchOptions(max_seconds=0.2)
        with pytest.raises(LinkRefusedError, match=r"longer than 0\.2 seconds"):
            fetch_document(URL, options, here.network)
        stuck = NetworkStack(
            resolve=lambda host, port: [PUBLIC] * here.over.wait(30), connect=here.connect
        )
        with pytest.raises(LinkRefusedError, match=r"longer than 0\.2 seconds"):
            fetch_document(URL, options, stuck)


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
