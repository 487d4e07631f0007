"""The first thing a command line does: where a server is there, and may answer, it does, and
nothing else is imported.

Whatever stands in the way is no error: the command then runs here, as it would without a server.
Nothing is imported before it is needed, and then little: the module `socket` alone would cost as
much as all of this.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` makes enums of these, at twice the cost
import _socket
import os
import sys

from capdisc.serve import request

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from capdisc_indexer.model.errors import CapdiscError

# One question to a server and its answer, over the bare `_socket`. Signals end it as they end any
# command.

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
        if kind == request.STDIN:
            kind, *answer_parts = _exchange(address, [*parts, _read_stdin()], patience_s)
    except TimeoutError:
        raise NoServerError(f"there was no answer within {patience_s:g} s") from None
    except (OSError, ValueError) as error:
        raise NoServerError(f"it cannot be asked ({error})") from None
    if kind != request.ANSWERED:
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
        console.ReaderGoneError() if isinstance(error, BrokenPipeError) else error
    )


def _read_stdin() -> bytes:
    """What stdin holds, which is kept for the command in case that it runs here after all."""
    buffer = sys.stdin.buffer
    data = buffer.read(request.MAX_REQUEST)
    sys.stdin = request.replay_stdin(data, buffer.isatty(), buffer)
    return request.READ + data


def _exchange(address: str, parts: Sequence[bytes], patience_s: float) -> list[bytes]:
    if sum(map(len, parts)) > request.MAX_REQUEST - _MARGIN_BYTES:
        raise NoServerError("the request is too long")
    connection, proof = _connect(address, patience_s)
    try:
        connection.sendall(request.encode_parts([*parts, *proof]))
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
    while lacking := request.missing_bytes(data, request.MAX_ANSWER):
        if not (chunk := recv(lacking)):
            raise ValueError("it ended in the middle of an answer")
        data += chunk
    return request.decode_parts(data)


# Commands that only read; and options with which they do more, or wait for what may take long.
READ_ONLY_COMMANDS = frozenset(("search", "render", "show", "list", "tools", "graph", "status"))
_COLD_OPTIONS = ("--session", "--network", "--help", "-h")
# Files that are others in another process: <(command) is /dev/fd/63.
_PROCESS_FILES = ("/dev/", "/proc/")
SERVER_MODES = ("auto", "off", "require")
# A query takes the server some milliseconds. One that hangs may cost a command line 0.3 s more
# than without it, of which asking takes a part; that is twice a cold answer, and enough for a
# process to be woken on a busy machine.
ANSWER_TIMEOUT_S = 0.25
_REQUIRED_TIMEOUT_S = 10.0


class NoServerError(Exception):
    """No server answers this; the text says why."""


def run_on_server() -> int | None:
    """The exit code of this process's command line, once a server's answer is printed; None where
    it is to run here.

    `--server WISH` is taken out of `sys.argv`, since nothing else knows of it.
    """
    if len(sys.argv) < 2 or sys.argv[1] not in READ_ONLY_COMMANDS:
        return None
    mode, sys.argv[1:] = _server_mode(sys.argv[1:])
    if mode == "off":
        return None
    if mode not in SERVER_MODES:
        return _unknown_mode(mode)
    try:
        return _print_server_answer(
            sys.argv[1:], ANSWER_TIMEOUT_S if mode == "auto" else _REQUIRED_TIMEOUT_S
        )
    except NoServerError as error:
        return _no_answer(str(error)) if mode == "require" else None


def _server_mode(argv: Sequence[str]) -> tuple[str, list[str]]:
    """What is wanted by option, or else by CAPDISC_SERVER, and the command line without the
    option.
    """
    mode, words = os.environ.get("CAPDISC_SERVER") or "auto", list(argv)
    end = words.index("--") if "--" in words else len(words)
    for position in range(end - 1, 0, -1):
        if words[position] == "--server":
            mode = words[position + 1] if position + 1 < end else ""
            del words[position : position + 2]
        elif words[position].startswith("--server="):
            mode = words.pop(position)[len("--server=") :]
    return mode, words


def _print_server_answer(words: Sequence[str], patience_s: float) -> int:
    """The exit code, once the server's answer is printed. Raises ColdError where there is none."""
    if any(
        word.startswith(_COLD_OPTIONS) or any(part in word for part in _PROCESS_FILES)
        for word in words
    ):
        raise NoServerError("this is never asked of one")
    if None in (sys.stdin, sys.stdout, sys.stderr):
        raise NoServerError("a standard stream is closed")
    from capdisc.serve import server_address

    address = server_address.find_address(os.environ)
    if not address:
        folder = os.path.dirname(server_address.socket_path(os.environ))  # noqa: PTH120
        raise NoServerError(server_address.path_flaw(folder) or "none runs for this workspace")

    return print_answer(address, words, patience_s)


def _unknown_mode(mode: str) -> int:
    from capdisc_indexer.model.errors import UsageError

    return _print_error(
        UsageError(f"unknown --server {mode!r}", f"one of: {', '.join(SERVER_MODES)}")
    )


def _no_answer(why: str) -> int:
    from capdisc_indexer.model.errors import BusyError

    return _print_error(
        BusyError(
            f"no server answers: {why}", "start one: capdisc serve; or leave out --server require"
        )
    )


def _print_error(error: CapdiscError) -> int:
    from capdisc.output import failures, standard_streams

    standard_streams.reopen_closed()
    return failures.handle_error(error)
