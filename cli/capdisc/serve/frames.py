"""Messages between client and server: one each way, every part of it behind its length.

The client imports this on its way, so it imports nothing itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# A request with a text on stdin is longer than most; whatever is longer yet is answered without the server.
MAX_REQUEST = 1 << 20
# More than this is not collected for a client: it would all have to lie in memory until it is read.
MAX_ANSWER = 16 << 20
_LENGTH = 4

# Instead of an answer: the question is read, others are before it, and the answer comes as another message.
QUEUED = bytes(_LENGTH)
ANSWERED, DECLINED, STDIN = b"answered", b"declined", b"stdin"


def packed(parts: Iterable[bytes]) -> bytes:
    """The message with these parts."""
    body = b"".join(len(part).to_bytes(_LENGTH, "big") + part for part in parts)
    return len(body).to_bytes(_LENGTH, "big") + body


def missing(data: bytes | bytearray, most: int) -> int:
    """How many bytes the message still lacks, at least. Raises ValueError for one of more than `most` bytes."""
    if len(data) < _LENGTH:
        return _LENGTH - len(data)
    length = int.from_bytes(data[:_LENGTH], "big")
    if length > most:
        raise ValueError(f"a message of {length:,} bytes")
    return _LENGTH + length - len(data)


def unpacked(data: bytes | bytearray) -> list[bytes]:
    """The parts of a whole message. Raises ValueError where their lengths do not add up."""
    parts, place = [], _LENGTH
    while place < len(data):
        start = place + _LENGTH
        place = start + int.from_bytes(data[place:start], "big")
        if start > len(data) or place > len(data):
            raise ValueError("a part is longer than its message")
        parts.append(bytes(data[start:place]))
    return parts
