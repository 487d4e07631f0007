"""Ask the MCP servers of the configuration for their tools, where the user said so, and keep what they answer."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from capdisc import output, runtime
from capdisc_indexer.config import Config
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.server_config import Server
from capdisc_indexer.store import state_file
from capdisc_indexer.trust import HOW, TrustRequest, is_inside
from capdisc_indexer.types import DeclaredSource, Finding

_AGAIN = "capdisc index --ask-servers asks again"


def ask(here: runtime.Runtime, config: Config, sources: Sequence[DeclaredSource], everyone: bool) -> None:
    """Ask the servers of the sources: of all with `everyone`, else of those whose own user says `ask = true`. One that
    fails is told of, and its last list stays; of one that is not asked, the age of its list is told. A program that a
    file of the workspace names is started only as its user has seen it."""
    waiting: list[str] = []
    for source in sources:
        if source.format != "mcp-servers":
            continue
        wants = bool(source.options.get("ask"))
        if wants and not (source.trusted or everyone):
            message = f"ask = true counts in your own configuration only, not in {source.origin}"
            output.notice(f"notice: {message}; to ask its servers: capdisc index --ask-servers")
        for file, server in _servers(source):
            if isinstance(server, Finding):
                _refused(server, everyone or wants)
                continue
            kept = Path(source.kept) / server.kept_name()
            if everyone and not _is_allowed(here, config, source, file, server):
                waiting.append(server.name)
            elif everyone or (wants and source.trusted):
                _ask(here, server, Path(file.path).parent, kept)
            elif age := _age(kept):
                output.notice(f"notice: the tools of {server.name} were listed {age} ago; {_AGAIN}")
    if waiting:
        output.notice(f"notice: not started until you trust them: the servers {output.listed(waiting)}; {HOW}")


def server_requests(here: runtime.Runtime, sources: Sequence[DeclaredSource]) -> Iterator[TrustRequest]:
    """A request for each program in a file of the workspace. Files outside are the user's own: allowing such a source
    allows what it names."""
    for source in sources:
        for file, server in _servers(source):
            if isinstance(server, Server) and is_inside(file.resolved, [here.real_workspace]):
                yield _request(source, server)


def _request(source: DeclaredSource, server: Server) -> TrustRequest:
    """The request for a program; its digest covers the values of its environment, too, which are not shown."""
    from shlex import join

    names = f", with {', '.join(server.env)}" if server.env else ""
    covered = json.dumps([server.name, server.command, *server.args, dict(server.env)], sort_keys=True)
    digest = hashlib.sha256(covered.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    words = join([server.command, *server.args])
    return TrustRequest(setting="server", value=f"{server.name}: {words}{names}", place=digest, origin=source.origin)


def _is_allowed(here: runtime.Runtime, config: Config, source: DeclaredSource, file: FoundFile, server: Server) -> bool:
    if source.trusted or not is_inside(file.resolved, [here.real_workspace]):
        return True
    return here.load_grant().covers(_request(source, server), config.digest)


def _refused(problem: Finding, is_asking: bool) -> None:
    """Loading tells of it too, but only once, and who asks waits for an answer."""
    if is_asking:
        output.notice(f"notice: {problem.message} ({problem.hint})")


def _servers(source: DeclaredSource) -> Iterator[tuple[FoundFile, Server | Finding]]:
    from capdisc_indexer.sources.declared import declared_files
    from capdisc_indexer.sources.mcp_servers import servers_of

    for file in declared_files(source, 0):
        if isinstance(file, FoundFile):
            yield from ((file, server) for server in servers_of(file))


def _ask(here: runtime.Runtime, server: Server, folder: Path, kept: Path) -> None:
    from capdisc_indexer.running.listing import listed
    from capdisc_indexer.sources.mcp_servers import kept_text

    try:
        pages = listed(server, here.environ, folder)
        asked_at = datetime.now(UTC).isoformat(timespec="seconds")
        with state_file.changing(kept.parent):
            state_file.replace(kept, kept_text(server.name, asked_at, pages))
    except CapdiscError as problem:
        stays = f"; its list from {age} ago stays" if (age := _age(kept)) else ""
        output.notice(f"notice: the server {server.name} could not be asked: {problem.message}{stays} ({problem.hint})")


def _age(kept: Path) -> str:
    """How long ago the list was made, "" where there is none."""
    try:
        seconds = time.time() - kept.stat().st_mtime
    except OSError:
        return ""
    for length, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            return output.count(int(seconds // length), unit)
    return "less than a minute"
