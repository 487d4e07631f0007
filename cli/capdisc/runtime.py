"""The process's surroundings, read in this one place: streams, terminal, environment, folders."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc_indexer.config import Config, load_config
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.folders import PROFILES, conventional_roots
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.paths import default_index_dir, default_state_dir, workspace_of
from capdisc_indexer.types import DeclaredSource, DefinitionGuard

if TYPE_CHECKING:
    from capdisc_indexer.remote.values import Shared


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
        return workspace_of(self.cwd, self.home)

    @property
    def system(self) -> str:
        """The operating system, as `sys.platform` names it."""
        return sys.platform

    @property
    def colour(self) -> bool:
        """Whether results may be coloured: NO_COLOR and FORCE_COLOR decide, else whether a terminal is there."""
        if self.environ.get("NO_COLOR"):
            return False
        wanted = self.stdout_is_terminal and self.environ.get("TERM") != "dumb"
        return self.environ.get("FORCE_COLOR", "0") not in ("", "0") or wanted

    @property
    def columns(self) -> int:
        """How wide a line may be: the terminal's width, or a good deal in a pipe."""
        import shutil

        return shutil.get_terminal_size().columns if self.stdout_is_terminal else 140

    @property
    def user_config(self) -> Path:
        """The user's own configuration file, there or not."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config") / "capdisc" / "config.toml"

    def config(self) -> Config:
        """The effective settings here."""
        return load_config(self.workspace, self.user_config, self.environ, os.pathsep)

    def index_dir(self, flag: Path | None, config: Config) -> Path:
        """Where the index lies: by flag, by setting, else below the user's cache folder. Of one on an object store,
        where its copy is kept."""
        if shared := self.shared(flag, config):
            return shared.copy
        if flag is not None:
            if not str(flag).strip() or str(flag) == ".":
                raise UsageError("--index-dir is empty", "name a folder of its own for the index")
            return self.expand(flag)
        if config["index_dir"]:
            return self.expand(Path(config["index_dir"]))
        cache = Path(self.environ.get("XDG_CACHE_HOME") or self.home / ".cache")
        return default_index_dir(self.workspace, cache)

    def shared(self, flag: Path | None, config: Config) -> Shared | None:
        """The index on an object store that is meant, if one is. Raises RefusedError where a file of the workspace
        alone names it."""
        named = config["index_dir"] if flag is None else str(flag)
        if ":/" not in named:
            return None
        from capdisc import sharing

        return sharing.meant(self, named, "" if flag is not None else config.origins["index_dir"], config)

    def state_dir(self) -> Path:
        """Where sessions and facts of this workspace lie: by CAPDISC_STATE_DIR, else below the user's state folder. No
        file of the workspace decides it: what is kept there goes into prompts."""
        if named := self.environ.get("CAPDISC_STATE_DIR"):
            return self.expand(Path(named))
        return default_state_dir(self.workspace, self._state_home())

    def user_state_dir(self) -> Path:
        """Where what belongs to the user and to no workspace is kept: by CAPDISC_STATE_DIR, else in the user's state
        folder."""
        if named := self.environ.get("CAPDISC_STATE_DIR"):
            return self.expand(Path(named))
        return self._state_home() / "capdisc"

    def _state_home(self) -> Path:
        return Path(self.environ.get("XDG_STATE_HOME") or self.home / ".local" / "state")

    def definition_guard(self) -> DefinitionGuard:
        """What tells others' definitions from the user's own: those in the workspace (unless that is the home folder
        or above it) and in the user's folders, whichever client they belong to."""
        from capdisc_indexer.sources.links import inside  # which no answer needs

        home, workspace = os.path.realpath(self.home), os.path.realpath(self.workspace)
        places = [workspace] if not inside(home, [workspace]) else []
        for profile in PROFILES:
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
        return str(path) if name and path.is_dir() else name

    def configured(self, config: Config) -> list[Path]:
        """The folders that settings name, existing or not."""
        return [self.expand(Path(text)) for text in config["roots"]]

    def sources(self, config: Config, paths: Sequence[Path] = ()) -> tuple[DeclaredSource, ...]:
        """The declared sources, with whole paths; where `paths` are named, only what lies in one of them."""
        within = tuple(str(self.expand(path)) for path in paths)
        allowed = bool(config["allow_secret_files"])
        return tuple(self._placed(replace(one, within=within, allow_secret_files=allowed)) for one in config.sources)

    def _placed(self, source: DeclaredSource) -> DeclaredSource:
        """The declaration with its whole path, and with the folder that what a program answers to it is kept in."""
        path = str(self.expand(Path(source.path)))
        if "url_secret" in source.options:
            from capdisc_indexer.sources.tables.reflected import kept_name

            path = str(self.state_dir() / "databases" / kept_name(source))
        digits = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return replace(source, path=path, kept=str(self.state_dir() / "servers" / digits))

    def roots(self, config: Config) -> list[tuple[str, Path]]:
        """Configured roots, then the conventional ones, each with where it comes from; existing or not."""
        configured = [(config.origins["roots"], path) for path in self.configured(config)]
        return configured + conventional_roots(config["folders"], self.cwd, self.workspace, self.home)


def today() -> str:
    """The date here, as 2026-07-31."""
    import time

    return time.strftime("%Y-%m-%d")


def keep_small() -> None:
    """Let a process that lives long grow less: glibc gives every thread of the native libraries heaps of its own, which
    made 508 MB of 60 builds; with two heaps it was 332. Other libraries know no such setting."""
    import ctypes
    from contextlib import suppress

    heaps_at_most = -8  # M_ARENA_MAX
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(heaps_at_most, 2)


def current() -> Runtime:
    """The runtime of this process."""
    home = Path(os.environ.get("HOME") or Path.home())
    return Runtime(
        environ=os.environ,
        cwd=_cwd(),
        home=home,
        stdin_is_terminal=_terminal(sys.stdin),
        stdout_is_terminal=_terminal(sys.stdout),
        stderr_is_terminal=_terminal(sys.stderr),
    )


def _cwd() -> Path:
    # The shell's own name for the folder keeps links as the user typed them.
    logical = os.environ.get("PWD", "")
    try:
        if logical and Path(logical).samefile("."):
            return Path(logical)
        return Path.cwd()
    except OSError as error:
        raise InputError("the current folder is gone", "change to another folder") from error


def _terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
