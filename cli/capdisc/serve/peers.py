"""Who is at the other end of a connection, by what the kernel says of it."""

from __future__ import annotations

import os
import socket
import struct

# FreeBSD and macOS: getsockopt(SOL_LOCAL, LOCAL_PEERCRED) gives a struct xucred, which starts with version and user.
_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76


def is_same_user(connection: socket.socket) -> bool:
    """Whether the other end belongs to this user. The folder's mode says so already, but not on every system."""
    try:
        return _user(connection) == os.geteuid()
    except OSError:
        return False


def _user(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:
        _, user = struct.unpack("2I", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)[:8])
    return int(user)
