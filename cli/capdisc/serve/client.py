"""Asks the server of the workspace, if one runs, before a command line imports anything else.

A failure is no error: the command then runs in this process, as it would without a server. Nothing
is imported before it is needed, and then little: the module `socket` alone would cost as much as
everything here.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` makes enums of these, at twice the cost
import _socket
import os
import sys

from capdisc.serve import protocol

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from capdisc_indexer.model.errors import CapdiscError

_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
_MAX_WAIT_S = 3.0
_MARGIN_BYTES = 1 << 10
# An answer from a queue that moves comes sooner than from one more process beside those that wait.
_QUEUED_S = 2.0


def print_answer(address: str, words: Sequence[str], patience_s: float) -> int:
    """Print the server's answer and return its exit code. Raises NoServerError where the server
    does not answer within `patience_s` seconds, or declines. Signals end this as any command.
    """
    handlers = {number: _signal.getsignal(number) for number in _SIGNALS}
    replaced = [
        entry
        for entry in handlers.items()
        if entry[1] in (_signal.SIG_DFL, _signal.default_int_handler)
    ]
    for number, _ in replaced:
        _signal.signal(number, _exit_on_signal)
    try:
        code, *pieces = _request_answer(address, words, patience_s)
        if _may_fill_screen(pieces):
            from capdisc.output import pager

            pager.print_answer_pieces(words, pieces)
            return int(code)
        return _print_streams(code, *pieces)
    finally:
        for number, handler in replaced:
            _signal.signal(number, handler)


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Exit at once, since there is nothing to release."""
    os._exit(128 + number)


def _request_answer(address: str, words: Sequence[str], patience_s: float) -> list[bytes]:
    try:
        parts = protocol.encode_request(words)
        kind, *answer_parts = _exchange(address, [*parts, protocol.UNREAD], patience_s)
        if kind == protocol.STDIN:
            kind, *answer_parts = _exchange(address, [*parts, _read_stdin()], patience_s)
    except TimeoutError:
        raise NoServerError(f"there was no answer within {patience_s:g} s") from None
    except (OSError, ValueError) as error:
        raise NoServerError(f"it cannot be asked ({error})") from None
    if kind != protocol.ANSWERED:
        raise NoServerError(b" ".join(answer_parts).decode("utf-8", "replace"))
    return answer_parts


