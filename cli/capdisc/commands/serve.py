"""capdisc serve: a warm process that answers searches at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from capdisc import options, output
from capdisc.declaring import option
from capdisc.serve import places
from capdisc_indexer.errors import InputError

_IDLE_S = 1800.0


def serve(
    idle: Annotated[
        float | None,
        option(
            "--idle", metavar="TIME", parser=options.seconds, help="End when nobody asked for so long [30m]; 0: never."
        ),
    ] = None,
) -> int:
    """Answer the commands that only read from a warm process, until nobody asks any more or it is interrupted.

    While it runs, search, render, show, list, tools, graph and status of this workspace ask it first: they print what
    they would print anyway, sooner. Where it does not answer within 0.3 s they do without. They take
    --server auto|off|require (or CAPDISC_SERVER): off never asks, require fails where no server answers.

    Example: capdisc serve --idle 1s
    """
    from capdisc.serve.claim import claimed
    from capdisc.serve.supervisor import supervise

    path = socket_path()
    with claimed(path) as claim:
        supervise(claim, _IDLE_S if idle is None else idle, lambda: output.lines([f"answering at {path}"]))
    return 0


def socket_path() -> Path:
    """Where the server of this workspace is met. Raises InputError where there is no home for it."""
    found = places.socket_path(os.environ)
    if not found:
        raise InputError("there is no place for a server", "set HOME, or XDG_RUNTIME_DIR")
    return Path(found)
