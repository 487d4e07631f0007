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

from capdisc.context import open_index, surroundings
from capdisc.serve import frames, loopback, request_execution
from capdisc.serve.connections import CLIENT_TIMEOUT_S, Connections
from capdisc.serve.index_cache import IndexCache
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError

# Nobody waits for an answer that long; a native call that never returns can be ended by the kernel
# alone.
_BUSY_S = 10.0
_PAUSE_S = 5.0
_SWEEP_S = 1.0
_WARMUP_COMMANDS = (
    ["search", "warm up"],
    ["render", "warm up"],
    ["list", "--categories"],
    ["status"],
)


def main() -> None:
    """Answer until nobody has asked for long, or whoever started this is gone."""
    path, listening, channel, idle_s = (
        sys.argv[1],
        int(sys.argv[2]),
        int(sys.argv[3]),
        float(sys.argv[4]),
    )
    secret = loopback.read_port_file(path)[1] if path.endswith(loopback.SUFFIX) else b""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # which a terminal sends to all of us; the channel ends this one
    for fd in (listening, channel):
        os.set_inheritable(fd, False)
    cache = IndexCache()
    open_index.index_opener, open_index.encoder_loader, open_index.copy_syncer = (
        cache.index,
        cache.encoder,
        cache.sync_copy,
    )
    surroundings.limit_malloc_arenas()
    with socket.socket(fileno=listening) as served, socket.socket(fileno=channel) as starter:
        _warm_up(cache)
        served.listen(128)
        starter.send(b"r")
        _serve_loop(Connections(served, secret), starter, cache, idle_s)


def _warm_up(cache: IndexCache) -> None:
    """Open and import what requests are likely to need. Where that fails, the request will say
    why.
    """
    with suppress(CapdiscError):
        lazy_imports.numpy()
    with suppress(CapdiscError, OSError):
        runtime = surroundings.current_runtime()
        config = runtime.config()
        where = runtime.index_dir(None, config)
        with cache.index(
            where, runtime.builder_id(where, runtime.shared_index(None, config))
        ) as index:
            name = runtime.encoder_name(config["encoder"]) or index.generation.encoder
        if name:
            cache.load_encoder(name)
    for words in _WARMUP_COMMANDS:
        request_execution.answer_request(request_execution.build_own_request(words))
    gc.collect()
    gc.freeze()


def _serve_loop(
    connections: Connections, starter: socket.socket, cache: IndexCache, idle_s: float
) -> None:
    connections.selector.register(starter, selectors.EVENT_READ)
    used = swept = time.monotonic()
    while not idle_s or time.monotonic() - used < idle_s:
        pause = CLIENT_TIMEOUT_S if len(connections) else min(_PAUSE_S, idle_s or _PAUSE_S)
        for key, _ in connections.selector.select(0 if connections.has_pending else pause):
            if key.fileobj is starter:
                return
            connections.serve(key)
        if question := connections.next():
            connections.answer(question[0], _answer_question(question[1]))
            used = time.monotonic()
        if time.monotonic() - swept > _SWEEP_S:
            connections.expire()
            cache.evict_stale()
            swept = time.monotonic()


def _answer_question(parts: list[bytes]) -> list[bytes]:
    signal.setitimer(signal.ITIMER_REAL, _BUSY_S)
    try:
        return request_execution.answer_request(request_execution.decode_request(parts))
    except ValueError as error:
        return [frames.DECLINED, str(error).encode()]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
