"""A store that behaves as S3 does, behind a proxy that sees and can spoil each request."""

from __future__ import annotations

import http.client
import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

SERVE = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
# The server wants requests to be signed, and does not look at how.
SIGNED = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
SECRET = "geheimer-schluessel-0123456789"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def moto():
    """The port of the server."""
    pytest.importorskip("obstore", reason="needs the extra s3")
    pytest.importorskip("moto", reason="needs moto[s3], flask and flask-cors")
    pytest.importorskip("flask_cors", reason="needs moto[s3], flask and flask-cors")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        yield int(server.stdout.readline())
        server.kill()


class Store:
    """A bucket of its own. `seen` are the requests as "GET CURRENT"; `spoil`, if set, is asked about each before it is
    passed on: an answer of (status, body) takes the place of the server's."""

    def __init__(self, port: int) -> None:
        self.bucket = f"team-{next(_numbers)}"
        self.url = f"s3://{self.bucket}/idx"
        self.seen: list[str] = []
        self.spoil: Callable[[str, dict[str, str]], tuple[int, bytes] | None] | None = None
        self.after: Callable[[str, int], int | None] | None = None
        self.drop: tuple[str, ...] = ()
        self._port = port
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self._proxy.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._proxy.server_address[1]}"
        Thread(target=self._proxy.serve_forever, args=(0.05,), daemon=True).start()
        self.direct("PUT", f"/{self.bucket}")

    def direct(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ):
        """Ask the server itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(method, path, body, headers or {"authorization": SIGNED})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, key: str) -> bytes:
        """An object, by its key below the prefix."""
        status, _, body = self.direct("GET", f"/{self.bucket}/idx/{key}")
        assert status == 200, key
        return body

    def put(self, key: str, body: bytes) -> None:
        """Write an object, as nobody should."""
        assert self.direct("PUT", f"/{self.bucket}/idx/{key}", body)[0] == 200

    def listing(self) -> list[str]:
        """Every key below the prefix."""
        body = self.direct("GET", f"/{self.bucket}?list-type=2")[2].decode()
        return [key.removeprefix("idx/") for key in re.findall("<Key>([^<]*)</Key>", body)]

    def generations(self) -> list[str]:
        """The folders of the generations that are there."""
        return sorted(
            {key.split("/")[1] for key in self.listing() if key.startswith("generations/")}
        )

    def stop(self) -> None:
        """Answer nobody any more."""
        self._proxy.shutdown()
        self._proxy.server_close()


def handler_of(store: Store) -> type[BaseHTTPRequestHandler]:
    """What passes requests on to the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            key = (
                self.path.partition("?")[0]
                .removeprefix(f"/{store.bucket}")
                .removeprefix("/idx")
                .lstrip("/")
            )
            status, headers, data = self.answered(f"{self.command} {key}", body)
            self.send_response_only(status)
            length = headers.get("content-length") if self.command == "HEAD" else str(len(data))
            for name, text in headers.items():
                if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                    self.send_header(name, text)
            self.send_header("content-length", length or "0")
            self.end_headers()
            if self.command != "HEAD" and status != 304:
                self.wfile.write(data)

        def answered(self, what: str, body: bytes):
            store.seen.append(what)
            spoilt_answer = store.spoil(what, dict(self.headers)) if store.spoil else None
            if spoilt_answer is not None:
                return spoilt_answer[0], {}, spoilt_answer[1]
            sent = {
                name: text for name, text in self.headers.items() if name.lower() not in store.drop
            }
            status, headers, data = store.direct(self.command, self.path, body, sent)
            return (store.after(what, status) if store.after else None) or status, headers, data

        def log_message(self, *_) -> None:
            pass

    for method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.answer)
    return Handler


@pytest.fixture
def store(moto: int, monkeypatch: pytest.MonkeyPatch):
    """A bucket with what it takes to reach it in the environment, and its index the one that commands use."""
    store = Store(moto)
    for name, value in {
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "reader",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "CAPDISC_INDEX_DIR": store.url,
    }.items():
        monkeypatch.setenv(name, value)
    yield store
    store.stop()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Go on at another machine, by name: one with a home and a cache of its own."""

    def go(name: str) -> Path:
        home = tmp_path / "machines" / name
        home.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("HOME", str(home))
        return home

    return go


@pytest.fixture
def skills(tmp_path: Path, write_skill: Callable[..., Path]) -> Path:
    """A folder of two skills."""
    write_skill(tmp_path / "skills", "merge-pdfs", "Joins several PDF files into one.")
    write_skill(tmp_path / "skills", "send-mail", "Sends an email with attachments.")
    return tmp_path / "skills"


@pytest.fixture
def built(capdisc, store, machine, skills) -> Path:
    """The home of a machine that has built and published the index of the skills."""
    home = machine("ci")
    assert capdisc("index", str(skills)).code == 0
    return home


@pytest.fixture
def reader(built, machine) -> Path:
    """The home of another machine, which reads that index."""
    return machine("reader")
