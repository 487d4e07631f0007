"""The build that a hook or a search starts, in a process of its own."""

from __future__ import annotations

import io
import sys
from contextlib import suppress

from capdisc.args.command_table import run_command
from capdisc.context import background_process, surroundings
from capdisc.context.background_process import FAILURE
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.store.generation import read_pointer

# Another process that builds the index of the home folder: what it made is taken over here.
_HOME_WAIT_S = 600


def main() -> None:
    """Build, as `capdisc index` does; a failure goes to the log of hooks. The home folder gets an
    index, too, if it has none: the first prompt in a new folder is answered from it. One of both
    is made of the files, and the other takes over what it has. Where a hook names its index, there
    is no other.
    """
    client, words = sys.argv[1], sys.argv[2:]
    notes = sys.stderr = io.StringIO()
    runtime = surroundings.current_runtime()
    with suppress(CapdiscError):
        is_first = not words and not read_pointer(runtime.index_dir(None, runtime.config()))
        if is_first:
            _build_home(runtime)
    code = run_command(["index", "--quiet", *words])
    if "--index-dir" not in words and code in (ExitCode.OK, ExitCode.FINDINGS):
        _build_home(runtime)
    if code not in (ExitCode.OK, ExitCode.FINDINGS, ExitCode.BUSY):
        errors = [line for line in notes.getvalue().splitlines() if line.startswith("error: ")]
        failure = "; ".join(errors).removeprefix("error: ") or f"exit status {code}"
        with suppress(CapdiscError):
            folder = surroundings.current_runtime().user_state_dir()
            background_process.log_failure(folder, client, f"{FAILURE}: {failure}")


def _build_home(runtime: surroundings.Runtime) -> None:
    """Build the index of the home folder where it has none, at its usual place."""
    with suppress(CapdiscError):
        config = runtime.at_home().config()
        if config["index_dir"] or read_pointer(runtime.at_home().index_dir(None, config)):
            return
        surroundings.enter_folder(str(runtime.home))
        run_command(["index", "--quiet", "--lock-timeout", str(_HOME_WAIT_S)])
        surroundings.enter_folder(str(runtime.cwd))
