"""The process's surroundings, read in this one place: streams, terminal, environment, folders."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc_indexer.config.client_folders import CLIENT_PROFILES, conventional_roots
from capdisc_indexer.config.configuration import (
    Config,
    default_index_dir,
    default_state_dir,
    find_workspace,
    load_config,
)
from capdisc_indexer.config.trust import Grant, TrustRequest, is_inside
from capdisc_indexer.encoders import SHIPPED_ENCODER
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import DeclaredSource, DefinitionGuard
from capdisc_indexer.store.builders import ensure_id, load_id

if TYPE_CHECKING:
    from capdisc_indexer.remote.remote_types import SharedIndex


@frozen(kw_only=True)
class Runtime:
    """What a command may know about where it runs."""

    environ: Mapping[str, str]
    cwd: Path
    home: Path
    stdin_is_terminal: bool
    stdout_is_terminal: bool
    stderr_is_terminal: bool

    @property
    def workspace(self) -> Path:
        """The folder whose capabilities and index are meant."""
        return find_workspace(self.cwd, self.home)

    @property
    def system(self) -> str:
        """The operating system, as `sys.platform` names it."""
        return sys.platform

    @property
    def colour(self) -> bool:
        """Whether results may be coloured: NO_COLOR and FORCE_COLOR decide, else whether a
        terminal is there.
        """
        if self.environ.get("NO_COLOR"):
            return False
        is_terminal = self.stdout_is_terminal and self.environ.get("TERM") != "dumb"
        return self.environ.get("FORCE_COLOR", "0") not in ("", "0") or is_terminal

    @property
    def columns(self) -> int:
        """How wide a line may be: the terminal's width, or a good deal in a pipe."""
        import shutil

        return shutil.get_terminal_size().columns if self.stdout_is_terminal else 140

    @property
    def user_config(self) -> Path:
        """The user's own configuration file, there or not."""
        return (
            Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")
            / "capdisc"
            / "config.toml"
        )

    def config(self) -> Config:
        """The effective settings here."""
        return load_config(
            self.workspace, self.user_config, self.environ, os.pathsep, self.expand, self.load_grant
        )

    @property
    def trust_dir(self) -> Path:
        """Where it is kept what this user trusts: by CAPDISC_STATE_DIR, else below the user's
        state folder. One that lies in the workspace is not taken, since a clone could have brought
        it.
        """
        own = self.home / ".local" / "state" / "capdisc" / "trust"
        named = self.environ.get("CAPDISC_STATE_DIR")
        chosen = (
            self.expand(Path(named)) / "trust" if named else self._state_home / "capdisc" / "trust"
        )
        if chosen == own:
            return own
        workspace = [self.real_workspace]
        may_be_brought = is_inside(os.path.realpath(chosen), workspace)
        return (
            own
            if may_be_brought and not is_inside(os.path.realpath(self.home), workspace)
            else chosen
        )

    @property
    def real_workspace(self) -> str:
        """The workspace without links, by which trust in it is kept."""
        return os.path.realpath(self.workspace)

    def load_grant(self) -> Grant:
        """What the user allowed this workspace."""
        from capdisc_indexer.store.state_file import load_grant

        return load_grant(self.trust_dir, self.real_workspace)

    def builder_id(self, index_dir: Path, shared: SharedIndex | None = None) -> str | None:
        """The id that an index in this folder has when this user built it ("": none was built
        there); None for the copy of a shared one, which the digests of its store vouch for.
        """
        return None if shared else load_id(self.trust_dir, index_dir)

    def index_dir(self, flag: Path | None, config: Config) -> Path:
        """Where the index lies: by flag, by setting, else below the user's cache folder. Of one on
        an object store, where its copy is kept.
        """
        if shared := self.shared_index(flag, config):
            return shared.copy
        if flag is not None:
            if not str(flag).strip() or str(flag) == ".":
                raise UsageError("--index-dir is empty", "name a folder of its own for the index")
            return self.expand(flag)
        if config["index_dir"]:
            return self.expand(Path(config["index_dir"]))
        cache = Path(self.environ.get("XDG_CACHE_HOME") or self.home / ".cache")
        return default_index_dir(self.workspace, cache)

    def shared_index(self, flag: Path | None, config: Config) -> SharedIndex | None:
        """The index on an object store that is meant, if one is. Raises RefusedError where a file
        of the workspace alone names it.
        """
        named = config["index_dir"] if flag is None else str(flag)
        if ":/" not in named:
            return None
        from capdisc.context import shared_index

        return shared_index.resolve_shared_index(
            self, named, "" if flag is not None else config.origins["index_dir"], config
        )

    def ensure_builder_id(self, index_dir: Path) -> str:
        """The id that what is built in this folder has to have, kept from now on. Raises
        InputError where the user's state cannot be written.
        """
        return ensure_id(self.trust_dir, index_dir)

    def state_dir(self) -> Path:
        """Where sessions and facts of this workspace lie: by CAPDISC_STATE_DIR, else below the
        user's state folder. No file of the workspace decides it: what is kept there goes into
        prompts.
        """
        if named := self.environ.get("CAPDISC_STATE_DIR"):
            return self.expand(Path(named))
        return default_state_dir(self.workspace, self._state_home)

    def user_state_dir(self) -> Path:
        """Where what belongs to the user and to no workspace is kept: by CAPDISC_STATE_DIR, else
        in the user's state folder.
        """
        if named := self.environ.get("CAPDISC_STATE_DIR"):
            return self.expand(Path(named))
        return self._state_home / "capdisc"

    @property
    def _state_home(self) -> Path:
        return Path(self.environ.get("XDG_STATE_HOME") or self.home / ".local" / "state")

    def definition_guard(self) -> DefinitionGuard:
        """What tells others' definitions from the user's own: those in the workspace (unless that
        is the home folder or above it) and in the user's folders, whichever client they belong to.
        """
        from capdisc_indexer.sources.scan.folder_tree import is_inside  # which no answer needs

        home, workspace = os.path.realpath(self.home), os.path.realpath(self.workspace)
        places = [workspace] if not is_inside(home, [workspace]) else []
        for profile in CLIENT_PROFILES:
            roots = conventional_roots(profile, self.cwd, self.workspace, self.home)
            places += [os.path.realpath(path) for scope, path in roots if scope == "user"]
        memory = str(self.state_dir() / "definitions" / "memory.sqlite")
        return DefinitionGuard(memory=memory, own_places=tuple(dict.fromkeys(places)))

    def expand(self, path: Path) -> Path:
        """The absolute path; `~` is the home folder, anything relative is meant from here."""
        text = str(path)
        if text == "~" or text.startswith("~/"):
            return self.home / text[2:]
        return Path(os.path.normpath(self.cwd / path))

    def encoder_name(self, name: str) -> str:
        """The name, or the absolute path where it names a folder."""
        path = self.expand(Path(name))
        # A folder of that name, which a clone can bring, is not the encoder that ships with this.
        return str(path) if name not in ("", SHIPPED_ENCODER) and path.is_dir() else name

    def configured_roots(self, config: Config) -> list[Path]:
        """The folders that settings name, existing or not."""
        return [self.expand(Path(text)) for text in config["roots"]]

    def sources(self, config: Config, paths: Sequence[Path] = ()) -> tuple[DeclaredSource, ...]:
        """The declared sources, with whole paths; where `paths` are named, only what lies in one
        of them. Raises InputError for one that waits for trust and makes no sense, as reading it
        would.
        """
        if config.left_out:
            from capdisc_indexer.sources.scan.declared_files import check_declaration

            for source in config.left_out:
                check_declaration(source)
        within = tuple(str(self.expand(path)) for path in paths)
        allowed = bool(config["allow_secret_files"])
        return self.place(
            replace(source, within=within, allow_secret_files=allowed) for source in config.sources
        )

    def place(self, sources: Iterable[DeclaredSource]) -> tuple[DeclaredSource, ...]:
        """The declarations with whole paths, and with the folders that answers of programs are
        kept in.
        """
        return tuple(self._resolve_source(source) for source in sources)

    def _resolve_source(self, source: DeclaredSource) -> DeclaredSource:
        """The declaration with its whole path, and with the folder that what a program answers to
        it is kept in.
        """
        path = str(self.expand(Path(source.path)))
        if "url_secret" in source.options:
            from capdisc_indexer.sources.formats.tables.reflection import kept_name

            path = str(self.state_dir() / "databases" / kept_name(source))
        digits = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return replace(source, path=path, answers_folder=str(self.state_dir() / "servers" / digits))

    def roots(self, config: Config) -> list[tuple[str, Path]]:
        """Configured roots, then the conventional ones, each with where it comes from; existing or
        not. Links of the workspace that wait for trust are left out.
        """
        configured = [(config.origins["roots"], path) for path in self.configured_roots(config)]
        waiting = {request.value for request in self.waiting_links(config)}
        return configured + [
            (scope, path) for scope, path in self._conventional(config) if str(path) not in waiting
        ]

    def link_requests(self, config: Config) -> tuple[TrustRequest, ...]:
        """A request for each conventional folder of the workspace that a link leads out of it, to
        where the user keeps no capabilities either: a clone can bring links.
        """
        roots, allowed = self._conventional(config), self._allowed_places(config)
        own = ((str(path), os.path.realpath(path)) for scope, path in roots if scope == "workspace")
        return tuple(
            TrustRequest(setting="link", value=path, place=place, origin=str(self.workspace))
            for path, place in own
            if not is_inside(place, allowed)
        )

    def waiting_links(self, config: Config) -> tuple[TrustRequest, ...]:
        """Those of them that the user has not allowed."""
        requests = self.link_requests(config)
        grant = self.load_grant() if requests else Grant()
        return tuple(request for request in requests if not grant.covers(request, config.digest))

    def confined(self, config: Config) -> dict[str, tuple[str, ...]]:
        """The roots that the workspace chose, each with the real folders that it may lead into: a
        link can come in its place while it is watched.
        """
        allowed = self._allowed_places(config)
        chosen = [path for scope, path in self.roots(config) if scope in ("workspace", config.file)]
        return {os.path.abspath(path): (*allowed, os.path.realpath(path)) for path in chosen}  # noqa: PTH100

    def _conventional(self, config: Config) -> list[tuple[str, Path]]:
        return conventional_roots(config["folders"], self.cwd, self.workspace, self.home)

    def _allowed_places(self, config: Config) -> tuple[str, ...]:
        """The real folders that the workspace's own may lead into: itself, and those that are
        scanned anyway.
        """
        others = (path for scope, path in self._conventional(config) if scope != "workspace")
        return (self.real_workspace, *(os.path.realpath(path) for path in others))


def today() -> str:
    """The date here, as 2026-07-31."""
    import time

    return time.strftime("%Y-%m-%d")


def limit_malloc_arenas() -> None:
    """Let a process that lives long grow less: glibc gives every thread of the native libraries
    heaps of its own, which made 508 MB of 60 builds; with two heaps it was 332. Other libraries
    know no such setting.
    """
    import ctypes
    from contextlib import suppress

    heaps_at_most = -8  # M_ARENA_MAX
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(heaps_at_most, 2)


def current_runtime() -> Runtime:
    """The runtime of this process."""
    home = Path(os.environ.get("HOME") or Path.home())
    return Runtime(
        environ=os.environ,
        cwd=_current_folder(),
        home=home,
        stdin_is_terminal=_is_terminal(sys.stdin),
        stdout_is_terminal=_is_terminal(sys.stdout),
        stderr_is_terminal=_is_terminal(sys.stderr),
    )


def _current_folder() -> Path:
    # The shell's own name for the folder keeps links as the user typed them.
    logical = os.environ.get("PWD", "")
    try:
        if logical and Path(logical).samefile("."):
            return Path(logical)
        return Path.cwd()
    except OSError as error:
        raise InputError("the current folder is gone", "change to another folder") from error


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
