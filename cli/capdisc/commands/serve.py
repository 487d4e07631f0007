"""capdisc serve: a warm process that answers searches at once."""

from __future__ import annotations

from typing import Annotated

from capdisc.args import params
from capdisc.args.params import option
from capdisc.output import console
from capdisc.serve import protocol

_IDLE_S = 1800.0


def serve(
    idle: Annotated[
        float | None,
        option(
            "--idle",
            metavar="TIME",
            parser=params.parse_seconds,
            help="End after so long without a question [30m]; 0: never.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option(
            "--workers",
            min=1,
            max=64,
            help="How many processes answer, for many clients at once [2 where there are two "
            "processors].",
        ),
    ] = None,
    loopback: Annotated[
        bool,
        option(
            "--loopback",
            help="Use 127.0.0.1 and a secret in a file, for systems without Unix sockets.",
        ),
    ] = False,
) -> int:
    """Answer the commands that only read from a warm process, until no client asks any more or it
    is interrupted.

    While it runs, search, render, show, list, tools, graph and status of this workspace ask it
    first, and print the same sooner. Where it does not answer within 0.25 s, they run without it.
    They take --server auto|off|require (or CAPDISC_SERVER): off never asks, require fails where no
    server answers.

    Example: capdisc serve --idle 1s
    """
    from capdisc.serve.claim import claim_socket
    from capdisc.serve.supervisor import default_workers, supervise

    path = protocol.own_socket_path()
    with claim_socket(path, loopback) as claim:
        message = f"answering at {claim.path}"
        supervise(
            claim,
            _IDLE_S if idle is None else idle,
            lambda: console.print_lines([message]),
            workers=workers or default_workers(),
        )
    return 0
