"""A network that ends on this machine: names that resolve to what a test says, and one server behind all addresses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from capdisc_run.connection import NetworkStack

# The one public address of the tests; connections to it end at the server here.
PUBLIC = "93.184.216.34"
Answer = Callable[[], Iterable[bytes]]


def answer(
    body: bytes, *headers: str, status: str = "200 OK", length: int | None = None
) -> Answer:
    """A response with its true length, or with the one that is claimed."""
    size = len(body) if length is None else length
    lines = [
        f"HTTP/1.1 {status}",
        *(headers or ("Content-Type: text/markdown",)),
        f"Content-Length: {size}",
        "",
        "",
    ]
    return lambda: ("\r\n".join(lines).encode() + body,)


def redirect(location: str, *headers: str) -> Answer:
    """A response that points elsewhere."""
    return answer(b"", f"Location: {location}", *headers, status="302 Found")


class World:
    """The server, and what reached it: `heads` of requests, `dialled` addresses, `asked` names."""

    def __init__(self, answers: Mapping[str, Answer], lookups: Sequence[Sequence[str]]) -> None:
        self.answers, self._lookups = answers, list(lookups)
        self.heads: list[str] = []
        self.dialled: list[str] = []
        self.asked: list[str] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.over = threading.Event()

    @property
    def network(self) -> NetworkStack:
        """What `fetch` is given. TLS is left out; the tests of it have their own."""
        return NetworkStack(
            resolve=self._resolve, connect=self.connect, secure=lambda connection, host: connection
        )

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self._lookups.pop(0) if len(self._lookups) > 1 else self._lookups[0]

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        """A connection to the server, whatever the address."""
        self.dialled.append(address)
        return socket.create_connection(self._server.getsockname(), timeout_s)

    def serve(self) -> None:
        """Answer until the test is over, each connection in a thread of its own."""
        while not self.over.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (data := connection.recv(4096)):
                    head += data
                self.heads.append(head.decode("latin-1"))
                path = self.heads[-1].split(" ")[1]
                for piece in self.answers.get(path, answer(b"fine"))():
                    connection.sendall(piece)
        except (OSError, IndexError):
            return  # whoever asked has left

    def close(self) -> None:
        """End the server; what still waits in an answer wakes up."""
        self.over.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@contextmanager
def world(
    answers: Mapping[str, Answer] | None = None, lookups: Sequence[Sequence[str]] = ((PUBLIC,),)
) -> Iterator[World]:
    """A world that answers every path it was not given with a sound document; `lookups` are the name server's answers
    in turn, the last one for good."""
    here = World(answers or {}, lookups)
    thread = threading.Thread(target=here.serve, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        here.close()
        thread.join(5)
