"""A command of the user's, run through the shell."""

from __future__ import annotations

import sys
from collections.abc import Mapping


def run(command: str, environ: Mapping[str, str], limit_s: float) -> str:
    """Run the command and wait for it; why it failed, or nothing. What it prints goes to stderr: results are ours."""
    import subprocess

    from capdisc_indexer.running.starting import held

    out = _stderr(subprocess.DEVNULL)

    def start() -> subprocess.Popen[bytes]:
        # A group of its own, so that what it starts can be ended with it.
        return subprocess.Popen(
            command, shell=True, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )

    try:
        with held(start) as child:
            return _status(child.wait(limit_s))
    except subprocess.TimeoutExpired:
        return f"did not end within {limit_s:g} s and was ended"
    except OSError as error:
        return f"could not be started: {error.strerror}"


def _stderr(otherwise: int) -> int:
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or a test's
        return otherwise


def _status(code: int) -> str:
    if code == 0:
        return ""
    return f"ended with status {code}" if code > 0 else f"was ended by signal {-code}"
