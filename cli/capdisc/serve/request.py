"""The messages between client and server, and what a request holds of a command line.

One message goes each way, every part of it behind its length. The parts of a request, in this
order: version, words, environment (of most variables the names alone), folder, device and inode of
the folder, terminals, stdin. The client imports this module on every command line, so it imports
nothing itself.
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

# A request is long where stdin is; with a longer one, the client runs the command itself.
MAX_REQUEST = 1 << 20
# A longer answer is not sent: all of it would lie in memory until the client has read it.
MAX_ANSWER = 16 << 20
_LENGTH_BYTES = 4

# Sent where other questions are before this one; the answer follows as another message.
QUEUED = bytes(_LENGTH_BYTES)
ANSWERED, DECLINED, STDIN = b"answered", b"declined", b"stdin"


def encode_parts(parts: Iterable[bytes]) -> bytes:
    """The message with these parts."""
    body = b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def missing_bytes(data: bytes | bytearray, max_bytes: int) -> int:
    """How many bytes the message still lacks, at least. Raises ValueError for a message of more
    than `max_bytes` bytes.
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
# The part for stdin: not read yet, or what was read behind a sign.
UNREAD, READ = b"", b"="

# The server only has to know whether the secrets of capabilities are set. So it gets the values of
# these variables, and of all others the names.
_SENT_VARIABLES = frozenset(
    b"HOME PATH PWD NO_COLOR FORCE_COLOR TERM COLUMNS LINES LANG LANGUAGE TZ TMPDIR WUNDERLAND_CAPABILITY_DIRS".split()
)
_SENT_PREFIXES = (b"CAPDISC_", b"XDG_", b"LC_", b"PYTHON")


def identity() -> bytes:
    """The version of this program and its interpreter. A server answers only clients with the
    same, since another version could answer otherwise.
    """
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    parts = (str(PROTOCOL), __version__, package, sys.version, sys.getfilesystemencoding())
    return b"\0".join(os.fsencode(part) for part in parts)


def encode_request(words: Sequence[str]) -> list[bytes]:
    """The parts of a request but for stdin. Raises OSError where the current folder is gone."""
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
    """NAME=VALUE for the variables that are sent and those that are empty, NAME for all others."""
    return [
        name + b"=" + value
        if not value or name in _SENT_VARIABLES or name.startswith(_SENT_PREFIXES)
        else name
        for name, value in environ.items()
    ]


def _encode_terminals() -> bytes:
    """Which of the standard streams are terminals, and how wide stdout is where it is one."""
    flags = [os.isatty(stream) for stream in range(3)]
    columns = os.get_terminal_size(1).columns if flags[1] else 0
    return b"%d%d%d%d" % (*flags, columns)


def replay_stdin(
    data: bytes, is_terminal: bool, remaining: IO[bytes] | None = None
) -> TextIOWrapper:
    """A stdin that gives this data once more, and after it what is left in `remaining`."""
    import io

    class ReplayedStdin(io.BytesIO):
        def isatty(self) -> bool:
            return is_terminal

        def read(self, size: int | None = -1, /) -> bytes:
            chunk = super().read(size)
            size = -1 if size is None or size < 0 else size - len(chunk)
            return chunk + (remaining.read(size) if remaining and size else b"")

    return io.TextIOWrapper(ReplayedStdin(data))
