"""The build that a hook or a search starts, in a process of its own."""

from __future__ import annotations

import io
import sys
from contextlib import suppress

from capdisc.args.command_table import run_command
from capdisc.context import failure_log, surroundings
from capdisc.context.background_process import FAILURE
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import CapdiscError


def main() -> None:
    """Build, as `capdisc index` does; a failure goes to the log of hooks."""
    client, words = sys.argv[1], sys.argv[2:]
    notes = sys.stderr = io.StringIO()
    code = run_command(["index", "--quiet", *words])
    if code not in (ExitCode.OK, ExitCode.FINDINGS, ExitCode.BUSY):
        errors = [line for line in notes.getvalue().splitlines() if line.startswith("error: ")]
        failure = "; ".join(errors).removeprefix("error: ") or f"exit status {code}"
        with suppress(CapdiscError):
            folder = surroundings.current_runtime().user_state_dir()
            failure_log.log_failure(folder, client, f"{FAILURE}: {failure}")
