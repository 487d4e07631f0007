"""Which folders and sources an index of this place reads, and which of them wait for trust."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from capdisc.context.client_places import (
    find_plugins_here,
    link_rules,
    list_places,
    named_server_files,
    place_folders,
    plugin_folders,
    plugin_roots,
)
from capdisc_indexer.config.client_table import workspace_switches
from capdisc_indexer.config.trust import (
    LINK,
    OWNER,
    Grant,
    TrustRequest,
    is_inside,
    owner_requests,
)
from capdisc_indexer.lazy_imports import hex_sha256
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Coverage, DeclaredSource
from capdisc_indexer.platforms import resolve_path, system

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config

# The ending by which the readers of a format know a text of a declaration.
_TEXT_ENDINGS = {
    "document": ".md",
    "graphql": ".graphql",
    "python": ".py",
    "sql": ".sql",
    "table": ".csv",
}


def list_scan_roots(runtime: Runtime, config: Config) -> list[tuple[str, Path]]:
    """The configured roots, then the conventional ones and those of plugins, as pairs of
    origin and path; they need not exist. Those of the workspace that wait for trust are left
    out.
    """
    return _own_roots(runtime, config) + plugin_roots(runtime, config)


def _own_roots(runtime: Runtime, config: Config) -> list[tuple[str, Path]]:
    """The roots without those of plugins."""
    configured = [(config.origins["roots"], path) for path in runtime.configured_roots(config)]
    waiting = waiting_places(runtime, config)
    return configured + [
        (scope, path)
        for scope, path in runtime.conventional(config)
        if path.as_posix() not in waiting
    ]


def build_sources(
    runtime: Runtime, config: Config, coverage: Coverage
) -> tuple[DeclaredSource, ...]:
    """The sources of an index: the declared ones, the agents and commands of clients and the
    gateway's lists of tools; of an index without the usual folders, what lies in its paths.
    """
    added = tuple(map(Path, coverage.added))
    within = () if coverage.is_conventional else added
    sources = (
        *list_declared_sources(runtime, config, within),
        *place_sources(runtime, config, within),
        *resolve_sources(runtime, named_server_files(runtime, added)),
    )
    if within or not runtime.has_tool_lists():
        return sources
    lists = DeclaredSource(
        format="mcp",
        path=runtime.tool_lists_dir.as_posix(),
        origin="capdisc mcp --gateway",
        trusted=True,
    )
    return (*sources, lists)


def place_sources(
    runtime: Runtime, config: Config, paths: Sequence[Path] = ()
) -> tuple[DeclaredSource, ...]:
    """The agents and commands of clients and of their plugins as sources; where `paths` are named,
    only what lies in them. Folders of the workspace that wait for trust are left out.
    """
    within = tuple(str(runtime.expand(path)) for path in paths)
    waiting = waiting_places(runtime, config)
    sources = [
        DeclaredSource(
            format=form,
            path=(path / pattern).as_posix() if pattern else path.as_posix(),
            origin=scope,
            trusted=scope != "workspace",
            within=within,
            is_conventional=True,
        )
        for scope, form, path, pattern in list_places(runtime, config)
        if path.as_posix() not in waiting
    ]
    for plugin in find_plugins_here(runtime, config["folders"])[0]:
        parts = [("agent", path) for path in plugin.agents]
        parts += [("command", path) for path in plugin.commands]
        sources += [
            DeclaredSource(
                format=form,
                path=path.as_posix(),
                name=plugin.name,
                origin=plugin.id,
                trusted=True,
                within=within,
                confined_to=resolve_path(plugin.folder),
                is_conventional=True,
            )
            for form, path in parts
        ]
    return tuple(sources)


def has_own_capabilities(runtime: Runtime, config: Config) -> bool:
    """Whether an index of this workspace would hold anything else than the index of the home
    folder: a folder, source or overlay of the workspace, a setting that only counts here, or tools
    that the gateway has listed for it.
    """
    users = ("default", str(runtime.user_config))
    if any(
        config.origins[name] not in users for name in ("roots", "folders", "encoder", "reranker")
    ):
        return True
    origins = {item.origin for items in (config.sources, config.overlays) for item in items}
    if origins - {str(runtime.user_config)}:
        return True
    places = (*runtime.conventional(config), *place_folders(runtime, config))
    folders = (path for scope, path in places if scope == "workspace")
    if any(path.exists() for path in folders) or runtime.has_tool_lists():
        return True
    return plugin_folders(runtime, config) != plugin_folders(runtime.at_home(), config)


def place_requests(runtime: Runtime, config: Config) -> dict[str, tuple[TrustRequest, ...]]:
    """What has to be allowed before a folder or file of clients in the workspace is read, by its
    path: that it belongs to another user, or is a link out of the workspace to a place that is
    not scanned anyway. Others can make folders above the current one, a clone can bring links.
    """
    places = [*runtime.conventional(config), *place_folders(runtime, config)]
    places += [("switches", path) for path in workspace_switches(runtime.workspace)]
    requests: dict[str, tuple[TrustRequest, ...]] = {}
    for scope, path in places:
        # A stat for each of 40 folders costs 0.1 ms, to resolve their links ten times that.
        if scope not in ("workspace", "switches") or not os.path.exists(path):  # noqa: PTH110
            continue
        of_place = owner_requests(path.as_posix(), runtime.workspace.as_posix(), runtime.own_users)
        target = resolve_path(path)
        is_link_out = scope == "workspace" and not is_inside(target, [runtime.real_workspace])
        if is_link_out and not is_inside(target, _allowed_places(runtime, config)):
            link = TrustRequest(
                setting=LINK,
                value=path.as_posix(),
                place=target,
                origin=runtime.workspace.as_posix(),
            )
            of_place = (*of_place, link)
        requests[path.as_posix()] = of_place
    return requests


def waiting_places(runtime: Runtime, config: Config) -> dict[str, list[TrustRequest]]:
    """Those of these folders and files that are left out, with what the user has not allowed."""
    requests = place_requests(runtime, config)
    grant = runtime.load_grant() if any(requests.values()) else Grant()
    waiting = {
        path: [request for request in of_place if not grant.covers(request, config.digest)]
        for path, of_place in requests.items()
    }
    return {path: refused for path, refused in waiting.items() if refused}


def folder_requests(runtime: Runtime, config: Config) -> tuple[TrustRequest, ...]:
    """The requests that keep conventional folders of the workspace out, each once."""
    waiting = waiting_places(runtime, config)
    return tuple(dict.fromkeys(request for of_place in waiting.values() for request in of_place))


def find_scan_requests(runtime: Runtime, config: Config) -> tuple[TrustRequest, ...]:
    """A request for each link in the workspace's folders that leads out of the scanned ones,
    trusted or not, and for each folder of another user there that is not. Reads all these folders.
    """
    from capdisc_indexer.sources.scan.file_scan import scan_roots

    roots = [path for _, path in list_scan_roots(runtime, config) if path.exists()]
    rules = link_rules(runtime)
    owners = frozenset(line for line in rules.trusted if line.startswith(f"{OWNER} "))
    scan = scan_roots(
        list(dict.fromkeys(roots)),
        place_sources(runtime, config),
        confined=confined_roots(runtime, config),
        links=replace(rules, trusted=owners),
    )
    return scan.waiting


def confined_roots(runtime: Runtime, config: Config) -> dict[str, tuple[str, ...]]:
    """The roots that the workspace chose, each with the real folders that it may lead into: a
    link can take its place while it is watched.
    """
    allowed = _allowed_places(runtime, config)
    chosen = [
        path
        for scope, path in (*_own_roots(runtime, config), *place_folders(runtime, config))
        if scope in ("workspace", config.file)
    ]
    return {system.abspath(path): (*allowed, resolve_path(path)) for path in chosen}


def _allowed_places(runtime: Runtime, config: Config) -> tuple[str, ...]:
    """The real folders that folders of the workspace may lead into: the workspace, and those
    that are scanned anyway.
    """
    user_folders = (path for scope, path in runtime.conventional(config) if scope != "workspace")
    return (runtime.real_workspace, *(resolve_path(path) for path in user_folders))


# The declared sources, with the places of what they read.


def list_declared_sources(
    runtime: Runtime, config: Config, paths: Sequence[Path] = ()
) -> tuple[DeclaredSource, ...]:
    """The declared sources with absolute paths; where `paths` are named, only what lies in
    them. Raises InputError for a source that waits for trust and is wrong, as reading it
    would.
    """
    if config.left_out:
        from capdisc_indexer.sources.scan.declared_files import check_declaration

        for source in config.left_out:
            check_declaration(source)
    within = tuple(str(runtime.expand(path)) for path in paths)
    allowed = bool(config["allow_secret_files"])
    sources = [
        replace(source, within=within, allow_secret_files=allowed) for source in config.sources
    ]
    return resolve_sources(runtime, sources)


def resolve_sources(
    runtime: Runtime, sources: Iterable[DeclaredSource]
) -> tuple[DeclaredSource, ...]:
    """The declarations with absolute paths, and with the folders for the answers of programs."""
    return tuple(_resolve_source(runtime, source) for source in sources)


def _resolve_source(runtime: Runtime, source: DeclaredSource) -> DeclaredSource:
    path, state_dir = runtime.expand(Path(source.path)).as_posix(), runtime.state_dir()
    if "url_secret" in source.options:
        from capdisc_indexer.plugins.registry import load_service

        path = str(state_dir / "databases" / load_service("databases").kept_name(source))
    if source.url or source.text:
        path = str(_keep_document(state_dir / "documents", source))
    digits = hex_sha256(path.encode("utf-8", "surrogateescape"))[:16]
    return replace(source, path=path, answers_folder=str(state_dir / "servers" / digits))


def _keep_document(folder: Path, source: DeclaredSource) -> Path:
    """Where the copy of a document on the web lies, or the text of a declaration, which is
    written there: its name has the digest of its content, so it is written once.
    """
    from capdisc_indexer.sources.formats.naming_rules import plain_part

    digits = hex_sha256((source.url or source.text).encode())[:16]
    stem = f"{plain_part(source.name)}-{digits}"
    if source.url:
        suffix = PurePosixPath(source.url.partition("?")[0]).suffix
        ending = suffix if suffix[1:].isalnum() and len(suffix) <= 8 else ".md"
        return folder / f"{stem}{ending}"
    path = folder / f"{stem}{_ending_of_text(source)}"
    if not path.exists():
        from capdisc_indexer.store import state_file

        with state_file.lock_folder(folder):
            state_file.replace_state_file(path, source.text.encode())
    return path


def _ending_of_text(source: DeclaredSource) -> str:
    """The ending by which the readers of the format know a text of a declaration."""
    if ending := _TEXT_ENDINGS.get(source.format):
        return ending
    return ".json" if source.text.startswith(("{", "[")) else ".yaml"
