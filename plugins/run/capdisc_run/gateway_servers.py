"""Which MCP servers of the clients' configuration may the gateway serve here, and why not the
others?

The user's own files count by themselves. A server that a file of the workspace names is served
once its user has trusted it as it is now: a clone can bring such files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import capdisc_guard
from capdisc.output import console
from capdisc_indexer.config.client_servers import (
    ServerDeclaration,
    find_repetitions,
    is_capdisc,
    read_servers,
)
from capdisc_indexer.config.trust import TRUST_HINT, TrustRequest, is_inside
from capdisc_indexer.model.errors import CapdiscError, InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config
    from capdisc_run.server_launch import GatewayPlaces

# Name and password in a URL.
_LOGIN = re.compile(r"//[^/@]*@")
_NOT_CHOSEN = "not chosen"
# The setting of a request for a file that the entry of a server names.
FILE = "file"
# Of a SHA-256, as many digits as nobody finds two texts with.
_DIGITS = 32


@frozen(kw_only=True)
class ServerSelection:
    """The servers that are served, and those that are not, each with the reason. `problems` are
    files that could not be read.
    """

    served: tuple[ServerDeclaration, ...] = ()
    left_out: tuple[tuple[ServerDeclaration, str], ...] = ()
    problems: tuple[str, ...] = ()

    def allowed_names(self) -> list[str]:
        """The names of the servers that may be served here, chosen or not."""
        unchosen = (server.name for server, reason in self.left_out if reason == _NOT_CHOSEN)
        return [*(server.name for server in self.served), *unchosen]


def select_servers(runtime: Runtime, config: Config, names: Sequence[str] = ()) -> ServerSelection:
    """The servers of the clients' files, or those of them with these names. Raises UsageError for
    a name that no file has.
    """
    declarations = _read_declarations(runtime)
    problems = tuple(
        f"{declaration.path}: {declaration.problem}"
        for declaration in declarations
        if not declaration.name
    )
    named = [declaration for declaration in declarations if declaration.name]
    if unknown := sorted(set(names) - {declaration.name for declaration in named}):
        server_names = ", ".join(sorted({declaration.name for declaration in named})) or "none"
        raise UsageError(
            f"no client's file names a server {unknown[0]}", f"servers there: {server_names}"
        )
    reasons = [(declaration, _reason(runtime, config, declaration)) for declaration in named]
    allowed = [declaration for declaration, reason in reasons if not reason]
    repetitions = find_repetitions(allowed)
    unique = [server for place, server in enumerate(allowed) if place not in repetitions]
    served = tuple(server for server in unique if not names or server.name in names)
    left_out = [(declaration, reason) for declaration, reason in reasons if reason]
    left_out += [(allowed[place], reason) for place, reason in repetitions.items()]
    left_out += [(server, _NOT_CHOSEN) for server in unique if server not in served]
    return ServerSelection(served=served, left_out=tuple(left_out), problems=problems)


def names_servers(runtime: Runtime, config: Config) -> bool:
    """Whether a file of the workspace names a server that is served, or would be with trust."""
    selection = select_servers(runtime, config)
    waiting = [server for server, reason in selection.left_out if TRUST_HINT in reason]
    return any(server.scope == "workspace" for server in (*selection.served, *waiting))


def workspace_requests(runtime: Runtime) -> Iterator[TrustRequest]:
    """The requests of each server that a file of the workspace names; not of capdisc itself, which
    the gateway never starts.
    """
    for declaration in _read_declarations(runtime):
        is_asked_for = declaration.name and not (declaration.problem or is_capdisc(declaration))
        if is_asked_for and declaration.scope == "workspace":
            yield from server_requests(runtime, declaration)


def server_requests(
    runtime: Runtime, declaration: ServerDeclaration, folder: Path | None = None
) -> Iterator[TrustRequest]:
    """A request for a server of the workspace, and one for each file of the workspace that its
    entry names, with the digest of its bytes. It starts in `folder` (None: in the workspace).

    The digest of the server covers all values of its entry, too, which are not shown.
    """
    covered = json.dumps([declaration.name, declaration.start], sort_keys=True)
    yield TrustRequest(
        setting="server",
        value=f"{declaration.name}: {describe_start(declaration)}",
        place=hashlib.sha256(covered.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS],
        origin=declaration.path,
    )
    for path, digest in _digest_files(runtime, declaration, folder).items():
        yield TrustRequest(setting=FILE, value=path, place=digest, origin=declaration.path)


def waiting_reason(runtime: Runtime, config: Config, requests: Iterable[TrustRequest]) -> str:
    """Why a server with these requests waits for its user; "" where all of them are allowed."""
    grant = runtime.load_grant()
    refused = [request for request in requests if not grant.covers(request, config.digest)]
    if not refused:
        return ""
    if refused[0].setting != FILE:
        return f"it waits for your trust; {TRUST_HINT}"
    names = console.format_names(
        [system.relpath(file.value, runtime.workspace) for file in refused]
    )
    return f"its files are not those that you trusted: {names}; {TRUST_HINT}"


def announce_servers(runtime: Runtime, config: Config, texts: Sequence[str]) -> ServerSelection:
    """As `select_servers`, for names that commas separate. Notices say which files cannot be read,
    which servers wait for their user's trust, and that there is none to serve.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    selection = select_servers(runtime, config, [name for name in names if name])
    for problem in selection.problems:
        console.print_notice(f"notice: {problem}")
    for server, reason in selection.left_out:
        if TRUST_HINT in reason:
            console.print_notice(
                f"notice: the server {server.name} is not served: {console.sanitise(reason)}"
            )
    if not selection.served:
        console.print_notice(
            "notice: the gateway has no server to serve; capdisc mcp --gateway --list says why"
        )
    return selection


