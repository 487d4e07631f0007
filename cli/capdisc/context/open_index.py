"""Opens the index of a command, and hands it on with everything that the command may know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.context import surroundings, workspace_trust
from capdisc.context.freshness import (
    Freshness,
    IndexPlace,
    choose_mode,
    describe_look,
    locate_index,
    look_around,
)
from capdisc.output import command_process, console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.trust import is_inside
from capdisc_indexer.model.errors import OlderIndexError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader, Requirements
from capdisc_indexer.model.records import missing_prerequisites
from capdisc_indexer.store.durable_files import distrust_reason
from capdisc_indexer.store.snapshot import Index

if TYPE_CHECKING:
    from capdisc_indexer.store.shared_index import SharedIndex


@frozen(kw_only=True)
class CommandContext:
    """The open index with everything a command needs to answer from it. `shared_index` is set
    where the index is the copy of one on an object store; `degraded` holds the notices about it
    and about settings that wait for trust, which stderr has already. `places` are the files and
    folders of this workspace where the index is that of another one; None: all counts.
    """

    runtime: surroundings.Runtime
    config: Config
    index: Index
    place: IndexPlace
    freshness: Freshness = Freshness()
    shared_index: SharedIndex | None = None
    degraded: tuple[str, ...] = ()
    places: tuple[str, ...] | None = None

    def covers(self, path: str) -> bool:
        """Whether a file of the index counts in this workspace."""
        return self.places is None or is_inside(path, self.places)

    @property
    def provenance_warning(self) -> str:
        """Why somebody else may have written the index; "" where only this user and root could."""
        if self.shared_index:
            return self.shared_index.provenance_warning
        return distrust_reason(self.index.index_dir)


@contextmanager
def open_index(
    index_dir: Path | None,
    fresh: str | None = None,
    *,
    may_build: bool = True,
    engine: str | None = None,
) -> Iterator[CommandContext]:
    """The open index of this command, brought up to date as the mode `fresh` (None: the setting)
    says, and built where there is none, or one of an earlier version; with `may_build` False, as
    it is. `engine` finds its candidates (None: the setting). Raises IndexStateError
    where there is none and none is built, and ForeignIndexError where somebody else built it.
    """
    runtime = surroundings.current_runtime()
    config = runtime.config()
    mode = choose_mode(fresh, config)
    waiting = workspace_trust.announce_settings(config) if config.waiting or config.strays else ()
    shared = runtime.shared_index(index_dir, config)
    if shared and (engine or config["engine"]) == "lancedb":
        yield _open_in_place(runtime, config, shared, waiting)
        return
    notices = waiting
    if shared:
        from capdisc_indexer.plugins.registry import find_store

        with command_process.silence_native_stderr():
            notices += find_store(shared.url).sync_copy(shared)
    place = locate_index(runtime, config, index_dir)
    is_buildable = may_build and mode != "off" and index_dir is None and not shared
    built: Freshness | None = None
    if not shared and not (place.index_dir / "CURRENT").exists():
        built = _build_first(place, is_buildable)
    with command_process.silence_native_stderr(), ExitStack() as opened:
        builder_id = place.runtime.builder_id(place.index_dir, shared)
        try:
            index = opened.enter_context(Index(place.index_dir, builder_id))
        except OlderIndexError:
            if not is_buildable:
                raise
            built = _build_first(place, is_allowed=True)
            index = opened.enter_context(Index(place.index_dir, builder_id))
        freshness = built or Freshness()
        if not shared and mode != "off":
            if not built or mode == "require":
                freshness = refresh_index(place, index, mode if may_build else "")
            notices += describe_lag(place, freshness) if may_build else ()
        if freshness.state == "updated":
            index = opened.enter_context(
                Index(place.index_dir, place.runtime.builder_id(place.index_dir))
            )
        notices += _choose_engine(index, engine or config["engine"])
        if reason := distrust_reason(place.index_dir):
            console.print_notice(f"notice: {reason}")
        yield CommandContext(
            runtime=runtime,
            config=config,
            index=index,
            place=place,
            freshness=freshness,
            shared_index=shared,
            degraded=notices,
        )


@contextmanager
def open_home_index() -> Iterator[CommandContext]:
    """The open index of the home folder, for a workspace whose own index is not there yet: what
    this one would not read does not count. Raises IndexStateError where it cannot be used.
    """
    from capdisc.context.coverage import USUAL
    from capdisc.context.index_scope import build_sources, list_scan_roots
    from capdisc_indexer.config.settings import fixed_part

    runtime = surroundings.current_runtime()
    config, home = runtime.config(), runtime.at_home()
    where = home.index_dir(None, home.config())
    places = [path.as_posix() for _, path in list_scan_roots(runtime, config)]
    places += [fixed_part(source.path)[0] for source in build_sources(runtime, config, USUAL)]
    place = IndexPlace(index_dir=where, runtime=runtime, config=config)
    with (
        command_process.silence_native_stderr(),
        Index(where, home.builder_id(where)) as index,
    ):
        yield CommandContext(
            runtime=runtime, config=config, index=index, place=place, places=tuple(places)
        )


def _open_in_place(
    runtime: surroundings.Runtime,
    config: Config,
    shared: SharedIndex,
    notices: tuple[str, ...],
) -> CommandContext:
    """The context of a shared index that answers from the store, of which nothing is copied."""
    from capdisc_indexer.plugins.registry import find_store

    with command_process.silence_native_stderr():
        index = find_store(shared.url).open_in_place(shared)
    if index.generation.counts["passages"]:
        text = "sections of bodies are not searched in place"
        console.print_notice(f"notice: {text}")
        notices += (text,)
    place = IndexPlace(index_dir=shared.copy, runtime=runtime, config=config)
    return CommandContext(
        runtime=runtime,
        config=config,
        index=index,
        place=place,
        shared_index=shared,
        degraded=notices,
    )


ENGINES = ("auto", "matrix", "lancedb")


def _choose_engine(index: Index, engine: str) -> tuple[str, ...]:
    """Make this engine find the candidates of the open index. Returns the notice, which is
    printed, too, where that cannot be done and the matrix does.

    `auto` is the matrix: at the same recall it is as fast or faster at every size up to a million
    rows (tools/bench/engines.py).
    Raises UsageError for another engine.
    """
    index.table = None
    if engine in ("auto", "matrix"):
        return ()
    if engine != "lancedb":
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("engine", engine, ENGINES)
    from capdisc.context.housekeeping import finish_table
    from capdisc_indexer.store.table_search import open_local_search

    index.table = open_local_search(index.index_dir, index.generation)
    if index.table is not None:
        return ()
    problem = finish_table(index.index_dir, index.generation.builder_id)
    index.table = open_local_search(index.index_dir, index.generation)
    if index.table is not None:
        return ()
    text = f"{problem or 'the LanceDB table is of another generation'}; the matrix answered"
    console.print_notice(f"notice: {text}")
    return (text,)


def _build_first(place: IndexPlace, is_allowed: bool) -> Freshness | None:
    """Build the index that is not there, where that is allowed: where an option names a folder, it
    may be a wrong name. Returns how a part of it stands to the disk, None for a whole one. Raises
    IndexStateError where it is not allowed.
    """
    from capdisc.context import index_update

    if not is_allowed:
        raise index_update.no_index_error(place)
    return index_update.build_first(place)


def refresh_index(place: IndexPlace, index: Index, mode: str) -> Freshness:
    """How the index stands to the disk, after changes were indexed where the mode says so; without
    a mode, none are.
    """
    look = look_around(place)
    is_current = look.is_known and not look.changed
    if not mode or (is_current and (look.is_complete or mode != "require")):
        return describe_look(look)
    from capdisc.context.index_update import take_in_changes

    return take_in_changes(place, index.generation, look, mode)


def describe_lag(place: IndexPlace, freshness: Freshness) -> tuple[str, ...]:
    """The notices that the answer is older than what lies on disk, and that covered folders are
    gone, which are printed, too.
    """
    if freshness.state != "behind" and not freshness.missing:
        return ()
    from capdisc.context import index_update

    texts = []
    if freshness.state == "behind":
        texts.append(index_update.describe_lag(place, freshness))
    if freshness.missing:
        texts.append(
            f"{index_update.describe_missing(place, freshness.missing)}; "
            f"to drop them now: {index_update.forget_command(freshness.missing)}"
        )
    for text in texts:
        console.print_notice(f"notice: {text}")
    return tuple(texts)


def is_available(runtime: surroundings.Runtime, header: CapabilityHeader) -> bool:
    """Whether the capability is switched on and has everything here that it needs."""
    return bool(header.get("available", True)) and not missing_requirements(runtime, header)


def missing_requirements(runtime: surroundings.Runtime, needs: Requirements) -> tuple[str, ...]:
    """The secrets that are not set, the programs that are not on PATH, and the systems where this
    is another one, each once.
    """
    return missing_prerequisites(
        needs, runtime.environ, runtime.environ.get("PATH"), runtime.system
    )
