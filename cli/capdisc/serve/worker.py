"""The process that answers clients. It may die or be killed at any time, and another takes its
place.
"""

from __future__ import annotations

import gc
import hmac
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from capdisc.context import open_index, surroundings
from capdisc.serve import claim, protocol, request_execution
from capdisc.serve.claim import sign_nonce
from capdisc.serve.request_execution import IndexCache
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.store.stamp_watch import max_watched_folders

# The user at the other end of a connection, by what the kernel says.
#
# FreeBSD and macOS: getsockopt(SOL_LOCAL, LOCAL_PEERCRED) gives a struct xucred, which starts with
# version and user.
_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76


def is_same_user(connection: socket.socket) -> bool:
    """Whether the other end belongs to this user. The mode of the folder guarantees that already,
    but not on every system.
    """
    try:
        return _peer_uid(connection) == os.geteuid()
    except OSError:
        return False


def _peer_uid(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        _, user, _ = struct.unpack(
            "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        )
    else:
        _, user = struct.unpack(
            "2I", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)[:8]
        )
    return int(user)


# Clients wait a third of a second. One that needs longer to send its question, or to take its
# answer, is closed.
CLIENT_TIMEOUT_S = 3.0
_MAX_CONNECTIONS = 256
# The most that all unfinished questions and answers take together; a question has a few kilobytes.
_MAX_BUFFERED_BYTES = 64 << 20


@dataclass(slots=True, eq=False)
class Connection:
    """One client: what it has sent so far, or what it has not read yet of its answer."""

    socket: socket.socket
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    to_send: memoryview = field(default_factory=lambda: memoryview(b""))
    nonce: bytes = b""

    @property
    def size(self) -> int:
        """How many bytes are in memory for it."""
        return len(self.received) + len(self.to_send)


class Connections:
    """All connections, in one thread, and the complete questions, oldest first. However idle, slow
    or wrong a client is, it costs a bounded amount.
    """

    def __init__(self, listening: socket.socket, secret: bytes = b"") -> None:
        """With a secret, clients must prove that they know it; without, the kernel must say that
        they are this user's.
        """
        self._secret = secret
        self.selector = selectors.DefaultSelector()
        self._listening = listening
        self._open: dict[Connection, None] = {}
        self._pending: deque[Connection] = deque()
        listening.setblocking(False)
        self.selector.register(listening, selectors.EVENT_READ, self)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def has_pending(self) -> bool:
        """Whether questions are waiting."""
        return bool(self._pending)

    def serve(self, key: selectors.SelectorKey) -> None:
        """Accept, read or write as far as that is possible without waiting."""
        if isinstance(key.data, Connection):
            self._send(key.data) if key.data.to_send else self._receive(key.data)
        else:
            self._accept()

    def next(self) -> tuple[Connection, list[bytes]] | None:
        """The oldest question whose client still waits; None where there is none."""
        while self._pending:
            connection = self._pending.popleft()
            if connection in self._open and not _is_gone(connection):
                with suppress(ValueError):
                    return connection, self._parts(connection)
            self._close(connection)
        return None

    def _parts(self, connection: Connection) -> list[bytes]:
        """Raises ValueError for a message that is malformed or from a stranger."""
        parts = protocol.decode_parts(connection.received)
        if self._secret and not hmac.compare_digest(
            parts.pop(), sign_nonce(self._secret, b"client", connection.nonce)
        ):
            raise ValueError("the secret is not known")
        return parts

    def answer(self, connection: Connection, parts: list[bytes]) -> None:
        """Send the answer, now or as the client reads it."""
        connection.received = bytearray()
        connection.to_send = memoryview(protocol.encode_parts(parts))
        connection.deadline = time.monotonic() + CLIENT_TIMEOUT_S
        self._send(connection)
        if connection in self._open:
            self.selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def expire(self) -> None:
        """Close the connections that are past their deadline."""
        now = time.monotonic()
        waiting = set(self._pending)
        for connection in [
            connection
            for connection in self._open
            if connection.deadline < now and connection not in waiting
        ]:
            self._close(connection)

    def _accept(self) -> None:
        """Accept every client that waits: else it could not learn that its question is queued."""
        for _ in range(_MAX_CONNECTIONS):
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            if self._secret or is_same_user(accepted):
                self._add_connection(accepted)
            else:
                accepted.close()

    def _add_connection(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        if len(self._open) >= _MAX_CONNECTIONS:
            self._close(next(iter(self._open)))
        connection = Connection(accepted, time.monotonic() + CLIENT_TIMEOUT_S)
        self._open[connection] = None
        self.selector.register(accepted, selectors.EVENT_READ, connection)
        self._receive(connection)

    def _receive(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(1 << 16)
            connection.received += data
            lacking = protocol.missing_bytes(connection.received, protocol.MAX_REQUEST)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._close(connection)
            return
        if (
            not data
            or lacking < 0
            or sum(connection.size for connection in self._open) > _MAX_BUFFERED_BYTES
        ):
            self._close(connection)
        elif not lacking and self._secret and not connection.nonce:
            self._greet(connection)
        elif not lacking:
            self.selector.unregister(connection.socket)
            self._queue(connection)

    def _greet(self, connection: Connection) -> None:
        """Show the client that this is the server it looks for."""
        try:
            (connection.nonce,) = protocol.decode_parts(connection.received)
            connection.received = bytearray()
            connection.socket.send(sign_nonce(self._secret, b"server", connection.nonce))
        except (OSError, ValueError):
            self._close(connection)

    def _queue(self, connection: Connection) -> None:
        """Whoever is not the next is told so, and waits longer."""
        if self._pending:
            with suppress(OSError):
                connection.socket.send(protocol.QUEUED)
        self._pending.append(connection)

    def _send(self, connection: Connection) -> None:
        try:
            connection.to_send = connection.to_send[connection.socket.send(connection.to_send) :]
        except BlockingIOError:
            return
        except OSError:
            self._close(connection)
            return
        if not connection.to_send:
            self._close(connection)

    def _close(self, connection: Connection) -> None:
        """Close the connection. One that was closed to make room may still be in the queue."""
        if connection not in self._open:
            return
        del self._open[connection]
        if connection.socket.fileno() in self.selector.get_map():
            self.selector.unregister(connection.socket)
        connection.socket.close()


def _is_gone(connection: Connection) -> bool:
    """Whether the client has stopped waiting, and runs the command itself."""
    try:
        return not connection.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


# No client waits so long. The kernel's timer ends the process, since nothing else can end a native
# call that never returns.
_BUSY_S = 10.0
_PAUSE_S = 5.0
_SWEEP_S = 1.0
_WARMUP_COMMANDS = (
    ["search", "warm up"],
    ["render", "warm up"],
    ["list", "--categories"],
    ["status"],
)


def main() -> None:
    """Answer until no client has asked for long, or the supervisor is gone."""
    path, idle_s, processes = sys.argv[1], float(sys.argv[4]), int(sys.argv[5])
    listening, channel = int(sys.argv[2]), int(sys.argv[3])
    secret = claim.read_port_file(path)[1] if path.endswith(claim.SUFFIX) else b""
    # A terminal sends SIGINT to the worker, too, which ends when its channel is closed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in (listening, channel):
        os.set_inheritable(fd, False)
    cache = IndexCache(max_watched_folders(processes))
    surroundings.limit_malloc_arenas()
    with (
        socket.socket(fileno=listening) as served,
        socket.socket(fileno=channel) as starter,
        open_index.use_index_access(cache.access),
    ):
        _warm_up(cache)
        served.listen(128)
        starter.send(b"r")
        _serve_loop(Connections(served, secret), starter, cache, idle_s, Path(path))


def _warm_up(cache: IndexCache) -> None:
    """Open and import what requests are likely to need. Where that fails, the request will report
    it.
    """
    with suppress(CapdiscError):
        lazy_imports.numpy()
    with suppress(OSError):
        lazy_imports.inotify()
    with suppress(CapdiscError, OSError):
        runtime = surroundings.current_runtime()
        config = runtime.config()
        where = runtime.index_dir(None, config)
        with cache.index(
            where, runtime.builder_id(where, runtime.shared_index(None, config))
        ) as index:
            name = runtime.encoder_name(config["encoder"]) or index.generation.encoder
        if name:
            cache.load_encoder(name)
    for words in _WARMUP_COMMANDS:
        request_execution.answer_request(request_execution.build_own_request(words))
    gc.collect()
    gc.freeze()
    # A query makes 20,000 objects, hardly any of them in cycles.
    gc.set_threshold(50_000, 20, 100)


def _serve_loop(
    connections: Connections,
    starter: socket.socket,
    cache: IndexCache,
    idle_s: float,
    path: Path,
) -> None:
    connections.selector.register(starter, selectors.EVENT_READ)
    last_used = last_swept = time.monotonic()
    while not idle_s or time.monotonic() - last_used < idle_s:
        pause = CLIENT_TIMEOUT_S if len(connections) else min(_PAUSE_S, idle_s or _PAUSE_S)
        is_busy = connections.has_pending or cache.has_work
        events = connections.selector.select(0 if is_busy else pause)
        for key, _ in events:
            if key.fileobj is starter:
                return
            connections.serve(key)
        if question := connections.next():
            connections.answer(question[0], _answer_question(question[1]))
            last_used = time.monotonic()
        elif not events and cache.has_work:
            watched = cache.work_ahead()
            if not cache.has_work and (watched["folders"] or watched["problem"]):
                claim.write_watch_note(path, watched)
        if time.monotonic() - last_swept > _SWEEP_S:
            connections.expire()
            cache.evict_stale()
            if not connections.has_pending:
                cache.finish_tables()
            last_swept = time.monotonic()


def _answer_question(parts: list[bytes]) -> list[bytes]:
    signal.setitimer(signal.ITIMER_REAL, _BUSY_S)
    try:
        return request_execution.answer_request(request_execution.decode_request(parts))
    except ValueError as error:
        return [protocol.DECLINED, str(error).encode()]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
