"""Runs a client's command line in the server, in the client's folder and environment and with
streams of its own; and keeps indexes and encoders open between requests.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path

from capdisc.args import command_table
from capdisc.context import surroundings, table_finisher
from capdisc.context.freshness import IndexPlace
from capdisc.context.open_index import IndexAccess, rank_anew
from capdisc.serve import protocol
from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Query, Ranking
from capdisc_indexer.remote import SharedIndex
from capdisc_indexer.retrieval.query_rules import IsAvailable
from capdisc_indexer.store import generation
from capdisc_indexer.store.folder_stamps import Look, look_at_disk
from capdisc_indexer.store.generation import check_builder
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.stamp_watch import StampWatch

# The index of the workspace, and a few that command lines name; each takes some megabytes.
_MAX_INDEXES = 4
# Some 50 kB each.
_MAX_RANKINGS = 64
# Clients may name as many as they like, one after the other.
_MAX_POINTERS = 64
# Inode, time of change and size of each file.
FileStamps = tuple[tuple[int, int, int], ...]


class DeclinedError(SystemExit):
    """The client has to run this command itself. A SystemExit, since nothing on the way catches
    that.
    """


@frozen
class _CachedIndex:
    """An open index, what its pointer CURRENT said when it was opened, and the stamps of its files
    then.
    """

    pointer: str
    paths: tuple[str, ...]
    stamps: FileStamps
    index: Index


# Folder of the index, texts, limit and mode.
_RankingKey = tuple[Path, tuple[str, ...], int, str]


@frozen
class _KeptRanking:
    """A ranking, with everything that it follows from and the key does not say."""

    index: Index
    encoder: Encoder | None
    query: Query
    availability: Sequence[tuple[CapabilityHeader, bool]]
    ranking: Ranking


class IndexCache:
    """The open indexes and encoders of one process, whose commands run one after the other. It
    watches so many folders for each index at most.
    """

    def __init__(self, max_folders: int = 0) -> None:
        self._watches: dict[Path, StampWatch] = {}
        self._rankings: dict[_RankingKey, _KeptRanking] = {}
        self._max_folders = max_folders
        self._indexes: dict[Path, _CachedIndex] = {}
        self._encoders: dict[str, Encoder] = {}
        # The pointers of indexes that files had changed under.
        self._declined: dict[Path, str] = {}
        # The pointers of indexes whose tables were looked at.
        self._finished: dict[Path, str] = {}

    @property
    def access(self) -> IndexAccess:
        """How commands reach this cache."""
        return IndexAccess(
            open=self.index,
            load_encoder=self.encoder,
            sync_copy=self.decline_sync,
            look=self.look,
            rank=self.rank,
            before_build=self.decline_build,
        )

    @contextmanager
    def index(self, index_dir: Path, builder_id: str | None) -> Iterator[Index]:
        """The open published generation. Raises what opening an Index does."""
        cached = self._open_newest(index_dir, builder_id)
        try:
            yield cached.index
        except (CapdiscError, OSError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # As `with Index(…)` does: the reason of an unexpected error may be files that changed.
            del self._indexes[index_dir]
            cached.index.__exit__(type(error), error, error.__traceback__)
            raise

    def _open_newest(self, index_dir: Path, builder_id: str | None) -> _CachedIndex:
        pointer, cached = generation.read_pointer(index_dir), self._indexes.pop(index_dir, None)
        if cached is not None and (
            cached.pointer != pointer or cached.stamps != _file_stamps(cached.paths)
        ):
            cached.index.close()
            cached = None
        if cached is None:
            self._rankings.clear()
            while len(self._indexes) >= _MAX_INDEXES:
                self._indexes.pop(next(iter(self._indexes))).index.close()
            index = Index(index_dir, builder_id)
            paths = tuple(
                f"{index.folder}/{name}" for name in ("MANIFEST", *index.generation.files)
            )
            cached = _CachedIndex(pointer, paths, _file_stamps(paths), index)
        self._indexes[index_dir] = cached
        # Trust in the index may have been revoked since it was opened.
        check_builder(index_dir, cached.index.generation.builder_id, builder_id)
        return cached

    def look(self, index_dir: Path, pointer: str) -> Look:
        """What changed on disk: nothing where the kernel says so, else by a look at all stamps."""
        watch = self._watches.get(index_dir)
        is_same = watch is not None and watch.is_of(pointer)
        if watch and is_same and (look := watch.look()):
            return look
        look = look_at_disk(index_dir, pointer)
        if not is_same or (watch and watch.has_ended and not watch.problem):
            self._drop_watch(index_dir)
            if look.is_known and not look.changed:
                self._watches[index_dir] = StampWatch(index_dir, pointer, self._max_folders)
        return look

    def rank(
        self,
        index: Index,
        query: Query,
        mode: str,
        encoder: Encoder | None,
        is_available: IsAvailable,
    ) -> Ranking:
        """The ranking of a query. The newest ones are kept: a client searches, renders what it
        found, and asks again. A kept one counts while the same capabilities are available.
        """
        key = (index.index_dir, query.texts, query.limit, mode)
        kept = self._rankings.pop(key, None)
        if (
            kept is None
            or kept.index is not index
            or kept.encoder is not encoder
            or kept.query != query
            or any(is_available(header) != is_so for header, is_so in kept.availability)
        ):
            availability: list[tuple[CapabilityHeader, bool]] = []

            def note_availability(header: CapabilityHeader) -> bool:
                availability.append((header, is_available(header)))
                return availability[-1][1]

            ranking = rank_anew(index, query, mode, encoder, note_availability)
            if index.table is not None:
                return ranking
            kept = _KeptRanking(index, encoder, query, availability, ranking)
        self._rankings[key] = kept
        while len(self._rankings) > _MAX_RANKINGS:
            del self._rankings[next(iter(self._rankings))]
        return kept.ranking

    def _drop_watch(self, index_dir: Path) -> None:
        if watch := self._watches.pop(index_dir, None):
            watch.close()

    @property
    def has_work(self) -> bool:
        """Whether `work_ahead` has something to do."""
        return any(watch.is_busy for watch in self._watches.values())

    def work_ahead(self) -> JsonObject:
        """Do a slice of what makes the next answers sooner, while nobody waits. Returns how changes
        of the newest index are noticed: how many folders are watched, and why none is.
        """
        for watch in self._watches.values():
            if watch.is_busy:
                watch.work()
                return {"folders": watch.folders, "problem": watch.problem or None}
        return {"folders": 0, "problem": None}

    def decline_sync(self, shared: SharedIndex) -> tuple[str, ...]:
        """Raises DeclinedError: the client alone has the credentials of an object store."""
        raise DeclinedError(f"{shared.url} is not looked after here")

    def decline_build(self, place: IndexPlace) -> None:
        """Raises DeclinedError: other clients would wait for the build, which is the client's. What
        it leaves out, since it is much, is taken in by a process in the background.
        """
        pointer = generation.read_pointer(place.index_dir)
        if pointer and self._declined.get(place.index_dir) == pointer:
            from capdisc.hook import background_build

            background_build.start_update(place, "serve")
        self._declined[place.index_dir] = pointer
        raise DeclinedError(protocol.FILES_CHANGED)

    def evict_stale(self) -> None:
        """Close generations that are not published any more: an open one stays on disk."""
        for index_dir, cached in list(self._indexes.items()):
            if generation.read_pointer(index_dir) != cached.pointer:
                self._indexes.pop(index_dir).index.close()
                self._rankings.clear()
        for index_dir in self._watches.keys() - self._indexes.keys():
            self._drop_watch(index_dir)
        for pointers in (self._declined, self._finished):
            while len(pointers) > _MAX_POINTERS:
                del pointers[next(iter(pointers))]

    def finish_tables(self) -> None:
        """Start to bring the LanceDB tables of the open indexes up to date, once for each
        generation; called while no client waits.
        """
        for index_dir, cached in self._indexes.items():
            if self._finished.get(index_dir) == cached.pointer:
                continue
            self._finished[index_dir] = cached.pointer
            with suppress(CapdiscError, OSError):
                config = surroundings.current_runtime().config()
                builder_id = cached.index.generation.builder_id
                if generation.read_pointer(index_dir) == cached.pointer:
                    table_finisher.start_finisher(config, index_dir, builder_id)

    def encoder(self, name: str) -> Encoder:
        """The encoder, where loading it takes no time. Raises DeclinedError for one that would
        keep other clients waiting.
        """
        if name in self._encoders or _loads_fast(name):
            return self._encoders.get(name) or encoders.load_encoder(name)
        raise DeclinedError("the encoder is not loaded")

    def load_encoder(self, name: str) -> None:
        """Load this encoder and keep it, however long that takes. Raises EncoderError."""
        if not _loads_fast(name):
            self._encoders[name] = encoders.load_encoder(name)


def _loads_fast(name: str) -> bool:
    return name == encoders.SHIPPED_ENCODER or (Path(name) / "table.safetensors").is_file()


def _file_stamps(paths: Sequence[str]) -> FileStamps:
    """The stamps by which a change to the files of a generation is seen, which nobody should
    change.
    """
    return tuple(map(_file_stamp, paths))


def _file_stamp(path: str) -> tuple[int, int, int]:
    try:
        file_stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return (0, 0, 0)
    return file_stat.st_ino, file_stat.st_mtime_ns, file_stat.st_size


class _StdinWantedError(SystemExit):
    """The command reads stdin, which the client has not sent yet. It has done nothing before
    that.
    """


class _UnreadStdin(BytesIO):
    """A stdin that the client has not read yet."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def read(self, size: int | None = -1, /) -> bytes:
        raise _StdinWantedError


