"""One request at a time, run as any command line: in the client's folder and environment, with
streams of its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from io import BytesIO, TextIOWrapper

from capdisc.args import command_table
from capdisc.serve import frames, request
from capdisc.serve.index_cache import DeclinedError
from capdisc_indexer.model.frozen import frozen


class _StdinWantedError(SystemExit):
    """The command reads stdin, which the client has not read yet. Nothing has been done before
    that.
    """


class _UnreadStdin(BytesIO):
    """Stdin that nobody has read yet."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def read(self, size: int | None = -1, /) -> bytes:
        raise _StdinWantedError


class _CapturedStream:
    """Stdout or stderr: what is written goes to the list of both, in its order."""

    encoding, errors = "utf-8", "surrogateescape"

    def __init__(self, number: int, pieces: list[tuple[int, bytes]], is_terminal: bool) -> None:
        self._number, self._pieces, self._is_terminal = number, pieces, is_terminal

    @property
    def buffer(self) -> _CapturedStream:
        return self

    def write(self, data: bytes | str) -> int:
        text = data.encode(self.encoding, self.errors) if isinstance(data, str) else data
        self._pieces.append((self._number, bytes(text)))
        return len(data)

    def flush(self) -> None:
        """All is handed over at once, at the end."""

    def isatty(self) -> bool:
        return self._is_terminal

    def fileno(self) -> int:
        raise OSError("there is no file")


@frozen(kw_only=True)
class ServerRequest:
    """A request as it was sent. `stdin` is None as long as the client has not read it."""

    words: list[str]
    environ: dict[bytes, bytes]
    folder: bytes
    place: bytes
    terminals: tuple[bool, bool, bool]
    columns: int
    stdin: bytes | None


def decode_request(parts: Sequence[bytes]) -> ServerRequest:
    """The request with these parts. Raises ValueError for any that no client of this version
    sends.
    """
    if len(parts) != request.PART_COUNT or parts[0] != request.identity():
        raise ValueError("it is of another version")
    _, words, environ, folder, folder_id, terminals, stdin = parts
    # A process may be given a variable without a name, which can be neither set nor asked for.
    pairs = (
        variable.partition(b"=")
        for variable in environ.split(b"\0")
        if variable and variable[:1] != b"="
    )
    return ServerRequest(
        words=[os.fsdecode(word) for word in words.split(b"\0")],
        # Of a variable whose value is kept back, what is known is that there is one.
        environ={name: value if sign else b"set" for name, sign, value in pairs},
        folder=folder,
        place=folder_id,
        terminals=(terminals[:1] == b"1", terminals[1:2] == b"1", terminals[2:3] == b"1"),
        columns=int(terminals[3:]),
        stdin=stdin[len(request.READ) :] if stdin else None,
    )


def build_own_request(words: list[str]) -> ServerRequest:
    """A request as a client in this process's place would send it."""
    return decode_request([*request.encode_request(words), request.READ])


def answer_request(client_request: ServerRequest) -> list[bytes]:
    """The parts of the answer. Whatever the command changed in the process is set anew for the
    next one.
    """
    pieces: list[tuple[int, bytes]] = []
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        _enter_environment(client_request)
        sys.stdin = _open_stdin(client_request)
        sys.stdout, sys.stderr = (
            _CapturedStream(fd, pieces, client_request.terminals[fd]) for fd in (1, 2)
        )
        code = command_table.run_command(client_request.words)
    except _StdinWantedError:
        return [frames.STDIN]
    except DeclinedError as error:
        return [frames.DECLINED, str(error).encode()]
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    if sum(len(text) for _, text in pieces) > frames.MAX_ANSWER - 64 * len(pieces) - 64:
        return [frames.DECLINED, b"the answer is too long"]
    return [frames.ANSWERED, b"%d" % code, *(b"%d" % number + text for number, text in pieces)]


def _enter_environment(client_request: ServerRequest) -> None:
    """Raises DeclinedError when the client's folder is not what it is here."""
    try:
        os.chdir(client_request.folder)
        folder_stat = os.stat(".")  # noqa: PTH116
    except OSError:
        raise DeclinedError("the current folder cannot be reached") from None
    if b"%d:%d" % (folder_stat.st_dev, folder_stat.st_ino) != client_request.place:
        raise DeclinedError("the current folder is another one here")
    environ = client_request.environ
    if client_request.columns and not environ.get(b"COLUMNS", b"").strip(b"0").isdigit():
        environ = environ | {b"COLUMNS": b"%d" % client_request.columns}
    if dict(os.environb) != environ:
        os.environb.clear()
        os.environb.update(environ)
        time.tzset()
    sys.argv[1:] = client_request.words


def _open_stdin(client_request: ServerRequest) -> TextIOWrapper:
    if client_request.stdin is None:
        return TextIOWrapper(_UnreadStdin(client_request.terminals[0]))
    return request.replay_stdin(client_request.stdin, client_request.terminals[0])
