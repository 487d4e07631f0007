"""Turns errors into messages and exit codes; no other module does."""

from __future__ import annotations

import os
import sys

from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    BusyError,
    CapdiscError,
    DamagedIndexError,
    EncoderError,
    ForeignIndexError,
    IndexStateError,
    InputError,
    LinkRefusedError,
    PluginError,
    UsageError,
)
from capdisc_indexer.model.version import __version__
from capdisc_indexer.platforms import system

# The word for each kind of error in JSON, and its exit code. Programs rely on both.
ERROR_KINDS: dict[type[CapdiscError], tuple[str, ExitCode]] = {
    UsageError: ("usage", ExitCode.USAGE),
    InputError: ("input", ExitCode.BAD_INPUT),
    EncoderError: ("encoder", ExitCode.BAD_INPUT),
    IndexStateError: ("index", ExitCode.INDEX),
    DamagedIndexError: ("damaged-index", ExitCode.INDEX),
    ForeignIndexError: ("foreign-index", ExitCode.INDEX),
    BusyError: ("busy", ExitCode.BUSY),
    PluginError: ("plugin", ExitCode.INDEX),
    LinkRefusedError: ("link-refused", ExitCode.REFUSED),
    ApprovalRequiredError: ("approval-required", ExitCode.REFUSED),
    CapdiscError: ("bug", ExitCode.BUG),
}
_REINSTALL_HINT = "install capdisc again; where memory is limited, raise the limit (ulimit -v)"


def handle_error(error: BaseException, *, as_json: bool = False) -> int:
    """Print the error and return its exit code; with `as_json` also as a document on stdout, where
    a program waits for the result. SystemExit is raised again.
    """
    match error:
        case SystemExit():
            raise error
        case CapdiscError():
            return _report_error(error, as_json)
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
            return _report_error(_system_error(error), as_json)
        case _:
            return _report_error(_write_crash_log(error), as_json)


def _report_error(error: CapdiscError, as_json: bool) -> int:
    console.print_error(error)
    code, exit_code = next(
        ERROR_KINDS[kind] for kind in type(error).__mro__ if kind in ERROR_KINDS
    )
    if as_json:
        try:
            console.print_error_document(code, error, exit_code)
        except (OSError, console.ReaderGoneError) as gone:
            handle_error(gone)
    return exit_code


def _system_error(error: OSError | MemoryError | ImportError) -> IndexStateError:
    if isinstance(error, ModuleNotFoundError):
        from capdisc_indexer.lazy_imports import missing_library_error

        return missing_library_error(error)
    if isinstance(error, ImportError):
        return IndexStateError(f"a library cannot be loaded: {error}", _REINSTALL_HINT)
    if isinstance(error, MemoryError):
        return IndexStateError(
            f"there is not enough memory{_memory_limit()}", "raise the limit on it (ulimit -v)"
        )
    where = f": {error.filename}" if error.filename else ""
    return IndexStateError(
        f"{error.strerror or error}{where}", "check the disk and its permissions"
    )


def _memory_limit() -> str:
    """The limit of this process as a part of a sentence; "" where it has none."""
    limit = system.memory_limit_bytes()
    return "" if limit is None else f" within the limit of {limit / 1024**3:.1f} GiB"


def _write_crash_log(error: BaseException) -> CapdiscError:
    """The error that names a file with the traceback, for a report."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="capdisc-crash-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        log.write(f"capdisc {__version__}, Python {sys.version}\n{' '.join(sys.argv[1:2])}\n")
        traceback.print_exception(error, file=log)
    return CapdiscError(
        f"this is a bug in capdisc ({type(error).__name__})", f"please report it with {log.name}"
    )
