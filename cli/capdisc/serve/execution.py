"""One request at a time, run as any command line: in the client's folder and environment, with streams of its own."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from io import BytesIO, TextIOWrapper

from capdisc import app
from capdisc.serve import frames, request
from capdisc.serve.held import DeclinedError
from capdisc_indexer.frozen import frozen


class _StdinWantedError(SystemExit):
    """The command reads stdin, which the client has not read yet. Nothing has been done before that."""


class _Unread(BytesIO):
    """Stdin that nobody has read yet."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def read(self, size: int | None = -1, /) -> bytes:
        raise _StdinWantedError


class _Printed:
    """Stdout or stderr: what is written goes to the list of both, in its order."""

    encoding, errors = "utf-8", "surrogateescape"

    def __init__(self, number: int, pieces: list[tuple[int, bytes]], is_terminal: bool) -> None:
        self._number, self._pieces, self._is_terminal = number, pieces, is_terminal

    @property
    def buffer(self) -> _Printed:
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
class Request:
    """A request as it was sent. `stdin` is None as long as the client has not read it."""

    words: list[str]
    environ: dict[bytes, bytes]
    folder: bytes
    place: bytes
    terminals: tuple[bool, bool, bool]
    columns: int
    stdin: bytes | None


def understood(parts: Sequence[bytes]) -> Request:
    """The request with these parts. Raises ValueError for any that no client of this version sends."""
    if len(parts) != request.PARTS or parts[0] != request.identity():
        raise ValueError("it is of another version")
    _, words, environ, folder, place, terminals, stdin = parts
    # A process may be given a variable without a name, which can be neither set nor asked for.
    pairs = (each.partition(b"=") for each in environ.split(b"\0") if each and each[:1] != b"=")
    return Request(
        words=[os.fsdecode(word) for word in words.split(b"\0")],
        # Of a variable whose value is kept back, what is known is that there is one.
        environ={name: value if sign else b"set" for name, sign, value in pairs},
        folder=folder,
        place=place,
        terminals=(terminals[:1] == b"1", terminals[1:2] == b"1", terminals[2:3] == b"1"),
        columns=int(terminals[3:]),
        stdin=stdin[len(request.READ) :] if stdin else None,
    )


def own(words: list[str]) -> Request:
    """A request as a client in this process's place would send it."""
    return understood([*request.parts(words), request.READ])


def answer(asked: Request) -> list[bytes]:
    """The parts of the answer. Whatever the command changed in the process is set anew for the next one."""
    pieces: list[tuple[int, bytes]] = []
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        _surround(asked)
        sys.stdin = _stdin(asked)
        sys.stdout, sys.stderr = (_Printed(each, pieces, asked.terminals[each]) for each in (1, 2))
        code = app.run(asked.words)
    except _StdinWantedError:
        return [frames.STDIN]
    except DeclinedError as error:
        return [frames.DECLINED, str(error).encode()]
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    if sum(len(text) for _, text in pieces) > frames.MAX_ANSWER - 64 * len(pieces) - 64:
        return [frames.DECLINED, b"the answer is too long"]
    return [frames.ANSWERED, b"%d" % code, *(b"%d" % number + text for number, text in pieces)]


def _surround(asked: Request) -> None:
    """Raises DeclinedError when the client's folder is not what it is here."""
    try:
        os.chdir(asked.folder)
        found = os.stat(".")  # noqa: PTH116
    except OSError:
        raise DeclinedError("the current folder cannot be reached") from None
    if b"%d:%d" % (found.st_dev, found.st_ino) != asked.place:
        raise DeclinedError("the current folder is another one here")
    environ = asked.environ
    if asked.columns and not environ.get(b"COLUMNS", b"").strip(b"0").isdigit():
        environ = environ | {b"COLUMNS": b"%d" % asked.columns}
    if dict(os.environb) != environ:
        os.environb.clear()
        os.environb.update(environ)
        time.tzset()
    sys.argv[1:] = asked.words


def _stdin(asked: Request) -> TextIOWrapper:
    if asked.stdin is None:
        return TextIOWrapper(_Unread(asked.terminals[0]))
    return request.kept(asked.stdin, asked.terminals[0])
