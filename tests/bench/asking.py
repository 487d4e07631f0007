"""How a client asks a running server one question, without a process of its own."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Mapping, Sequence

from capdisc.serve import protocol

_TIMEOUT_S = 120.0
_WORDS = (
    "merge split pdf invoice chart image audio deploy docker review branch release notes email "
    "table query".split()
)


def make_query(number: int) -> str:
    """Three words, the same ones for the same number."""
    return " ".join(random.Random(number).sample(_WORDS, 3))


def encode_question(words: Sequence[str], env: Mapping[str, str] | None = None) -> bytes:
    """The message of a client with this command line, and with this environment or that of this
    process.
    """
    parts = protocol.encode_request(words)
    if env is not None:
        given = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        parts[2] = b"\0".join(protocol.encode_environment(given))
    return protocol.encode_parts([*parts, protocol.READ])


def send_question(address: str, message: bytes) -> None:
    """Waits for the answer. Raises ValueError where it is none: a server declines a question of
    another installation.
    """
    data = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT_S)
        connection.connect(address)
        connection.sendall(message)
        while more := connection.recv(1 << 16):
            data += more
    kind = protocol.decode_parts(data.removeprefix(protocol.QUEUED))[0]
    if kind != protocol.ANSWERED:
        raise ValueError(f"{kind!r}: {data[-200:]!r}")