class _CapturedStream:
    """Stdout or stderr: collects what is written in one list for both, in its order."""

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
        """Nothing to do: the client gets everything at the end."""

    def isatty(self) -> bool:
        return self._is_terminal

    def fileno(self) -> int:
        raise OSError("there is no file")


@frozen(kw_only=True)
class ServerRequest:
    """The request of a client. `folder_id` is device and inode of its folder, `terminals` says
    which of its streams are terminals, and `stdin` is None while the client has not read it.
    """

    words: list[str]
    environ: dict[bytes, bytes]
    folder: bytes
    folder_id: bytes
    terminals: tuple[bool, bool, bool]
    columns: int
    stdin: bytes | None


def decode_request(parts: Sequence[bytes]) -> ServerRequest:
    """The request in these parts. Raises ValueError for parts that no client of this version
    sends.
    """
    if len(parts) != protocol.PART_COUNT or parts[0] != protocol.identity():
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
        # A variable whose value the client does not send has any value here.
        environ={name: value if sign else b"set" for name, sign, value in pairs},
        folder=folder,
        folder_id=folder_id,
        terminals=(terminals[:1] == b"1", terminals[1:2] == b"1", terminals[2:3] == b"1"),
        columns=int(terminals[3:]),
        stdin=stdin[len(protocol.READ) :] if stdin else None,
    )


