"""`capdisc mcp --gateway` while it runs: asks servers for their tools in the background, brings
the index up to date with what they say, and prints which servers are served.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.indexing.previous_build import load_previous_build
from capdisc_indexer.model.errors import CapdiscError
from capdisc_run import gateway_lists
from capdisc_run.gateway import Gateway
from capdisc_run.gateway_servers import ServerSelection, announce_servers, gateway_places
from capdisc_run.server_launch import INSIDE_VARIABLE
from capdisc_run.server_tools import describe_server, format_server

# A build of a large index on a slow machine; a later change starts the next one.
_BUILD_SECONDS = 600.0
# Servers send several notifications for one change.
_SETTLE_SECONDS = 0.5
# How long a first search waits for the lists of tools; clients wait for 60 seconds or longer.
_FIRST_SECONDS = 40.0


class GatewayService:
    """The gateway of a process, with a thread that keeps the lists of its servers fresh."""

    def __init__(
        self, runtime: surroundings.Runtime, selection: ServerSelection, index_dir: Path | None
    ) -> None:
        self._runtime, self._index_dir = runtime, index_dir
        self._places = gateway_places(runtime)
        self._allowed_names = selection.allowed_names()
        self._changes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._is_ready = threading.Event()
        self._is_closed = False
        self.gateway = Gateway(selection.served, self._places, self._changes.put)

    def start(self) -> None:
        """Ask the servers for their tools where no fresh list of them is kept, in a thread, and
        again whenever one says that its tools have changed.
        """
        threading.Thread(target=self._keep_fresh, daemon=True).start()

    def await_lists(self, is_stopped: Callable[[], bool]) -> None:
        """Wait a while until the servers were asked and the index was built from their lists."""
        deadline = time.monotonic() + _FIRST_SECONDS
        while not (self._is_ready.wait(0.1) or is_stopped() or time.monotonic() > deadline):
            pass

    def close(self) -> None:
        """End all servers."""
        self._is_closed = True
        self.gateway.close()

    def _keep_fresh(self) -> None:
        has_changed = self._remove_lists()
        self._refresh(self.gateway.stale_servers(), has_changed or not self._is_in_index())
        self._is_ready.set()
        while True:
            names = {self._changes.get()}
            while True:
                try:
                    names.add(self._changes.get(timeout=_SETTLE_SECONDS))
                except queue.Empty:
                    break
            self._refresh(sorted(names), True)

    def _remove_lists(self) -> bool:
        """Removes the lists of servers that may not be served any more; whether there were any."""
        try:
            return gateway_lists.remove_lists(self._places.lists, self._allowed_names)
        except CapdiscError as error:
            console.print_notice(f"notice: {error.message} ({error.hint})")
            return False

    def _refresh(self, names: Sequence[str], has_changed: bool) -> None:
        """Asks these servers, and builds the index where a list changed."""
        try:
            refresh = self.gateway.refresh_lists(names)
            if self._is_closed:  # and the servers with us, some before they could answer
                return
            for name, problem in refresh.problems.items():
                console.print_notice(f"notice: the tools of {name} are not listed: {problem}")
            for name in names:
                if name not in refresh.problems and not self._has_answers(name):
                    console.print_notice(f"notice: {name} lists no tools")
            if refresh.changed or has_changed:
                self._build_index()
        except (RuntimeError, OSError) as error:  # the process ends, or has no more threads
            if not self._is_closed:
                console.print_notice(f"notice: the servers were not asked: {error}")

    def _has_answers(self, name: str) -> bool:
        """Whether tools or skills of the server are kept."""
        stored = gateway_lists.read_list(self._places.lists, name)
        return stored is not None and bool(stored.tools or stored.skill_pages)

    def _is_in_index(self) -> bool:
        """Whether the published index holds the kept lists."""
        where = self._runtime.index_dir(self._index_dir, self._runtime.config())
        previous = load_previous_build(where, builder_id=self._runtime.builder_id(where))
        lists = (
            gateway_lists.list_path(self._places.lists, name) for name in self.gateway.servers
        )
        return all(str(path) in previous.files for path in lists if path.exists())

    def _build_index(self) -> None:
        """Runs `capdisc index` in a process of its own: a build needs memory that this one would
        keep.
        """
        where = [] if self._index_dir is None else ["--index-dir", str(self._index_dir)]
        command = [sys.executable, "-P", "-m", "capdisc", "index", "--again", "--quiet", *where]
        try:
            done = subprocess.run(
                command,
                cwd=self._runtime.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_BUILD_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            console.print_notice(f"notice: the tools of the servers are not indexed: {error}")
            return
        if done.returncode not in (ExitCode.OK, ExitCode.FINDINGS):
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = console.sanitise(lines[-1]) if lines else f"exit status {done.returncode}"
            console.print_notice(f"notice: the tools of the servers are not indexed: {reason}")


def print_servers(runtime: surroundings.Runtime, selection: ServerSelection, json: bool) -> int:
    """Print which servers are served, where each is declared, and which of their tools may be
    called; and which servers are not served, with the reason.
    """
    documents = [describe_server(runtime, server) for server in selection.served]
    left_out = [
        {"server": server.name, "client": server.client, "path": server.path, "reason": reason}
        for server, reason in selection.left_out
    ]
    if json:
        console.print_document(
            {"served": documents, "left_out": left_out, "problems": list(selection.problems)}
        )
        return ExitCode.OK
    unlisted = "not asked for its tools yet; capdisc mcp --gateway asks it when it starts"
    for document in documents:
        console.print_lines(format_server(document, unlisted, "approved by you"))
        if names := document["tools"]["asked"]:
            label = f"asked about, or refused until: capdisc trust 'tool:{document['server']}.*'"
            console.print_lines([console.sanitise(f"  {label}: {console.format_names(names)}")])
    for row in left_out:
        console.print_lines(
            [console.sanitise(f"not served: {row['server']} ({row['path']}): {row['reason']}")]
        )
    if not documents and not left_out:
        console.print_lines(["no client's file names an MCP server"])
    for problem in selection.problems:
        console.print_notice(f"notice: {problem}")
    return ExitCode.OK


def choose_servers(
    runtime: surroundings.Runtime, config: Config, names: Sequence[str]
) -> ServerSelection:
    """The servers to serve; none inside another gateway, which would start us without end."""
    if runtime.environ.get(INSIDE_VARIABLE):
        console.print_notice("notice: no servers are served inside another gateway")
        return ServerSelection()
    return announce_servers(runtime, config, names)


@contextmanager
def open_gateway(
    runtime: surroundings.Runtime, selection: ServerSelection, index_dir: Path | None
) -> Iterator[GatewayService]:
    """The gateway to the servers, which are ended with the block."""
    service = GatewayService(runtime, selection, index_dir)
    try:
        service.start()
        yield service
    finally:
        service.close()
