"""Follow a shared index while a server answers from its copy."""

from __future__ import annotations

import threading
import time

from capdisc import output
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.remote.following import refreshed
from capdisc_indexer.remote.values import Shared

LEAST_SECONDS = 10.0


def follow(shared: Shared) -> None:
    """Look at the store now, and from then on every `fresh_for_s` seconds (10 at least), as long as the process lives.

    What stands in the way is said once, until it is something else; calls answer from the last copy meanwhile.
    """
    said = _look(shared, "")
    threading.Thread(target=_keep, args=(shared, said), daemon=True).start()


def _keep(shared: Shared, said: str) -> None:
    while True:
        time.sleep(max(shared.fresh_for_s, LEAST_SECONDS))
        said = _look(shared, said)


def _look(shared: Shared, said: str) -> str:
    try:
        problem = "; ".join(refreshed(shared))
    except (CapdiscError, OSError) as error:
        problem = str(error)
    if problem and problem != said:
        output.notice(f"notice: {problem}")
    return problem
