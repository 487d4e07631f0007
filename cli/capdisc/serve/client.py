"""The first thing a command line does: where a server is there, and may answer, it does, and nothing else is imported.

Whatever stands in the way is no error: the command then runs here, as it would without a server. Nothing is imported
before it is needed, and then little: the module `socket` alone would cost as much as all of this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from capdisc_indexer.errors import CapdiscError

# Commands that only read; and options with which they do more, or wait for what may take long.
READING = frozenset(("search", "render", "show", "list", "tools", "graph", "status"))
_COLD_OPTIONS = ("--session", "--network", "--help", "-h")
# Files that are others in another process: <(command) is /dev/fd/63.
_OWN_FILES = ("/dev/", "/proc/")
WISHES = ("auto", "off", "require")
# A query takes the server some milliseconds. One that hangs may cost a command line 0.3 s more than without it, of
# which asking takes a part; that is twice a cold answer, and enough for a process to be woken on a busy machine.
PATIENCE_S = 0.25
_PATIENCE_REQUIRED_S = 10.0


class ColdError(Exception):
    """No server answers this; the text says why."""


def answered() -> int | None:
    """The exit code of this process's command line, once a server's answer is printed; None where it is to run here.

    `--server WISH` is taken out of `sys.argv`, since nothing else knows of it.
    """
    if len(sys.argv) < 2 or sys.argv[1] not in READING:
        return None
    wish, sys.argv[1:] = _wish(sys.argv[1:])
    if wish == "off":
        return None
    if wish not in WISHES:
        return _unknown(wish)
    try:
        return _served(sys.argv[1:], PATIENCE_S if wish == "auto" else _PATIENCE_REQUIRED_S)
    except ColdError as error:
        return _unanswered(str(error)) if wish == "require" else None


def _wish(argv: Sequence[str]) -> tuple[str, list[str]]:
    """What is wanted by option, or else by CAPDISC_SERVER, and the command line without the option."""
    wish, words = os.environ.get("CAPDISC_SERVER") or "auto", list(argv)
    end = words.index("--") if "--" in words else len(words)
    for place in range(end - 1, 0, -1):
        if words[place] == "--server":
            wish = words[place + 1] if place + 1 < end else ""
            del words[place : place + 2]
        elif words[place].startswith("--server="):
            wish = words.pop(place)[len("--server=") :]
    return wish, words


def _served(words: Sequence[str], patience_s: float) -> int:
    """The exit code, once the server's answer is printed. Raises ColdError where there is none."""
    if any(word.startswith(_COLD_OPTIONS) or any(part in word for part in _OWN_FILES) for word in words):
        raise ColdError("this is never asked of one")
    if None in (sys.stdin, sys.stdout, sys.stderr):
        raise ColdError("a standard stream is closed")
    from capdisc.serve import places

    address = places.address(os.environ)
    if not address:
        folder = os.path.dirname(places.socket_path(os.environ))  # noqa: PTH120
        raise ColdError(places.path_flaw(folder) or "none runs for this workspace")
    from capdisc.serve import exchange

    return exchange.printed(address, words, patience_s)


def _unknown(wish: str) -> int:
    from capdisc_indexer.errors import UsageError

    return _told(UsageError(f"unknown --server {wish!r}", f"one of: {', '.join(WISHES)}"))


def _unanswered(why: str) -> int:
    from capdisc_indexer.errors import BusyError

    return _told(BusyError(f"no server answers: {why}", "start one: capdisc serve; or leave out --server require"))


def _told(error: CapdiscError) -> int:
    from capdisc import failures, streams

    streams.occupy()
    return failures.answered(error, None)