def _may_fill_screen(pieces: Sequence[bytes]) -> bool:
    """Whether the answer goes to a terminal and may be longer than it: every character of it is a
    byte at least.
    """
    if not os.isatty(1):
        return False
    columns, rows = os.get_terminal_size(1)
    row_count = sum(piece.count(b"\n") + len(piece) // (columns or 80) for piece in pieces)
    return row_count >= (rows or 24)


def _print_streams(code: bytes, *pieces: bytes) -> int:
    """Write each piece to its stream and return the exit code."""
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
    """The exit code of an error on stdout, as without a server."""
    from capdisc.output import console, failures

    return failures.handle_error(
        console.ReaderGoneError() if isinstance(error, BrokenPipeError) else error
    )


def _read_stdin() -> bytes:
    """The part for stdin. `sys.stdin` gives the same data again, for a command that runs here
    after all.
    """
    buffer = sys.stdin.buffer
    data = buffer.read(protocol.MAX_REQUEST)
    sys.stdin = protocol.replay_stdin(data, buffer.isatty(), buffer)
    return protocol.READ + data


def _exchange(address: str, parts: Sequence[bytes], patience_s: float) -> list[bytes]:
    if sum(map(len, parts)) > protocol.MAX_REQUEST - _MARGIN_BYTES:
        raise NoServerError("the request is too long")
    connection, proof = _connect(address, patience_s)
    try:
        connection.sendall(protocol.encode_parts([*parts, *proof]))
        _wait_for_answer(connection, patience_s)
        parts = _receive_parts(connection.recv)
        if not parts:  # it is queued
            connection.settimeout(max(patience_s, _QUEUED_S))
            parts = _receive_parts(connection.recv)
        return parts
    finally:
        connection.close()


def _connect(address: str, patience_s: float) -> tuple[_socket.socket, list[bytes]]:
    """A connection, and the proof of the secret where the kernel does not say who asks."""
    if not address.endswith(".sock"):
        from capdisc.serve import claim

        connection, proof = claim.connect_loopback(address, patience_s)
        return connection, [proof]
    bare = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    bare.settimeout(patience_s)
    bare.connect(address)
    return bare, []


def _wait_for_answer(connection: _socket.socket, patience_s: float) -> None:
    """Wait for the first byte of the answer. On a busy machine the wait is longer, as running the
    command here would take longer, too: else many clients at once would all run their commands,
    and keep the server from running.
    """
    try:
        connection.recv(1, _socket.MSG_PEEK)
    except TimeoutError:
        if (more_s := min(patience_s * (_runnable_per_cpu() - 1), _MAX_WAIT_S)) <= 0:
            raise
        connection.settimeout(more_s)
        connection.recv(1, _socket.MSG_PEEK)


def _runnable_per_cpu() -> float:
    """How many processes want to run for each processor; 0 where the system does not say."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:  # noqa: PTH123
            return int(file.read().split()[3].split(b"/")[0]) / (os.cpu_count() or 1)
    except (OSError, ValueError, IndexError):
        return 0.0


def _receive_parts(recv: Callable[[int], bytes]) -> list[bytes]:
    """The parts of one message. Nothing of the next message is read."""
    data = bytearray()
    while lacking := protocol.missing_bytes(data, protocol.MAX_ANSWER):
        if not (chunk := recv(lacking)):
            raise ValueError("it ended in the middle of an answer")
        data += chunk
    return protocol.decode_parts(data)


# Another name of a command, which does not need a line of its own in the overview.
COMMAND_ALIASES = {"find": "search"}
# Commands that only read; and options with which they write, or may take long.
READ_ONLY_COMMANDS = frozenset(("search", "render", "show", "list", "tools", "graph", "status"))
_COLD_OPTIONS = ("--session", "--into", "--trace", "--network", "--open", "--help", "-h")
# Files that differ between processes: <(command) is /dev/fd/63.
_PROCESS_FILES = ("/dev/", "/proc/")
SERVER_MODES = ("auto", "off", "require")
# A query takes the server some milliseconds. A server that hangs may cost a command line 0.3 s in
# all: twice a cold answer, and enough to wake a process on a busy machine.
ANSWER_TIMEOUT_S = 0.25
_REQUIRED_TIMEOUT_S = 10.0


class NoServerError(Exception):
    """No server answers this command line; the text says why."""


def run_on_server() -> int | None:
    """Print a server's answer to this process's command line and return its exit code; None where
    the command has to run here.

    `--server MODE` is removed from `sys.argv`, since no command knows it.
    """
    sys.argv[1:2] = [COMMAND_ALIASES.get(word, word) for word in sys.argv[1:2]]
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
        is_error = mode == "require" and str(error) != protocol.FILES_CHANGED
        return _no_answer(str(error)) if is_error else None


def _server_mode(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The mode by option or by CAPDISC_SERVER, and the command line without the option."""
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
    """Print the server's answer and return its exit code. Raises NoServerError where there is
    none.
    """
    if any(
        word.startswith(_COLD_OPTIONS) or any(part in word for part in _PROCESS_FILES)
        for word in words
    ):
        raise NoServerError("this is never asked of one")
    if None in (sys.stdin, sys.stdout, sys.stderr):
        raise NoServerError("a standard stream is closed")
    from capdisc.serve import protocol

    address = protocol.find_address(os.environ)
    if not address:
        folder = os.path.dirname(protocol.socket_path(os.environ))  # noqa: PTH120
        raise NoServerError(protocol.path_flaw(folder) or "none runs for this workspace")

    return print_answer(address, words, patience_s)


def fetch_answer(words: Sequence[str], stdin: bytes, patience_s: float) -> bytes:
    """What the server prints on stdout for this command line with this stdin. Raises NoServerError
    where none answers, or the answer is an error, which the command then meets here, too.
    """
    from capdisc.serve import protocol

    if os.environ.get("CAPDISC_SERVER") == "off":
        raise NoServerError("it is not to be asked")
    address = protocol.find_address(os.environ)
    if not address:
        raise NoServerError("none runs for this workspace")
    try:
        parts = [*protocol.encode_request(words), protocol.READ + stdin]
        kind, *answer_parts = _exchange(address, parts, patience_s)
    except (OSError, ValueError) as error:
        raise NoServerError(f"it cannot be asked ({error})") from None
    if kind != protocol.ANSWERED or answer_parts[0] != b"0":
        raise NoServerError("it has no answer")
    return b"".join(piece[1:] for piece in answer_parts[1:] if piece[:1] == b"1")


def _unknown_mode(mode: str) -> int:
    from capdisc_indexer.text.similar_names import unknown_choice

    return _print_error(unknown_choice("--server", mode, SERVER_MODES))


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
    return failures.handle_error(error, as_json="--json" in sys.argv)
