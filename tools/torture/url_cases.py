"""Fifty URLs and servers, each with what becomes of it: allow, refuse, or refuse-unless-asked."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hosts import PUBLIC, Answer, answer, redirect, world

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_run.download import FetchOptions, fetch_document


@dataclass(frozen=True)
class Case:
    """A URL with the servers and name servers behind it."""

    name: str
    verdict: str
    url: str = "https://docs.example.com/start"
    answers: Mapping[str, Answer] = field(default_factory=dict)
    lookups: Sequence[Sequence[str]] = ((PUBLIC,),)
    seconds: float = 5.0


REFUSED = """
http://127.0.0.1/ http://localhost:8080/admin http://localhost./ http://foo.localhost/ http://[::1]/
http://[::ffff:127.0.0.1]/ http://[::ffff:a9fe:a9fe]/ http://[64:ff9b::a9fe:a9fe]/ http://2130706433/ http://0x7f.1/
http://0177.0.0.1/ http://127.1/ http://0/ http://0.0.0.0:22/ http://169.254.169.254/latest/meta-data/
http://[fd00:ec2::254]/latest/ http://metadata.google.internal/ http://10.0.0.1/ http://172.16.5.4/
http://192.168.1.1/ http://100.64.0.1/ http://224.0.0.1/ http://[fe80::1%25eth0]/ http://example.com@127.0.0.1/
http://127.0.0.1#@example.com/ http://127.0.0.1\\@example.com/ http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/
http://127\u30020\u30020\u30021/ file:///etc/passwd ftp://example.com/x gopher://127.0.0.1:6379/_x
data:text/plain,hello javascript:alert(1) unix:///run/docker.sock http://example.com:25/ http:///nohost
""".split()
REFUSED += ["http://example.com/\r\nHost: evil", f"https://{'a' * 70}.example.com/"]


def _drip() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n"
    for _ in range(1000):
        threading.Event().wait(0.05)
        yield b"x"


def _endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    while True:
        yield b"x" * 65536


def bomb() -> bytes:
    """Almost a mebibyte of gzip that unpacks to almost a gibibyte: one packed block, over and over."""
    packer = zlib.compressobj(wbits=-15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return (
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        + block * (1_000_000 // len(block))
        + packer.flush()
        + bytes(8)
    )


def _cases() -> list[Case]:
    plain, packed = "Content-Type: text/plain", "Content-Encoding: gzip"
    chain = {f"/{n}": redirect(f"/{n + 1}") for n in range(11)}
    cookie = {
        "/start": redirect("/next", "Set-Cookie: a=1"),
        "/next": answer(b"fine", plain, "Set-Cookie: b=2"),
    }
    rebinding = [[PUBLIC], ["127.0.0.1"]]
    return [
        Case("ordinary", "allow", "https://example.com/guide.md"),
        Case("plain http", "refuse-unless-asked", "http://example.com/guide.md"),
        *(Case(url, "refuse", url) for url in REFUSED),
        Case("redirect-to-loopback", "refuse", answers={"/start": redirect("https://127.0.0.1/")}),
        Case("redirect-chain-11", "refuse", "https://docs.example.com/0", chain),
        Case("redirect-to-file", "refuse", answers={"/start": redirect("file:///etc/passwd")}),
        Case("dns-rebind", "refuse", answers={"/start": redirect("/start")}, lookups=rebinding),
        Case("slow-body", "refuse", answers={"/start": _drip}, seconds=0.4),
        Case("endless-body", "refuse", answers={"/start": _endless}),
        Case("gzip-bomb", "refuse", answers={"/start": answer(bomb(), plain, packed)}),
        Case("wrong-length", "refuse", answers={"/start": answer(b"short", length=100)}),
        Case(
            "html",
            "refuse-unless-asked",
            answers={"/start": answer(b"<p>", "Content-Type: text/html")},
        ),
        Case("set-cookie", "allow", answers=cookie),
    ]


CASES = _cases()


def outcome(case: Case) -> str:
    """The verdict as it came out, or what went wrong on the way to it."""
    found = [_fetched(case, FetchOptions(max_seconds=case.seconds))]
    if found == ["refuse"]:
        found.append(
            _fetched(
                case, FetchOptions(allow_http=True, allow_html=True, max_seconds=case.seconds)
            )
        )
    return "refuse-unless-asked" if found == ["refuse", "allow"] else found[-1]


def _fetched(case: Case, options: FetchOptions) -> str:
    with world(case.answers, case.lookups) as here:
        try:
            fetch_document(case.url, options, here.network)
            verdict = "allow"
        except LinkRefusedError as error:
            verdict = "refuse" if error.hint else "refused without a hint"
    if {*here.dialled} - {PUBLIC}:
        return f"connected to {here.dialled}"
    return "sent a cookie" if any("cookie" in head.lower() for head in here.heads) else verdict
