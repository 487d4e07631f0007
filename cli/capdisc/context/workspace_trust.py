"""What a workspace asks its user for: every request for `capdisc trust`, and for other commands
one notice about what is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.config.trust import TRUST_HINT, TrustRequest
from capdisc_indexer.text.normalization import name_first, one_line

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config
    from capdisc_indexer.model.types import DeclaredSource

_MAX_REQUESTS = 4
# Of one request in a notice; `capdisc trust` prints it whole.
_MAX_CHARACTERS = 300


def announce(requests: Iterable[TrustRequest], where: str) -> tuple[str, ...]:
    """Print a notice of one line about what is left out. Returns the notices for JSON output, none
    where nothing is left out.

    A model may read the JSON: it names settings, and repeats nothing from the workspace's file.
    """
    waiting = tuple(requests)
    if not waiting:
        return ()
    lines = format_lines([request.line for request in waiting])
    console.print_notice(f"notice: left out until you trust it: {lines} ({where}); {TRUST_HINT}")
    names = ", ".join(dict.fromkeys(request.setting for request in waiting))
    return (f"left out until the user trusts this workspace: {names}; {TRUST_HINT}",)


def format_lines(lines: Sequence[str]) -> str:
    """The first lines of requests, and how many more there are, on one line."""
    return name_first([one_line(line, _MAX_CHARACTERS) for line in lines], _MAX_REQUESTS)


def announce_settings(
    config: Config, folders: Iterable[TrustRequest] = (), where: str = ""
) -> tuple[str, ...]:
    """The same for the requests of the workspace's file, and for those of its folders, which lie
    at `where`, in a command that reads them.
    """
    waiting = (*config.waiting, *folders)
    return (*announce_strays(config), *announce(waiting, config.file or where))


def announce_strays(config: Config) -> tuple[str, ...]:
    """The same for settings files of the workspace that are not read."""
    notices = tuple(
        f"{one_line(path)} is a link out of the workspace, and is not read"
        for path in config.strays
    )
    for notice in notices:
        console.print_notice(f"notice: {notice}")
    return notices


def list_requests(
    runtime: Runtime, config: Config, with_clients: bool = False
) -> tuple[TrustRequest, ...]:
    """Everything that the workspace asks for beyond its own folder, allowed or not, each once;
    `with_clients`, also the MCP servers that its files for clients name, which only the gateway
    starts, and the links in its folders.
    """
    from capdisc.context.index_scope import find_scan_requests, place_requests
    from capdisc_indexer.plugins.registry import find_service

    servers = find_service("servers") if with_clients else None
    requests = (
        *config.requests,
        *rule_requests(config),
        *_server_requests(runtime, config),
        *chain.from_iterable(place_requests(runtime, config).values()),
        *(servers.workspace_requests(runtime) if with_clients and servers else ()),
        *(find_scan_requests(runtime, config) if with_clients else ()),
    )
    return tuple(dict.fromkeys(requests))


def refused_requests(
    runtime: Runtime, config: Config, with_clients: bool = False
) -> tuple[TrustRequest, ...]:
    """The requests that the user has not allowed."""
    requests = list_requests(runtime, config, with_clients)
    grant = runtime.load_grant() if requests else None
    return tuple(
        request for request in requests if grant and not grant.covers(request, config.digest)
    )


def index_requests(runtime: Runtime, config: Config) -> list[str]:
    """The lines of all requests that keep something out of the index until the user allows them:
    those that `capdisc trust` shows. Reads all folders, for the links in them.
    """
    return [request.line for request in refused_requests(runtime, config, with_clients=True)]


def rule_requests(config: Config) -> Iterator[TrustRequest]:
    """A request for each part of the workspace's choice of rules that silences a rule which guards
    the reader.
    """
    if not config.file or config.file not in (
        config.origins[name] for name in ("validate.select", "validate.ignore")
    ):
        return
    from capdisc_indexer.validation.finding_selection import loosening

    for name in ("select", "ignore"):
        setting = f"validate.{name}"
        if config.origins[setting] == config.file:
            for value in loosening(name, config[setting]):
                yield TrustRequest(setting=setting, value=value, origin=config.file)


def _server_requests(runtime: Runtime, config: Config) -> Iterator[TrustRequest]:
    """A request for each program in a file of MCP servers that the workspace declares."""
    sources = [
        source for source in (*config.sources, *config.left_out) if declares_servers(source)
    ]
    if sources:
        from capdisc.context.index_scope import resolve_sources
        from capdisc_indexer.plugins.registry import load_service

        lists = load_service("server-lists")
        yield from lists.source_requests(runtime, resolve_sources(runtime, sources))


def declares_servers(source: DeclaredSource) -> bool:
    """Whether the workspace declares this file of MCP servers, which are programs."""
    return source.format == "mcp-servers" and not source.trusted