def build_own_request(words: list[str]) -> ServerRequest:
    """The request that a client with the folder and the environment of this process would send."""
    return decode_request([*protocol.encode_request(words), protocol.READ])


def answer_request(client_request: ServerRequest) -> list[bytes]:
    """The parts of the answer. The next request sets everything anew that the command changes in
    the process.
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
        return [protocol.STDIN]
    except DeclinedError as error:
        return [protocol.DECLINED, str(error).encode()]
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    if sum(len(text) for _, text in pieces) > protocol.MAX_ANSWER - 64 * len(pieces) - 64:
        return [protocol.DECLINED, b"the answer is too long"]
    return [
        protocol.ANSWERED,
        b"%d" % code,
        *(b"%d" % number + text for number, text in pieces),
    ]


def _enter_environment(client_request: ServerRequest) -> None:
    """Take over folder, environment and words of the client. Raises DeclinedError where its folder
    is another one here.
    """
    try:
        os.chdir(client_request.folder)
        folder_stat = os.stat(".")  # noqa: PTH116
    except OSError:
        raise DeclinedError("the current folder cannot be reached") from None
    if b"%d:%d" % (folder_stat.st_dev, folder_stat.st_ino) != client_request.folder_id:
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
    return protocol.replay_stdin(client_request.stdin, client_request.terminals[0])
