"""The first thing a command line does: where a server is there, and may answer, it does, and
nothing else is imported.

Whatever stands in the way is no error: the command then runs here, as it would without a server.
Nothing is imported before it is needed, and then little: the module `socket` alone would cost as
much as all of this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from capdisc_indexer.model.errors import CapdiscError

# Commands that only read; and options with which they do more, or wait for what may take long.
READ_ONLY_COMMANDS = frozenset(("search", "render", "show", "list", "tools", "graph", "status"))
_COLD_OPTIONS = ("--session", "--network", "--help", "-h")
# Files that are others in another process: <(command) is /dev/fd/63.
_PROCESS_FILES = ("/dev/", "/proc/")
SERVER_MODES = ("auto", "off", "require")
# A query takes the server some milliseconds. One that hangs may cost a command line 0.3 s more
# than without it, of which asking takes a part; that is twice a cold answer, and enough for a
# process to be woken on a busy machine.
ANSWER_TIMEOUT_S = 0.25
_REQUIRED_TIMEOUT_S = 10.0


class NoServerError(Exception):
    """No server answers this; the text says why."""


def run_on_server() -> int | None:
    """The exit code of this process's command line, once a server's answer is printed; None where
    it is to run here.

    `--server WISH` is taken out of `sys.argv`, since nothing else knows of it.
    """
    if len(sys.argv) < 2 or sys.argv[1] not in READ_ONLY_COMMANDS:
        return None
    mode, sys.argv[1:] = _server_mode(sys.argv[1:])
    if mode == "off":
        return None
    if mode not in SERVER_MODES:
        return _unknown_mode(mode)
    try:
        return _print_server_answer(
            sys.argv[1:], ANSWER_TIMEOUT_S if mode == "auto" else _REQUIRED_TIMEOUT_S
        )
    except NoServerError as error:
        return _no_answer(str(error)) if mode == "require" else None


def _server_mode(argv: Sequence[str]) -> tuple[str, list[str]]:
    """What is wanted by option, or else by CAPDISC_SERVER, and the command line without the
    option.
    """
    mode, words = os.environ.get("CAPDISC_SERVER") or "auto", list(argv)
    end = words.index("--") if "--" in words else len(words)
    for position in range(end - 1, 0, -1):
        if words[position] == "--server":
            mode = words[position + 1] if position + 1 < end else ""
            del words[position : position + 2]
        elif words[position].startswith("--server="):
            mode = words.pop(position)[len("--server=") :]
    return mode, words


def _print_server_answer(words: Sequence[str], patience_s: float) -> int:
    """The exit code, once the server's answer is printed. Raises ColdError where there is none."""
    if any(
        word.startswith(_COLD_OPTIONS) or any(part in word for part in _PROCESS_FILES)
        for word in words
    ):
        raise NoServerError("this is never asked of one")
    if None in (sys.stdin, sys.stdout, sys.stderr):
        raise NoServerError("a standard stream is closed")
    from capdisc.serve import server_address

    address = server_address.find_address(os.environ)
    if not address:
        folder = os.path.dirname(server_address.socket_path(os.environ))  # noqa: PTH120
        raise NoServerError(server_address.path_flaw(folder) or "none runs for this workspace")
    from capdisc.serve import exchange

    return exchange.print_answer(address, words, patience_s)


def _unknown_mode(mode: str) -> int:
    from capdisc_indexer.model.errors import UsageError

    return _print_error(
        UsageError(f"unknown --server {mode!r}", f"one of: {', '.join(SERVER_MODES)}")
    )


def _no_answer(why: str) -> int:
    from capdisc_indexer.model.errors import BusyError

    return _print_error(
        BusyError(
            f"no server answers: {why}", "start one: capdisc serve; or leave out --server require"
        )
    )


def _print_error(error: CapdiscError) -> int:
    from capdisc.output import failures, standard_streams

    standard_streams.reopen_closed()
    return failures.handle_error(error, None)
