"""Turns errors into messages and exit codes; no other module does."""

from __future__ import annotations

import os
import sys
from enum import IntEnum

from capdisc.output import console
from capdisc_indexer import __version__
from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    BusyError,
    CapdiscError,
    EncoderError,
    IndexStateError,
    InputError,
    LinkRefusedError,
    UsageError,
)


class ExitCode(IntEnum):
    """What the exit status of a command says. Scripts rely on the numbers."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    BAD_INPUT = 3
    INDEX = 4
    REFUSED = 5
    BUG = 70
    BUSY = 75
    ENDED = 124
    INTERRUPTED = 130


_EXIT_CODES: dict[type[CapdiscError], ExitCode] = {
    UsageError: ExitCode.USAGE,
    InputError: ExitCode.BAD_INPUT,
    EncoderError: ExitCode.BAD_INPUT,
    IndexStateError: ExitCode.INDEX,
    BusyError: ExitCode.BUSY,
    LinkRefusedError: ExitCode.REFUSED,
    ApprovalRequiredError: ExitCode.REFUSED,
}


_REINSTALL_HINT = "install capdisc again; where memory is limited, raise the limit (ulimit -v)"


def handle_error(error: BaseException) -> int:
    """Print the error and return its exit code. SystemExit is raised again."""
    match error:
        case SystemExit():
            raise error
        case CapdiscError():
            console.print_error(error)
            return next(
                (code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)),
                ExitCode.BUG,
            )
        case KeyboardInterrupt():
            console.print_notice("interrupted")
            return ExitCode.INTERRUPTED
        case console.ReaderGoneError():
            # Else the interpreter would write what is still buffered when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.OK
        case OSError() | MemoryError() | ImportError() if "capdisc" not in str(
            getattr(error, "name", "")
        ):
            console.print_error(_system_error(error))
            return ExitCode.INDEX
        case _:
            return _report_bug(error)


def _system_error(error: OSError | MemoryError | ImportError) -> IndexStateError:
    if isinstance(error, ModuleNotFoundError):
        from capdisc_indexer.lazy_imports import missing_library_error

        return missing_library_error(error)
    if isinstance(error, ImportError):
        return IndexStateError(f"a library cannot be loaded: {error}", _REINSTALL_HINT)
    if isinstance(error, MemoryError):
        return IndexStateError("there is not enough memory", "raise the limit on it (ulimit -v)")
    where = f": {error.filename}" if error.filename else ""
    return IndexStateError(
        f"{error.strerror or error}{where}", "check the disk and its permissions"
    )


def _report_bug(error: BaseException) -> int:
    """Write the traceback to a file for a report, and print its name."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="capdisc-crash-", suffix=".log", delete=False
    ) as log:
        log.write(f"capdisc {__version__}, Python {sys.version}\n{' '.join(sys.argv[1:2])}\n")
        traceback.print_exception(error, file=log)
    console.print_error(
        CapdiscError(
            f"this is a bug in capdisc ({type(error).__name__})",
            f"please report it with {log.name}",
        )
    )
    return ExitCode.BUG
