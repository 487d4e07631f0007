"""What a command may know of its process: streams, terminal, environment, folders. No other module
reads them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.config.client_table import conventional_roots
from capdisc_indexer.config.configuration import (
    Config,
    collection_dir,
    folder_label,
    load_config,
)
from capdisc_indexer.config.trust import Grant, is_inside, owner_requests
from capdisc_indexer.encoders import NO_RERANKER, SHIPPED_ENCODER
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import DefinitionGuard
from capdisc_indexer.platforms import resolve_path, spell_path, system
from capdisc_indexer.store.generation import ensure_builder_id, load_builder_id

if TYPE_CHECKING:
    from capdisc_indexer.store.shared_index import SharedIndex


# What marks a folder as a workspace.
_WORKSPACE_MARKS = (".capdisc", "capdisc.toml", ".git")


def workspace_folder(folder: str, home: str) -> str:
    """The nearest folder upwards that holds capdisc's own files or a repository; else the folder
    itself. Both arguments are absolute paths.

    The home folder counts only as the current one: what lies there belongs to the user, not to
    every project.
    """
    upwards = folder
    while True:
        if (upwards == folder or upwards != home) and is_workspace(upwards):
            return upwards
        if upwards == (upwards := os.path.dirname(upwards)):  # noqa: PTH120
            return folder


def is_workspace(folder: str) -> bool:
    """Whether the folder holds what marks a workspace."""
    return any(os.path.exists(f"{folder}/{mark}") for mark in _WORKSPACE_MARKS)  # noqa: PTH110


@frozen(kw_only=True)
class Runtime:
    """The environment, the folders and the terminals of one command. `own_users` are the users
    whose folders count as this user's own (empty: all).
    """

    environ: Mapping[str, str]
    cwd: Path
    home: Path
    stdin_is_terminal: bool
    stdout_is_terminal: bool
    stderr_is_terminal: bool
    own_users: frozenset[int] = frozenset()

    @property
    def workspace(self) -> Path:
        """The folder of the project that the current folder belongs to."""
        return self.workspace_of(self.cwd)

    def workspace_of(self, folder: Path) -> Path:
        """The folder of the project that a folder belongs to."""
        return Path(workspace_folder(folder.as_posix(), self.home.as_posix()))

    @property
    def path_base(self) -> Path | None:
        """The workspace where the current folder is its root, so that a reader here can open paths
        relative to it; else None, and paths are printed whole.
        """
        return self.workspace if self.cwd == self.workspace else None

    @property
    def system(self) -> str:
        """The operating system, as `system.NAME` has it."""
        return system.NAME

    @property
    def colour(self) -> bool:
        """Whether to colour results."""
        return console.allows_colour(self.environ, self.stdout_is_terminal)

    @property
    def draws_results(self) -> bool:
        """Whether results are drawn: stdout is a terminal that obeys codes."""
        return self.stdout_is_terminal and self.environ.get("TERM") != "dumb"

    @property
    def columns(self) -> int:
        """How wide a line may be: the terminal's width, or 140 columns in a pipe."""
        if not self.stdout_is_terminal:
            return 140
        import shutil  # 2 ms

        return shutil.get_terminal_size().columns

    @property
    def user_config(self) -> Path:
        """The path of the user's own configuration file, which need not exist."""
        return self.user_folder("config") / "config.toml"

    def user_folder(self, kind: str) -> Path:
        """The user's folder of capdisc for "config", "cache" or "state"; it need not exist."""
        return Path(system.find_user_folder(kind, self.environ, str(self.home)))

    def config(self) -> Config:
        """The effective settings here."""
        return load_config(
            self.workspace,
            self.user_config,
            self.environ,
            os.pathsep,
            self.expand,
            self.load_grant,
            self.own_users,
        )

    @property
    def trust_dir(self) -> Path:
        """Where the user's trust is recorded: by CAPDISC_STATE_DIR, else below the user's state
        folder. A folder in the workspace is not used, since a clone could have brought it, unless
        the home folder lies in the workspace, too.
        """
        default = Path(system.find_user_folder("state", {}, str(self.home)), "trust")
        variable = self.environ.get("CAPDISC_STATE_DIR")
        chosen = self.user_folder("state") / "trust"
        if variable:
            chosen = self.expand(Path(variable)) / "trust"
        if chosen == default:
            return default
        workspace = [self.real_workspace]
        is_in_workspace = is_inside(resolve_path(chosen), workspace)
        is_home_in_workspace = is_inside(resolve_path(self.home), workspace)
        return default if is_in_workspace and not is_home_in_workspace else chosen

    @property
    def real_workspace(self) -> str:
        """The workspace without links, the name under which trust in it is recorded."""
        return resolve_path(self.workspace)

    def load_grant(self) -> Grant:
        """What the user has allowed this workspace."""
        from capdisc_indexer.store.state_file import load_grant

        return load_grant(self.trust_dir, self.real_workspace)

    def builder_id(self, index_dir: Path, shared: SharedIndex | None = None) -> str | None:
        """The id that an index in this folder has if this user built it ("": the user built none
        there); None for the copy of a shared index, which is checked by the digests of its store.
        """
        return None if shared else load_builder_id(self.trust_dir, index_dir)

    def index_dir(self, flag: Path | None, config: Config) -> Path:
        """Where the index lies: by `flag`, by setting, else below the user's cache folder. For an
        index on an object store, where its copy lies.
        """
        if shared := self.shared_index(flag, config):
            return shared.copy
        if flag is not None:
            if not str(flag).strip() or str(flag) == ".":
                raise UsageError("--index-dir is empty", "name a folder of its own for the index")
            return self.expand(flag)
        named = config["index_dir"]
        usual = self.expand(Path(named)) if named else self.default_index_dir(self.workspace)
        return collection_dir(usual, config["collection_name"])

    def default_index_dir(self, workspace: Path) -> Path:
        """Where the index of a workspace lies unless a setting says otherwise."""
        return self.user_folder("cache") / folder_label(workspace)

    def shared_index(self, flag: Path | None, config: Config) -> SharedIndex | None:
        """The index on an object store, if `flag` or the setting names one; else None. Raises
        ApprovalRequiredError where only a file of the workspace names it.
        """
        address = config["index_dir"] if flag is None else str(flag)
        if ":/" not in address:
            return None
        from capdisc_indexer.plugins.registry import find_store

        store = find_store(address)
        if store is None:
            return None
        origin = config.origins["index_dir"] if flag is None else ""
        shared: SharedIndex = store.resolve_shared_index(self, address, origin, config)
        return shared

    def ensure_builder_id(self, index_dir: Path) -> str:
        """The id of indexes that this user builds in this folder, made and recorded where there is
        none yet. Raises InputError where the user's state cannot be written.
        """
        return ensure_builder_id(self.trust_dir, index_dir)

    def state_dir(self) -> Path:
        """Where sessions and facts of this workspace lie: by CAPDISC_STATE_DIR, else below the
        user's state folder. No file of the workspace decides it, since prompts print what is
        there.
        """
        if variable := self.environ.get("CAPDISC_STATE_DIR"):
            return self.expand(Path(variable))
        return self.user_folder("state") / folder_label(self.workspace)

    def user_state_dir(self) -> Path:
        """Where state of the user lies that belongs to no workspace: by CAPDISC_STATE_DIR, else in
        the user's state folder.
        """
        if variable := self.environ.get("CAPDISC_STATE_DIR"):
            return self.expand(Path(variable))
        return self.user_folder("state")

    def definition_guard(self) -> DefinitionGuard:
        """What tells other people's definitions from the user's own: those in the workspace
        (unless it is the home folder or above it, or another user's) and in the user's folders of
        every client.
        """
        # No query needs these.
        from capdisc_indexer.config.client_table import own_folders
        from capdisc_indexer.sources.scan.folder_tree import is_inside

        home, workspace = resolve_path(self.home), resolve_path(self.workspace)
        is_own = not owner_requests(workspace, workspace, self.own_users)
        places = [workspace] if is_own and not is_inside(home, [workspace]) else []
        places += map(resolve_path, own_folders(self.home))
        memory = str(self.state_dir() / "definitions" / "memory.sqlite")
        return DefinitionGuard(memory=memory, own_places=tuple(dict.fromkeys(places)))

    def expand(self, path: Path) -> Path:
        """The absolute path: `~` is the home folder, `$NAME` or `${NAME}` at the beginning what
        the environment holds; relative paths start in the current folder.
        """
        text = path.as_posix()
        if text == "~" or text.startswith("~/"):
            path = self.home / text[2:]
        elif text.startswith("$"):
            name, slash, rest = text.partition("/")
            path = Path(self.environ.get(name.strip("${}"), name) + slash + rest)
        return Path(spell_path(system.normpath(self.cwd / path)))

    def encoder_name(self, name: str) -> str:
        """The name of an encoder, or the absolute path where it names a folder or a file."""
        path = self.expand(Path(name))
        # A folder with the name of the shipped encoder, which a clone can bring, is not used.
        is_path = name not in ("", SHIPPED_ENCODER, NO_RERANKER) and path.exists()
        return path.as_posix() if is_path else name

    def configured_roots(self, config: Config) -> list[Path]:
        """The folders that settings name; they need not exist."""
        return [self.expand(Path(text)) for text in config["roots"]]

    @property
    def tool_lists_dir(self) -> Path:
        """Where the lists of tools lie of the servers that `capdisc mcp --gateway` serves here."""
        return self.state_dir() / "gateway"

    @property
    def named_servers_mark(self) -> Path:
        """The file that says that the servers of the workspace were named once."""
        return self.state_dir() / "servers-named"

    def has_tool_lists(self) -> bool:
        """Whether the gateway has asked a server for its tools."""
        folder = self.tool_lists_dir
        return folder.is_dir() and any(folder.glob("*.tools.json"))

    def candidate_roots(self, config: Config) -> list[Path]:
        """The same with what waits for trust and without plugins; no look at the disk."""
        conventional = (path for _, path in self.conventional(config))
        return [*self.configured_roots(config), *conventional]

    def at_home(self) -> Runtime:
        """The same surroundings with the home folder as the current one."""
        return replace(self, cwd=self.home)

    def is_of_others(self, path: Path) -> bool:
        """Whether a path of the workspace belongs to another user, which nobody has allowed."""
        owners = owner_requests(path.as_posix(), self.workspace.as_posix(), self.own_users)
        grant = self.load_grant() if owners else Grant()
        return not all(grant.covers(request, "") for request in owners)

    def conventional(self, config: Config) -> tuple[tuple[str, Path], ...]:
        """The conventional folders of skills as pairs of scope and path; they need not exist."""
        return conventional_roots(config["folders"], self.cwd, self.workspace, self.home)


