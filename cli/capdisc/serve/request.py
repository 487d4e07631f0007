"""What a client tells the server of its command line, and what it keeps to itself: the values of
most variables.

The parts of a request, in this order: who asks, the words, the environment, the folder, the
folder's number on its device, the terminals, stdin.
"""

from __future__ import annotations

import os
import sys

from capdisc_indexer import __version__

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from io import TextIOWrapper
    from typing import IO

# Messages between client and server: one each way, every part of it behind its length.
#
# The client imports this on its way, so it imports nothing itself.

# A request with a text on stdin is longer than most; whatever is longer yet is answered without
# the server.
MAX_REQUEST = 1 << 20
# More than this is not collected for a client: it would all have to lie in memory until it is
# read.
MAX_ANSWER = 16 << 20
_LENGTH_BYTES = 4

# Instead of an answer: the question is read, others are before it, and the answer comes as another
# message.
QUEUED = bytes(_LENGTH_BYTES)
ANSWERED, DECLINED, STDIN = b"answered", b"declined", b"stdin"


def encode_parts(parts: Iterable[bytes]) -> bytes:
    """The message with these parts."""
    body = b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def missing_bytes(data: bytes | bytearray, max_bytes: int) -> int:
    """How many bytes the message still lacks, at least. Raises ValueError for one of more than
    `most` bytes.
    """
    if len(data) < _LENGTH_BYTES:
        return _LENGTH_BYTES - len(data)
    length = int.from_bytes(data[:_LENGTH_BYTES], "big")
    if length > max_bytes:
        raise ValueError(f"a message of {length:,} bytes")
    return _LENGTH_BYTES + length - len(data)


def decode_parts(data: bytes | bytearray) -> list[bytes]:
    """The parts of a whole message. Raises ValueError where their lengths do not add up."""
    parts, position = [], _LENGTH_BYTES
    while position < len(data):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(data[position:start], "big")
        if start > len(data) or position > len(data):
            raise ValueError("a part is longer than its message")
        parts.append(bytes(data[start:position]))
    return parts


PROTOCOL = 1
PART_COUNT = 7
# Whether stdin has been read for the request, and then what was read.
UNREAD, READ = b"", b"="

# A capability's secrets are looked up to see whether they are set, nothing more: of any variable
# but these the server learns just that.
_SENT_VARIABLES = frozenset(
    b"HOME PATH PWD NO_COLOR FORCE_COLOR TERM COLUMNS LINES LANG LANGUAGE TZ TMPDIR WUNDERLAND_CAPABILITY_DIRS".split()
)
_SENT_PREFIXES = (b"CAPDISC_", b"XDG_", b"LC_", b"PYTHON")


def identity() -> bytes:
    """Who speaks. A server answers only what has the same: else another version would answer in
    this one's place.
    """
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    facts = (str(PROTOCOL), __version__, package, sys.version, sys.getfilesystemencoding())
    return b"\0".join(os.fsencode(fact) for fact in facts)


def encode_request(words: Sequence[str]) -> list[bytes]:
    """All of a request but stdin. Raises OSError when the current folder is gone."""
    folder = os.stat(".")  # noqa: PTH116
    return [
        identity(),
        b"\0".join(os.fsencode(word) for word in words),
        b"\0".join(encode_environment(os.environb)),
        os.fsencode(os.getcwd()),  # noqa: PTH109
        b"%d:%d" % (folder.st_dev, folder.st_ino),
        _encode_terminals(),
    ]


def encode_environment(environ: Mapping[bytes, bytes]) -> list[bytes]:
    """NAME=VALUE for the variables that matter and those that are empty, NAME alone for those that
    are just set.
    """
    return [
        name + b"=" + value
        if not value or name in _SENT_VARIABLES or name.startswith(_SENT_PREFIXES)
        else name
        for name, value in environ.items()
    ]


def _encode_terminals() -> bytes:
    """Which of the standard streams are terminals, and how wide stdout is where it is one."""
    are = [os.isatty(stream) for stream in range(3)]
    columns = os.get_terminal_size(1).columns if are[1] else 0
    return b"%d%d%d%d" % (*are, columns)


def replay_stdin(
    data: bytes, is_terminal: bool, remaining: IO[bytes] | None = None
) -> TextIOWrapper:
    """A stdin from which this can be read once more, and after it what is left in `rest`."""
    import io

    class ReplayedStdin(io.BytesIO):
        def isatty(self) -> bool:
            return is_terminal

        def read(self, size: int | None = -1, /) -> bytes:
            chunk = super().read(size)
            size = -1 if size is None or size < 0 else size - len(chunk)
            return chunk + (remaining.read(size) if remaining and size else b"")

    return io.TextIOWrapper(ReplayedStdin(data))
