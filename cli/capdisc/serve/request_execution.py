"""One request at a time, run as any command line: in the client's folder and environment, with
streams of its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path

from capdisc.args import command_table
from capdisc.context.open_index import IndexAccess
from capdisc.serve import request
from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.remote.remote_types import SharedIndex
from capdisc_indexer.store import generation
from capdisc_indexer.store.builders import check_builder
from capdisc_indexer.store.snapshot import Index

# What stays open from one request to the next: indexes of the newest generation, and encoders.

# One for the workspace, and a few that command lines name: each is some megabytes.
_MAX_INDEXES = 4
FileStamps = tuple[tuple[int, int, int], ...]


class DeclinedError(SystemExit):
    """The client is to answer this itself. A SystemExit, because that is what nothing on the way
    out catches.
    """


@frozen
class _CachedIndex:
    """An open index, what CURRENT said when it was opened, and its files as they were then."""

    pointer: str
    paths: tuple[str, ...]
    stamps: FileStamps
    index: Index


class IndexCache:
    """The open indexes and encoders of one process, which uses one at a time."""

    def __init__(self) -> None:
        self._indexes: dict[Path, _CachedIndex] = {}
        self._encoders: dict[str, Encoder] = {}

    @property
    def access(self) -> IndexAccess:
        """How commands reach this cache."""
        return IndexAccess(open=self.index, load_encoder=self.encoder, sync_copy=self.decline_sync)

    @contextmanager
    def index(self, index_dir: Path, builder_id: str | None) -> Iterator[Index]:
        """The published generation, open. Raises what opening an Index does."""
        cached = self._open_newest(index_dir, builder_id)
        try:
            yield cached.index
        except (CapdiscError, OSError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # As `with Index(…)` would: what nobody expected may have its reason in files that have
            # changed.
            del self._indexes[index_dir]
            cached.index.__exit__(type(error), error, error.__traceback__)
            raise

    def _open_newest(self, index_dir: Path, builder_id: str | None) -> _CachedIndex:
        pointer, before = generation.read_pointer(index_dir), self._indexes.pop(index_dir, None)
        if before is not None and (
            before.pointer != pointer or before.stamps != _file_stamps(before.paths)
        ):
            before.index.close()
            before = None
        if before is None:
            while len(self._indexes) >= _MAX_INDEXES:
                self._indexes.pop(next(iter(self._indexes))).index.close()
            index = Index(index_dir, builder_id)
            paths = tuple(
                f"{index.folder}/{name}" for name in ("MANIFEST", *index.generation.files)
            )
            before = _CachedIndex(pointer, paths, _file_stamps(paths), index)
        self._indexes[index_dir] = before
        # It may have been opened for who believes it, or before its user believed it no longer.
        check_builder(index_dir, before.index.generation.builder_id, builder_id)
        return before

    def decline_sync(self, shared: SharedIndex) -> tuple[str, ...]:
        """Raises DeclinedError: the credentials for an index on a network stay with the client."""
        raise DeclinedError(f"{shared.url} is not looked after here")

    def evict_stale(self) -> None:
        """Close what is not published any more: a generation stays on disk as long as it is
        open.
        """
        for index_dir, cached in list(self._indexes.items()):
            if generation.read_pointer(index_dir) != cached.pointer:
                self._indexes.pop(index_dir).index.close()

    def encoder(self, name: str) -> Encoder:
        """The encoder, if it takes no time. Raises DeclinedError for one that would hold everybody
        up.
        """
        if name in self._encoders or _loads_fast(name):
            return self._encoders.get(name) or encoders.load_encoder(name)
        raise DeclinedError("the encoder is not loaded")

    def load_encoder(self, name: str) -> None:
        """Keep this encoder, however long it takes. Raises EncoderError."""
        if not _loads_fast(name):
            self._encoders[name] = encoders.load_encoder(name)


def _loads_fast(name: str) -> bool:
    return name == encoders.SHIPPED_ENCODER or (Path(name) / "table.safetensors").is_file()


def _file_stamps(paths: Sequence[str]) -> FileStamps:
    """What changes when somebody writes into the generation, which nobody should: then it is
    looked at anew.
    """
    return tuple(map(_file_stamp, paths))


def _file_stamp(path: str) -> tuple[int, int, int]:
    try:
        file_stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return (0, 0, 0)
    return file_stat.st_ino, file_stat.st_mtime_ns, file_stat.st_size


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
        return [request.STDIN]
    except DeclinedError as error:
        return [request.DECLINED, str(error).encode()]
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    if sum(len(text) for _, text in pieces) > request.MAX_ANSWER - 64 * len(pieces) - 64:
        return [request.DECLINED, b"the answer is too long"]
    return [request.ANSWERED, b"%d" % code, *(b"%d" % number + text for number, text in pieces)]


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