def today() -> str:
    """The local date, as 2026-07-31."""
    import time

    return time.strftime("%Y-%m-%d")


def current_runtime() -> Runtime:
    """The runtime of this process."""
    home = Path(spell_path(os.environ.get("HOME") or str(Path.home())))
    return Runtime(
        environ=os.environ,
        cwd=_current_folder(),
        home=home,
        stdin_is_terminal=is_terminal(sys.stdin),
        stdout_is_terminal=is_terminal(sys.stdout),
        stderr_is_terminal=is_terminal(sys.stderr),
        own_users=_find_own_users(),
    )


def _find_own_users() -> frozenset[int]:
    """This user and root; for root by sudo also the user who called it, as git has it."""
    user, caller = system.own_user(), os.environ.get("SUDO_UID", "")
    is_by_sudo = user == 0 and caller.isascii() and caller.isdecimal()
    return frozenset((user, 0, int(caller) if is_by_sudo else 0))


def enter_folder(folder: str) -> None:
    """Make the folder the current one, by this name of it. Raises InputError where it cannot be
    entered.
    """
    try:
        os.chdir(folder)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not the name of a folder"
        raise InputError(f"cannot enter {folder}: {why}", "see whether it exists") from error
    os.environ["PWD"] = folder


def _current_folder() -> Path:
    # The shell's own name for the folder keeps links as the user typed them.
    logical = os.environ.get("PWD", "")
    with suppress(OSError):
        if logical and Path(logical).samefile("."):
            return Path(spell_path(logical))
    try:
        return Path.cwd()
    except OSError as error:
        raise InputError("the current folder is gone", "change to another folder") from error


def is_terminal(stream: object) -> bool:
    """Whether the stream is a terminal; a closed one is not."""
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
