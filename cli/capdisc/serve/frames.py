"""Messages between client and server: one each way, every part of it behind its length.

The client imports this on its way, so it imports nothing itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
