"""Connections of clients in one thread: however idle, slow or wrong a client is, it costs a bounded little."""

from __future__ import annotations

import hmac
import selectors
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from capdisc.serve import frames
from capdisc.serve.loopback import proof
from capdisc.serve.peers import is_same_user

# Clients wait a third of a second. One that has not sent its question, or taken its answer, after this is none.
LIMIT_S = 3.0
_MOST = 256
# What all unfinished questions and untaken answers may have together; a question is a few kilobytes.
_MOST_BYTES = 64 << 20


@dataclass(slots=True, eq=False)
class Connection:
    """One client: what it has sent so far, or what it has still to take."""

    socket: socket.socket
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    to_send: memoryview = field(default_factory=lambda: memoryview(b""))
    nonce: bytes = b""

    @property
    def size(self) -> int:
        """How many bytes it holds here."""
        return len(self.received) + len(self.to_send)


class Connections:
    """All of them, and the questions that are whole, oldest first."""

    def __init__(self, listening: socket.socket, secret: bytes = b"") -> None:
        """With a secret, whoever asks must know it; without, the kernel says who asks."""
        self._secret = secret
        self.selector = selectors.DefaultSelector()
        self._listening = listening
        self._open: dict[Connection, None] = {}
        self._asked: deque[Connection] = deque()
        listening.setblocking(False)
        self.selector.register(listening, selectors.EVENT_READ, self)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def are_waiting(self) -> bool:
        """Whether there are questions."""
        return bool(self._asked)

    def serve(self, key: selectors.SelectorKey) -> None:
        """Do what can be done without waiting, where something has happened."""
        if isinstance(key.data, Connection):
            self._send(key.data) if key.data.to_send else self._receive(key.data)
        else:
            self._accept()

    def next(self) -> tuple[Connection, list[bytes]] | None:
        """A question that somebody still waits for; None when there is none."""
        while self._asked:
            one = self._asked.popleft()
            if one in self._open and not _is_gone(one):
                with suppress(ValueError):
                    return one, self._parts(one)
            self._close(one)
        return None

    def _parts(self, one: Connection) -> list[bytes]:
        """Raises ValueError for a message that is malformed or from a stranger."""
        parts = frames.unpacked(one.received)
        if self._secret and not hmac.compare_digest(parts.pop(), proof(self._secret, b"client", one.nonce)):
            raise ValueError("the secret is not known")
        return parts

    def answer(self, one: Connection, parts: list[bytes]) -> None:
        """Send the answer, now or as the client takes it."""
        one.received = bytearray()
        one.to_send = memoryview(frames.packed(parts))
        one.deadline = time.monotonic() + LIMIT_S
        self._send(one)
        if one in self._open:
            self.selector.register(one.socket, selectors.EVENT_WRITE, one)

    def expire(self) -> None:
        """Close what has taken too long."""
        now = time.monotonic()
        waiting = set(self._asked)
        for one in [each for each in self._open if each.deadline < now and each not in waiting]:
            self._close(one)

    def _accept(self) -> None:
        """Take in all who are there: who waits outside cannot know that somebody is at work."""
        for _ in range(_MOST):
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            if self._secret or is_same_user(accepted):
                self._take_in(accepted)
            else:
                accepted.close()

    def _take_in(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        if len(self._open) >= _MOST:
            self._close(next(iter(self._open)))
        one = Connection(accepted, time.monotonic() + LIMIT_S)
        self._open[one] = None
        self.selector.register(accepted, selectors.EVENT_READ, one)
        self._receive(one)

    def _receive(self, one: Connection) -> None:
        try:
            data = one.socket.recv(1 << 16)
            one.received += data
            lacking = frames.missing(one.received, frames.MAX_REQUEST)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._close(one)
            return
        if not data or lacking < 0 or sum(each.size for each in self._open) > _MOST_BYTES:
            self._close(one)
        elif not lacking and self._secret and not one.nonce:
            self._greet(one)
        elif not lacking:
            self.selector.unregister(one.socket)
            self._queue(one)

    def _greet(self, one: Connection) -> None:
        """Show the client that this is the server it looks for."""
        try:
            (one.nonce,) = frames.unpacked(one.received)
            one.received = bytearray()
            one.socket.send(proof(self._secret, b"server", one.nonce))
        except (OSError, ValueError):
            self._close(one)

    def _queue(self, one: Connection) -> None:
        """Whoever is not the next is told so, and waits longer."""
        if self._asked:
            with suppress(OSError):
                one.socket.send(frames.QUEUED)
        self._asked.append(one)

    def _send(self, one: Connection) -> None:
        try:
            one.to_send = one.to_send[one.socket.send(one.to_send) :]
        except BlockingIOError:
            return
        except OSError:
            self._close(one)
            return
        if not one.to_send:
            self._close(one)

    def _close(self, one: Connection) -> None:
        """Let the client go; one that was closed to make room may still be among those that asked."""
        if one not in self._open:
            return
        del self._open[one]
        if one.socket.fileno() in self.selector.get_map():
            self.selector.unregister(one.socket)
        one.socket.close()


def _is_gone(one: Connection) -> bool:
    """Whether the client has stopped waiting: it answers itself by now."""
    try:
        return not one.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
