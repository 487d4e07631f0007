"""capdisc doctor: what is wrong with the index, and what mends it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from capdisc import options, output, runtime, streams, trusting
from capdisc.declaring import option
from capdisc.exit_codes import ExitCode
from capdisc.serve import claim, places
from capdisc_indexer.config import Config
from capdisc_indexer.diagnosis import Check, State, examine, worst
from capdisc_indexer.diagnosis.shared import examine_shared

_EXIT = {State.PROBLEM: ExitCode.FINDINGS, State.UNUSABLE: ExitCode.INDEX}


def doctor(
    index_dir: options.IndexDir = None,
    deep: Annotated[bool, option("--deep", help="Read every byte and every row: a second or more.")] = False,
    json: options.Json = False,
) -> int:
    """Say what is wrong with the index and its surroundings, and for each thing the one command that mends it.

    Writes nothing. Exit status 4: the index cannot be used; 1: it can, but something is wrong; 0: nothing is, though
    there may be notices.

    Example: capdisc doctor --deep
    """
    here = runtime.current()
    config = here.config()
    where, shared = here.index_dir(index_dir, config), here.shared(index_dir, config)
    with streams.native_hushed():
        about = examine_shared(shared, deep) if shared else _examined(here, where, deep)
        checks = [*about, _server(), _trust(here, config)]
    if json:
        output.document({"index_dir": shared.url if shared else str(where), "state": worst(checks), "checks": checks})
    else:
        output.lines(_printed(checks))
    return _EXIT.get(worst(checks), ExitCode.OK)


def _examined(here: runtime.Runtime, where: Path, deep: bool) -> Iterator[Check]:
    return examine(where, deep, time.time_ns(), here.builder_id(where))


def _trust(here: runtime.Runtime, config: Config) -> Check:
    """What the workspace asks for and its user has not allowed."""
    lines = [request.line for request in trusting.refused_requests(here, config)]
    if not lines:
        return Check(name="trust", state=State.OK, text="this workspace waits for nothing")
    return Check(name="trust", state=State.NOTICE, text=f"left out: {output.listed(lines)}", fix="capdisc trust")


def _server() -> Check:
    """Whether one answers for this workspace, and whether it may."""
    folder = Path(places.socket_path(os.environ)).parent
    if folder.is_dir() and folder.is_absolute() and not places.is_own(str(folder)):
        text = f"others can reach into {folder}: no server is asked there"
        return Check(name="server", state=State.NOTICE, text=text, fix=f"chmod 700 {folder}")
    number = claim.running()
    return Check(name="server", state=State.OK, text=f"process {number} answers" if number else "none is running")


def _printed(checks: list[Check]) -> list[str]:
    """A line for each check, and one for what mends it, where the eye finds it: below."""
    table = output.table(("check", "state", "what"), [(each.name, each.state, each.text) for each in checks])
    fixes = [(each.name, each.fix) for each in checks if each.fix]
    return table + (["", *output.table(("to mend", "do"), fixes)] if fixes else [])
