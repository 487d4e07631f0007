"""Asks the MCP servers of the configuration for their lists of tools, where the user allows it,
and keeps the lists.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.config.client_servers import ServerDeclaration, is_capdisc
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.trust import TrustRequest, is_inside
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import DeclaredSource, Finding
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store import state_file
from capdisc_run.gateway_servers import (
    drop_lists_of_removed_servers,
    gateway_places,
    select_servers,
    server_requests,
    waiting_reason,
)

_ASK_COMMAND = "run: capdisc index --ask-servers"
_ASK_AGAIN_HINT = "capdisc index --ask-servers asks again"


def ask_servers(
    runtime: surroundings.Runtime,
    config: Config,
    sources: Sequence[DeclaredSource],
    everyone: bool,
) -> None:
    """Ask the servers of all sources, or without `everyone` those of sources with `ask = true` in
    the user's own configuration.

    Prints a notice for a server that fails, whose last list stays, and for one that is not asked,
    with the age of its list. A program that a file of the workspace names is started only where
    the user has trusted it as it is now.
    """
    for source in sources:
        if source.format != "mcp-servers":
            continue
        wants = bool(source.options.get("ask"))
        if wants and not (source.trusted or everyone):
            message = f"ask = true counts in your own configuration only, not in {source.origin}"
            console.print_notice(
                f"notice: {message}; to ask its servers: capdisc index --ask-servers"
            )
        for file, server in _list_servers(source):
            if isinstance(server, Finding):
                _print_problem(server, everyone or wants)
                continue
            list_path = _list_path(source, server)
            reason = _waiting_reason(runtime, config, source, file, server) if everyone else ""
            if reason:
                console.print_notice(
                    f"notice: the server {server.name} is not asked: {console.sanitise(reason)}"
                )
            elif everyone or (wants and source.trusted):
                _ask_server(runtime, server, Path(file.path).parent, list_path)
            elif age := _list_age(list_path):
                console.print_notice(
                    f"notice: the tools of {server.name} were listed {age} ago; {_ASK_AGAIN_HINT}"
                )


def source_requests(
    runtime: surroundings.Runtime, sources: Sequence[DeclaredSource]
) -> Iterator[TrustRequest]:
    """The requests of each server in a file of the workspace. Files outside are the user's own:
    allowing such a source allows what it names.
    """
    for source in sources:
        for file, server in _list_servers(source):
            if not isinstance(server, Finding) and is_inside(
                file.resolved, [runtime.real_workspace]
            ):
                yield from _requests(runtime, file, server)


def _requests(
    runtime: surroundings.Runtime, file: FoundFile, server: ServerDeclaration
) -> Iterator[TrustRequest]:
    return server_requests(runtime, server, Path(file.path).parent)


def _waiting_reason(
    runtime: surroundings.Runtime,
    config: Config,
    source: DeclaredSource,
    file: FoundFile,
    server: ServerDeclaration,
) -> str:
    """Why the server waits for its user's trust; "" where it does not."""
    if source.trusted or not is_inside(file.resolved, [runtime.real_workspace]):
        return ""
    return waiting_reason(runtime, config, _requests(runtime, file, server))


def _list_path(source: DeclaredSource, server: ServerDeclaration) -> Path:
    from capdisc_indexer.sources.formats.mcp_servers import kept_name

    return Path(source.answers_folder) / kept_name(server.name)


def _print_problem(problem: Finding, is_asking: bool) -> None:
    """Loading reports it, too, but only once, and whoever asks servers waits for an answer."""
    if is_asking:
        console.print_notice(f"notice: {problem.message} ({problem.hint})")


def _list_servers(
    source: DeclaredSource,
) -> Iterator[tuple[FoundFile, ServerDeclaration | Finding]]:
    from capdisc_indexer.sources.formats.mcp_servers import servers_of
    from capdisc_indexer.sources.scan.declared_files import declared_files

    for file in declared_files(source, 0):
        if isinstance(file, FoundFile):
            yield from ((file, server) for server in servers_of(file))


