"""Many clients at once against one: python tests/bench/crowd.py [SECONDS] [CLIENTS] in a workspace with a server.

Prints how long one client waits (median), how long many at once do, how many errors there were, and what the server's
memory came to.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
import threading
import time
from pathlib import Path

from capdisc.serve import frames, places, request

QUERY = ["search", "put two PDF files into one", "--json"]


def once(path: str, message: bytes) -> float:
    """The seconds until the whole answer was there; -1 for an error."""
    started = time.perf_counter()
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(30)
            one.connect(path)
            one.sendall(message)
            data = b""
            while more := one.recv(1 << 16):
                data += more
        parts = frames.unpacked(data.removeprefix(frames.QUEUED))
    except (OSError, ValueError):
        return -1.0
    return time.perf_counter() - started if parts[:1] == [frames.ANSWERED] else -1.0


def worker_memory() -> int:
    """Resident bytes of the processes that answer."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"worker.main()" in (folder / "cmdline").read_bytes():
                found += int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return found


def main() -> None:
    """Print the figures."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    path, message = places.socket_path(os.environ), frames.packed([*request.parts(QUERY), request.READ])
    alone = [once(path, message) for _ in range(100)]
    before, took = worker_memory(), [[0.0] * 0 for _ in range(clients)]
    end = time.monotonic() + seconds

    def ask(mine: list[float]) -> None:
        while time.monotonic() < end:
            mine.append(once(path, message))

    threads = [threading.Thread(target=ask, args=(mine,)) for mine in took]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = sorted(each for mine in took for each in mine)
    good = [each for each in every if each >= 0]
    one, p99 = statistics.median(alone), good[int(len(good) * 0.99)]
    print(f"one client: median {1000 * one:.1f} ms")
    print(f"{clients} clients: {len(good):,} answers, {len(every) - len(good)} errors, median")
    print(f"{1000 * statistics.median(good):.1f} ms, p99 {1000 * p99:.1f} ms = {p99 / one:.1f} x one client's median")
    print(f"memory {before / 1e6:.1f} MB before, {worker_memory() / 1e6:.1f} MB after")


if __name__ == "__main__":
    main()
