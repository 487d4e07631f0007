"""One question to a server and its answer, over the bare `_socket`. Signals end it as they end any
command.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` makes enums of these, at twice the cost
import _socket
import os
import sys

from capdisc.serve import frames, request
from capdisc.serve.client import NoServerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
_MAX_WAIT_S = 3.0
_MARGIN_BYTES = 1 << 10
# In a queue that moves, an answer is sooner there than by starting yet another process beside
# those that wait.
_QUEUED_S = 2.0


def print_answer(address: str, words: Sequence[str], patience_s: float) -> int:
    """The exit code of the server's answer, once that is printed. Raises ColdError where the
    server has not answered within `patience_s` seconds, or will not.
    """
    handlers = {number: _signal.getsignal(number) for number in _SIGNALS}
    ours = [
        entry
        for entry in handlers.items()
        if entry[1] in (_signal.SIG_DFL, _signal.default_int_handler)
    ]
    for number, _ in ours:
        _signal.signal(number, _exit_on_signal)
    try:
        return _print_streams(*_request_answer(address, words, patience_s))
    finally:
        for number, handler in ours:
            _signal.signal(number, handler)


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Nothing is held that would have to be let go."""
    os._exit(128 + number)


def _request_answer(address: str, words: Sequence[str], patience_s: float) -> list[bytes]:
    try:
        parts = request.encode_request(words)
        kind, *answer_parts = _exchange(address, [*parts, request.UNREAD], patience_s)
        if kind == frames.STDIN:
            kind, *answer_parts = _exchange(address, [*parts, _read_stdin()], patience_s)
    except TimeoutError:
        raise NoServerError(f"there was no answer within {patience_s:g} s") from None
    except (OSError, ValueError) as error:
        raise NoServerError(f"it cannot be asked ({error})") from None
    if kind != frames.ANSWERED:
        raise NoServerError(b" ".join(answer_parts).decode("utf-8", "replace"))
    return answer_parts


def _print_streams(code: bytes, *pieces: bytes) -> int:
    """The exit code, once each piece is written to its stream."""
    for piece in pieces:
        stream, left = int(piece[:1]), memoryview(piece)[1:]
        try:
            while left:
                left = left[os.write(stream, left) :]
        except OSError as error:
            if stream == 1:
                return _handle_write_error(error)
    return int(code)


def _handle_write_error(error: OSError) -> int:
    """Stdout takes no more: that ends as it does without a server."""
    from capdisc.output import console, failures

    return failures.handle_error(
        console.ReaderGoneError() if isinstance(error, BrokenPipeError) else error, None
    )


def _read_stdin() -> bytes:
    """What stdin holds, which is kept for the command in case that it runs here after all."""
    buffer = sys.stdin.buffer
    data = buffer.read(frames.MAX_REQUEST)
    sys.stdin = request.replay_stdin(data, buffer.isatty(), buffer)
    return request.READ + data


def _exchange(address: str, parts: Sequence[bytes], patience_s: float) -> list[bytes]:
    if sum(map(len, parts)) > frames.MAX_REQUEST - _MARGIN_BYTES:
        raise NoServerError("the request is too long")
    connection, proof = _connect(address, patience_s)
    try:
        connection.sendall(frames.encode_parts([*parts, *proof]))
        _wait_for_answer(connection, patience_s)
        parts = _receive_parts(connection.recv)
        if not parts:  # it is queued
            connection.settimeout(max(patience_s, _QUEUED_S))
            parts = _receive_parts(connection.recv)
        return parts
    finally:
        connection.close()


def _connect(address: str, patience_s: float) -> tuple[_socket.socket, list[bytes]]:
    """A connection, and what goes with the question where the kernel does not say who asks."""
    if not address.endswith(".sock"):
        from capdisc.serve import loopback

        connection, proof = loopback.connect_loopback(address, patience_s)
        return connection, [proof]
    bare = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    bare.settimeout(patience_s)
    bare.connect(address)
    return bare, []


def _wait_for_answer(connection: _socket.socket, patience_s: float) -> None:
    """Wait for the answer's first byte: where so much else wants to run that a cold answer would
    take several times as long too, longer. Else many clients at once would all run cold, and keep
    the server from running with that.
    """
    try:
        connection.recv(1, _socket.MSG_PEEK)
    except TimeoutError:
        if (more_s := min(patience_s * (_runnable_per_cpu() - 1), _MAX_WAIT_S)) <= 0:
            raise
        connection.settimeout(more_s)
        connection.recv(1, _socket.MSG_PEEK)


def _runnable_per_cpu() -> float:
    """How many processes want to run now, for each processor; 0 where the system does not tell."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:  # noqa: PTH123
            return int(file.read().split()[3].split(b"/")[0]) / (os.cpu_count() or 1)
    except (OSError, ValueError, IndexError):
        return 0.0


def _receive_parts(recv: Callable[[int], bytes]) -> list[bytes]:
    """The parts of one message. Of what follows a message without any, nothing is taken."""
    data = bytearray()
    while lacking := frames.missing_bytes(data, frames.MAX_ANSWER):
        if not (chunk := recv(lacking)):
            raise ValueError("it ended in the middle of an answer")
        data += chunk
    return frames.decode_parts(data)