def _digest_files(
    runtime: Runtime, declaration: ServerDeclaration, folder: Path | None
) -> dict[str, str]:
    """The digest of each file of the workspace that the entry of the server names, by its path."""
    from capdisc_run.approvals import digest_file, named_files
    from capdisc_run.server_launch import prepare_launch

    if declaration.url:
        return {}
    cwd, words = folder or runtime.workspace, list(declaration.texts)
    with suppress(CapdiscError):  # it cannot be started here, and is not
        launch = prepare_launch(replace(declaration, scope="workspace"), gateway_places(runtime))
        cwd = folder or launch.cwd
        values = (launch.environment[name].split(os.pathsep) for name in declaration.env)
        words += (*launch.argv, *chain.from_iterable(values))
    digests: dict[str, str] = {}
    for path, resolved in named_files(words, [str(cwd)]):
        place = system.normpath(path)
        if is_inside(place, [runtime.workspace.as_posix()]) or is_inside(
            resolved, [runtime.real_workspace]
        ):
            try:
                digests[place] = digest_file(resolved)[:_DIGITS]
            except InputError:
                digests[place] = "cannot be read"
    return digests


def drop_lists_of_removed_servers(runtime: Runtime) -> None:
    """Remove the kept tools of servers that no client's file names any more; none where a file
    cannot be read, since somebody may be writing it.
    """
    if not runtime.has_tool_lists():
        return
    from capdisc_run import gateway_lists

    declarations = _read_declarations(runtime)
    if all(declaration.name for declaration in declarations):
        names = [declaration.name for declaration in declarations]
        try:
            gateway_lists.remove_lists(runtime.tool_lists_dir, names)
        except CapdiscError as error:
            console.print_notice(f"notice: {error.message} ({error.hint})")


def list_unasked_servers(
    runtime: Runtime, scopes: Collection[str] = ("user", "workspace")
) -> list[str]:
    """The MCP servers of clients' files that were never asked for their tools."""
    from capdisc_run import gateway_lists

    names = [
        declaration.name
        for declaration in _read_declarations(runtime)
        if declaration.name and declaration.scope in scopes and not is_capdisc(declaration)
    ]
    lists = runtime.tool_lists_dir
    return [name for name in names if not gateway_lists.list_path(lists, name).exists()]


def name_unasked_servers_once(runtime: Runtime) -> None:
    """Name the servers of .mcp.json that were never asked for tools, once in each workspace."""
    mark = runtime.named_servers_mark
    if mark.exists():
        return
    from capdisc_indexer.store import state_file

    unasked = list_unasked_servers(runtime, ("workspace",))
    with suppress(CapdiscError, OSError), state_file.lock_folder(mark.parent):
        state_file.replace_state_file(mark, b"")
    if unasked:
        server = "the MCP server" if len(unasked) == 1 else "the MCP servers"
        console.print_notice(
            f"notice: tools of {server} {console.format_names(unasked)} are not in the index yet: "
            "capdisc trust, then capdisc index --ask-servers"
        )


def gateway_places(runtime: Runtime) -> GatewayPlaces:
    """Where the gateway works here."""
    from capdisc_run.server_launch import GatewayPlaces

    return GatewayPlaces(
        lists=runtime.tool_lists_dir,
        approvals=runtime.user_state_dir(),
        environ=runtime.environ,
        home=runtime.home,
        workspace=runtime.workspace,
        refusal=lambda declaration: _trust_reason(runtime, runtime.config(), declaration),
    )


def describe_start(declaration: ServerDeclaration) -> str:
    """What is started or reached, with the names of variables and headers, without their values,
    and without keys of known shapes; and every variable that is taken from the environment.
    """
    from capdisc_indexer.sources.formats.mcp_servers import named_variables

    start = shlex.join([declaration.command, *declaration.args])
    if declaration.url:
        start = _LOGIN.sub("//", declaration.url.partition("?")[0])
    names = ", ".join(declaration.headers if declaration.url else declaration.env)
    taken = ", ".join(named_variables(declaration.texts))
    return (
        capdisc_guard.mask_keys(start)
        + (f", with {names}" if names else "")
        + (f", taking from your environment: {taken}" if taken else "")
    )


def _read_declarations(runtime: Runtime) -> list[ServerDeclaration]:
    from capdisc.context.client_places import server_files

    return read_servers(server_files(runtime), runtime.home, runtime.workspace)


def _reason(runtime: Runtime, config: Config, declaration: ServerDeclaration) -> str:
    """Why the server is not served; "" where it is."""
    if declaration.problem:
        return declaration.problem
    if is_capdisc(declaration):
        return "it is capdisc itself"
    return _trust_reason(runtime, config, declaration)


def _trust_reason(runtime: Runtime, config: Config, declaration: ServerDeclaration) -> str:
    """Why the server waits for its user's trust; "" where it does not."""
    if declaration.scope != "workspace":
        return ""
    return waiting_reason(runtime, config, server_requests(runtime, declaration))
