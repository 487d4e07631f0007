"""A server on 127.0.0.1, for systems without sockets in the file system: whoever can read a file
of the owner's may ask.

The file holds the port and a secret. The port may belong to another program by the time it is
read, so each side proves that it knows the secret before it says anything: the client draws a
number (nonce), the server signs it, and the question carries the client's own signature of it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import socket
from pathlib import Path

from capdisc.serve import request

SUFFIX = ".port"
_PORT_FILE = re.compile(rb"([0-9]{1,5}) ([0-9a-f]{64})")
NONCE_BYTES = PROOF_BYTES = 32


def bind_loopback(path: Path) -> socket.socket:
    """A socket on a free port; port and secret are written to a new file. Raises OSError."""
    listening_socket = socket.socket(socket.AF_INET)
    try:
        listening_socket.bind(("127.0.0.1", 0))
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        listening_socket.close()
        raise
    with os.fdopen(fd, "w") as file:
        file.write(f"{listening_socket.getsockname()[1]} {os.urandom(32).hex()}")
    return listening_socket


def read_port_file(path: str) -> tuple[int, bytes]:
    """The port and the secret. Raises OSError, or ValueError for a file that is not ours."""
    with open(path, "rb") as file:  # noqa: PTH123
        match = _PORT_FILE.fullmatch(file.read(100))
    if not match:
        raise ValueError(f"{path} does not name a port")
    return int(match[1]), bytes.fromhex(match[2].decode())


def sign_nonce(secret: bytes, side: bytes, nonce: bytes) -> bytes:
    """The signature of the number with the secret, by one side."""
    return hmac.digest(secret, side + nonce, hashlib.sha256)


def connect_loopback(path: str, patience_s: float) -> tuple[socket.socket, bytes]:
    """A connection to the server, and the proof that goes with the question. Raises OSError or
    ValueError.
    """
    port, secret = read_port_file(path)
    nonce = os.urandom(NONCE_BYTES)
    connection = socket.create_connection(("127.0.0.1", port), patience_s)
    try:
        connection.sendall(request.encode_parts([nonce]))
        shown = connection.recv(PROOF_BYTES, socket.MSG_WAITALL)
        if not hmac.compare_digest(shown, sign_nonce(secret, b"server", nonce)):
            raise ValueError("another program answers at its port")
    except BaseException:
        connection.close()
        raise
    return connection, sign_nonce(secret, b"client", nonce)
