"""One question to a server and its answer, over the bare `_socket`. Signals end it as they end any command."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` makes enums of these, at twice the cost
import _socket
import os
import sys

from capdisc.serve import frames, request
from capdisc.serve.client import ColdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


def printed(address: str, words: Sequence[str], patience_s: float) -> int:
    """The exit code of the server's answer, once that is printed. Raises ColdError where the server has not answered
    within `patience_s` seconds, or will not."""
    handlers = {number: _signal.getsignal(number) for number in _SIGNALS}
    ours = [each for each in handlers.items() if each[1] in (_signal.SIG_DFL, _signal.default_int_handler)]
    for number, _ in ours:
        _signal.signal(number, _leave)
    try:
        return _print(*_answer(address, words, patience_s))
    finally:
        for number, handler in ours:
            _signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """Nothing is held that would have to be let go."""
    os._exit(128 + number)


def _answer(address: str, words: Sequence[str], patience_s: float) -> list[bytes]:
    try:
        parts = request.parts(words)
    except OSError as error:
        raise ColdError(f"where this runs cannot be told ({error})") from None
    kind, *rest = _exchanged(address, [*parts, request.UNREAD], patience_s)
    if kind == frames.STDIN:
        kind, *rest = _exchanged(address, [*parts, _stdin()], patience_s)
    if kind != frames.ANSWERED:
        raise ColdError(b" ".join(rest).decode("utf-8", "replace"))
    return rest


def _print(code: bytes, *pieces: bytes) -> int:
    """The exit code, once each piece is written to its stream."""
    for piece in pieces:
        stream, left = int(piece[:1]), memoryview(piece)[1:]
        try:
            while left:
                left = left[os.write(stream, left) :]
        except OSError as error:
            if stream == 1:
                return _untaken(error)
    return int(code)


def _untaken(error: OSError) -> int:
    """Stdout takes no more: that ends as it does without a server."""
    from capdisc import failures, output

    return failures.answered(output.ReaderGoneError() if isinstance(error, BrokenPipeError) else error, None)


def _stdin() -> bytes:
    """All of stdin, which is kept for the command in case that it runs here after all."""
    data = sys.stdin.buffer.read()
    sys.stdin = request.kept(data, sys.stdin.isatty())
    return request.READ + data


def _exchanged(address: str, parts: Sequence[bytes], patience_s: float) -> list[bytes]:
    message = frames.packed(parts)
    if len(message) > frames.MAX_REQUEST:
        raise ColdError("the request is too long")
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(patience_s)
        connection.connect(address)
        connection.sendall(message)
        return _received(connection.recv)
    except TimeoutError:
        raise ColdError(f"there was no answer within {patience_s:g} s") from None
    except (OSError, ValueError) as error:
        raise ColdError(f"it cannot be asked ({error})") from None
    finally:
        connection.close()


def _received(recv: Callable[[int], bytes]) -> list[bytes]:
    data = bytearray()
    while lacking := frames.missing(data, frames.MAX_ANSWER):
        if not (more := recv(max(lacking, 1 << 16))):
            raise ValueError("it ended in the middle of an answer")
        data += more
    return frames.unpacked(data)