def _ask_server(
    runtime: surroundings.Runtime, server: ServerDeclaration, folder: Path, list_path: Path
) -> None:
    from capdisc_indexer.sources.formats.mcp_servers import kept_text
    from capdisc_indexer.sources.formats.skill_answers import MAX_ANSWER_BYTES

    try:
        pages = _list_tools(runtime, server, folder)
        asked_at = datetime.now(UTC).isoformat(timespec="seconds")
        with state_file.lock_folder(list_path.parent):
            text = kept_text(server.name, asked_at, pages)
            state_file.replace_state_file(list_path, text, MAX_ANSWER_BYTES)
        if not any(page.get("tools") or page.get("skills") for page in pages):
            console.print_notice(f"notice: the server {server.name} lists no tools")
    except CapdiscError as problem:
        stays = f"; its list from {age} ago stays" if (age := _list_age(list_path)) else ""
        console.print_notice(
            f"notice: the server {server.name} could not be asked: {problem.message}{stays} ({problem.hint})"
        )


def _list_tools(
    runtime: surroundings.Runtime, server: ServerDeclaration, folder: Path
) -> list[JsonObject]:
    """The pages of what the server answers, started in the folder of its file. Raises CapdiscError
    where it does not answer.
    """
    from capdisc_indexer.sources.formats.mcp_servers import variables_in
    from capdisc_run.server_launch import prepare_launch
    from capdisc_run.server_pool import ServerPool

    places = replace(gateway_places(runtime), home=folder)
    launch = prepare_launch(server, places)
    # A value of an entry may be secret whatever its name.
    names = [name for word in server.args for name in variables_in(word, runtime.environ)]
    values = {name: runtime.environ.get(name, "") for name in names}
    values |= {name: launch.environment.get(name, "") for name in server.env}
    pool = ServerPool()
    try:
        return pool.list_tools(replace(launch, secrets=values | dict(launch.secrets)))
    finally:
        pool.close()


def refresh_lists(
    runtime: surroundings.Runtime,
    config: Config,
    sources: Sequence[DeclaredSource],
    is_asked_for: bool,
    asks_clients: bool,
) -> None:
    """Remove the lists of servers that are gone. With `asks_clients`, ask the servers that the
    files of clients name, where that is asked for, and keep their lists where the gateway keeps
    its own; else print a notice that names those without a list.

    Left out are servers that a source declares, those of the workspace that its user does not
    trust, and those that cannot be served; where servers are asked, a notice says why.
    """
    drop_lists_of_removed_servers(runtime)
    if not asks_clients:
        return
    declared = {system.realpath(source.path) for source in sources}
    selection = select_servers(runtime, config)
    servers = [
        server for server in selection.served if system.realpath(server.path) not in declared
    ]
    if not is_asked_for:
        unasked = [
            server.name
            for server in servers
            if not (runtime.tool_lists_dir / f"{server.name}.tools.json").exists()
        ]
        if unasked:
            names, is_one = console.format_names(unasked), len(unasked) == 1
            subject = f"server {names} was" if is_one else f"servers {names} were"
            console.print_notice(
                f"notice: the MCP {subject} not asked for {'its' if is_one else 'their'} tools; {_ASK_COMMAND}"
            )
        return
    for server, reason in selection.left_out:
        if server.client and not is_capdisc(server):
            console.print_notice(
                f"notice: the server {server.name} of {server.path} is not asked: {reason}"
            )
    for problem in selection.problems:
        console.print_notice(f"notice: {console.sanitise(problem)}")
    if not servers:
        return
    from capdisc_run import gateway_lists
    from capdisc_run.gateway import Gateway

    try:
        gateway = Gateway(servers, gateway_places(runtime))
    except CapdiscError as problem:  # the SDK is an extra
        console.print_notice(
            f"notice: the servers could not be asked: {problem.message} ({problem.hint})"
        )
        return
    try:
        refresh = gateway.refresh_lists([server.name for server in servers])
    finally:
        gateway.close()
    for name, text in refresh.problems.items():
        console.print_notice(f"notice: the server {name} could not be asked: {text}")
    for server in servers:
        stored = gateway_lists.read_list(runtime.tool_lists_dir, server.name)
        is_empty = stored and not stored.tools and not stored.skill_pages
        if is_empty and server.name not in refresh.problems:
            console.print_notice(f"notice: the server {server.name} lists no tools")


def _list_age(list_path: Path) -> str:
    """How long ago the list was made, "" where there is none."""
    try:
        seconds = time.time() - list_path.stat().st_mtime
    except OSError:
        return ""
    for length, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            return console.format_count(int(seconds // length), unit)
    return "less than a minute"
