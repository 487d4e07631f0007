"""A server in the process of another command, whose end is its end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from capdisc.serve.claim import claim_socket
from capdisc.serve.supervisor import supervise


@contextmanager
def serve_in_thread(path: Path, ready: Callable[[], None]) -> Iterator[None]:
    """Inside, the commands of this workspace are answered at the socket. Raises what `claimed`
    does.
    """
    with claim_socket(path) as claim:
        stop, stopping = os.pipe()
        thread = threading.Thread(target=supervise, args=(claim, 0.0, ready, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            os.close(stopping)
            thread.join()
            os.close(stop)
