"""The process that answers: it may die or be killed at any time, and another takes its place."""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress

from capdisc import asking, runtime
from capdisc.serve import execution, frames, loopback
from capdisc.serve.connections import LIMIT_S, Connections
from capdisc.serve.held import Held
from capdisc_indexer import engines
from capdisc_indexer.errors import CapdiscError

# Nobody waits for an answer that long; a native call that never returns can be ended by the kernel alone.
_BUSY_S = 10.0
_PAUSE_S = 5.0
_SWEEP_S = 1.0
_USUAL = (["search", "warm up"], ["render", "warm up"], ["list", "--categories"], ["status"])


def main() -> None:
    """Answer until nobody has asked for long, or whoever started this is gone."""
    path, listening, channel, idle_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    secret = loopback.described(path)[1] if path.endswith(loopback.SUFFIX) else b""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all of us; the channel ends this one
    for handle in (listening, channel):
        os.set_inheritable(handle, False)
    held = Held()
    asking.open_index, asking.load_encoder, asking.bring = held.index, held.encoder, held.bring
    runtime.keep_small()
    with socket.socket(fileno=listening) as served, socket.socket(fileno=channel) as starter:
        _warm(held)
        served.listen(128)
        starter.send(b"r")
        _loop(Connections(served, secret), starter, held, idle_s)


def _warm(held: Held) -> None:
    """Open and import what requests are likely to need. Where that fails, the request will say why."""
    with suppress(CapdiscError):
        engines.numpy()
    with suppress(CapdiscError, OSError):
        here = runtime.current()
        config = here.config()
        where = here.index_dir(None, config)
        with held.index(where, here.builder_id(where, here.shared(None, config))) as index:
            name = here.encoder_name(config["encoder"]) or index.generation.encoder
        if name:
            held.load_encoder(name)
    for words in _USUAL:
        execution.answer(execution.own(words))
    gc.collect()
    gc.freeze()


def _loop(connections: Connections, starter: socket.socket, held: Held, idle_s: float) -> None:
    connections.selector.register(starter, selectors.EVENT_READ)
    used = swept = time.monotonic()
    while not idle_s or time.monotonic() - used < idle_s:
        pause = LIMIT_S if len(connections) else min(_PAUSE_S, idle_s or _PAUSE_S)
        for key, _ in connections.selector.select(0 if connections.are_waiting else pause):
            if key.fileobj is starter:
                return
            connections.serve(key)
        if question := connections.next():
            connections.answer(question[0], _answer(question[1]))
            used = time.monotonic()
        if time.monotonic() - swept > _SWEEP_S:
            connections.expire()
            held.let_go_old()
            swept = time.monotonic()


def _answer(parts: list[bytes]) -> list[bytes]:
    signal.setitimer(signal.ITIMER_REAL, _BUSY_S)
    try:
        return execution.answer(execution.understood(parts))
    except ValueError as error:
        return [frames.DECLINED, str(error).encode()]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
