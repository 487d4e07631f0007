"""The entry point. It imports nothing heavy before it knows the command."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from capdisc.output.command_process import StopSignal

_VERSION_CALLS = (["--version"], ["-V"], ["version"])
# New objects between two searches for cycles; Python's own 700 is for programs that make many.
_COLLECT_AFTER = 50_000


def main() -> None:
    """Run the command line and exit with its exit code."""
    if sys.argv[1:] in _VERSION_CALLS and sys.stdout is not None:
        os._exit(_print_version())
    # Most of what a command makes lives until it ends: looking for cycles took 4 of 90 ms.
    gc.set_threshold(_COLLECT_AFTER, 20, 100)
    _import_pathlib()
    _wait_for_streams()
    _clean_python_path()
    if sys.argv[1:2] == ["--complete"]:
        from capdisc.args import completion

        os._exit(completion.print_candidates(sys.argv[2:]))
    if sys.argv[1:2] == ["hook"]:
        from capdisc.hook import guard

        os._exit(guard.run_guarded(sys.argv[2:], run_in_process))
    _read_pager_option()
    os._exit(run_in_process())


def _import_pathlib() -> None:
    """Import pathlib without `urllib.parse`, whose import takes 2 of a cold query's 75 ms: up to
    Python 3.12 it takes one function from there, for URIs of files. No other module sees the
    stand-in.
    """
    if "urllib.parse" not in sys.modules:
        sys.modules["urllib.parse"] = stand_in = type(sys)("urllib.parse")
        stand_in.__dict__["quote_from_bytes"] = _quote_path
        import pathlib  # noqa: F401

        del sys.modules["urllib.parse"]


def _quote_path(path: bytes) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(path)


def _read_pager_option() -> None:
    """Remove `--no-pager` from the command line, which no command knows."""
    words = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    if "--no-pager" in words:
        sys.argv.remove("--no-pager")
        os.environ["CAPDISC_PAGER"] = ""


def _clean_python_path() -> None:
    """Remove empty entries, a common slip, from PYTHONPATH: they mean the current folder, whose
    `sitecustomize.py` every Python that we start would run, also with -P.
    """
    if path := os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path.split(os.pathsep)))


def _wait_for_streams() -> None:
    """Set the standard streams to blocking, as all code here expects. A parent may hand them on
    without that; then a full pipe would cut an answer short, and an empty one would be no stdin.
    """
    from capdisc_indexer.platforms import system

    for number in range(3):
        try:
            system.set_blocking(number)
        except OSError:  # closed
            continue


def run_in_process() -> int:
    """Run the command in this process and return its exit code."""
    from capdisc.output import command_process

    command_process.reopen_closed()
    stop = command_process.StopSignal()
    try:
        code = _run_command(stop)
    finally:
        if stop.signal:
            stop.leave()
    # `main` then exits without the interpreter's own cleaning up, which takes 20 of a cold query's
    # 125 ms.
    command_process.flush_outputs()
    return code


def _run_command(stop: StopSignal) -> int:
    if sys.argv[1:] in _VERSION_CALLS:
        return _print_version()
    from capdisc.args.command_table import resolve_aliases, run_command

    if "CAPDISC_PAGER" not in os.environ or sys.stdout is None or not sys.stdout.isatty():
        return run_command(sys.argv[1:], stop)
    from capdisc.output import pager

    with pager.page_output(resolve_aliases(sys.argv[1:]), os.environ):
        return run_command(sys.argv[1:], stop)


def _print_version() -> int:
    from capdisc_indexer.model.version import __version__

    try:
        print(f"capdisc {__version__}", flush=True)
    except OSError as error:
        sys.stderr.write(f"error: {error.strerror}\n")
        return 4
    return 0


if __name__ == "__main__":
    main()
