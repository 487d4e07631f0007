"""Which folders and files does an index cover, and with which options is it built?

Every door asks here: `capdisc index`, a refresh before an answer, the hook, watch and mcp. What is
covered is written down with the index; only a person's words take something out of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.context import surroundings
from capdisc.context.client_places import has_places, link_rules, place_folders, plugin_switches
from capdisc.context.freshness import is_local_root
from capdisc.context.index_scope import build_sources, confined_roots, list_scan_roots
from capdisc.output import console
from capdisc_indexer.config.client_servers import client_files
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, Coverage, PassageLimits
from capdisc_indexer.platforms import resolve_path, spell_path, system
from capdisc_indexer.store.folder_stamps import Look
from capdisc_indexer.store.state_file import grant_folder

if TYPE_CHECKING:
    from capdisc_indexer.indexing.previous_build import PreviousBuild

USUAL = Coverage(is_conventional=True)
# To see whether an index can be a seed takes 20 ms where it holds 2,000 files.
_MAX_SEEDS = 4


def load_coverage(
    runtime: surroundings.Runtime,
    config: Config,
    where: Path,
    builder_id: str | None,
    look: Look | None = None,
) -> Coverage:
    """What the index covers by its last build, which a check of the disk may know; the usual
    folders where nothing is known.
    """
    from capdisc_indexer.indexing.previous_build import recover_settings

    if look and look.is_known and look.coverage.is_conventional:
        return look.coverage
    return complete_coverage(runtime, config, recover_settings(where, builder_id))


def complete_coverage(
    runtime: surroundings.Runtime, config: Config, previous: PreviousBuild
) -> Coverage:
    """What the last build covered, even one of an earlier release; else the usual folders."""
    if previous.coverage:
        return previous.coverage
    usual = _real_usual_paths(runtime, config)
    return replace(
        USUAL, added=tuple(root for root in previous.roots if resolve_path(root) not in usual)
    )


def add_paths(
    runtime: surroundings.Runtime, config: Config, last: Coverage, paths: Sequence[Path]
) -> Coverage:
    """The coverage with these paths added, but for usual folders that it has anyway."""
    usual = _real_usual_paths(runtime, config) if last.is_conventional else ()
    new = [path.as_posix() for path in paths if resolve_path(path) not in usual]
    return replace(last, added=tuple(dict.fromkeys((*_spell_added(last), *new))))


def remove_paths(coverage: Coverage, paths: Sequence[Path], missing: Collection[str]) -> Coverage:
    """The coverage without these paths, each of which was added, or is one of the `missing`
    folders. Raises InputError for any other.
    """
    names, added = [path.as_posix() for path in paths], _spell_added(coverage)
    for name in names:
        if name not in added and name not in missing:
            raise InputError(
                f"{name} was not added to this index",
                f"added: {', '.join(added) or 'nothing'}; to leave a usual folder out, "
                "see exclude and folders in: capdisc config",
            )
    return replace(coverage, added=tuple(path for path in added if path not in names))


def _spell_added(coverage: Coverage) -> list[str]:
    """The added paths, as their folders list them now."""
    return list(map(spell_path, coverage.added))


def _real_usual_paths(runtime: surroundings.Runtime, config: Config) -> set[str]:
    return {resolve_path(path) for _, path in list_scan_roots(runtime, config)}


def list_roots(
    runtime: surroundings.Runtime,
    config: Config,
    coverage: Coverage,
    last_roots: Sequence[str] = (),
) -> list[Path]:
    """The folders and files to scan, each once, in the order in which earlier ones win; they need
    not exist. Of `last_roots`, those of the last build, the ones that belong to another folder of
    the workspace stay.
    """
    roots = list(map(Path, coverage.added))
    if coverage.is_conventional:
        local = [Path(root) for root in last_roots if is_local_root(runtime, config, root)]
        roots = [*(path for _, path in list_scan_roots(runtime, config)), *local, *roots]
    return list(dict.fromkeys(roots))


def list_existing_roots(roots: Sequence[Path]) -> list[Path]:
    """Those of the roots that exist."""
    return [root for root in roots if root.exists()]


def make_build_options(
    runtime: surroundings.Runtime,
    config: Config,
    builder_id: str | None,
    coverage: Coverage,
    roots: Sequence[Path],
    lock_timeout_s: float | None = None,
    forgotten_paths: Sequence[Path] = (),
) -> BuildOptions:
    """The options with which the index of this coverage is brought up to date, unless it covers
    anything else by now; `roots` are its folders and files, existing or not. What the last build
    had in `forgotten_paths` goes, even if they are gone.
    """
    is_conventional = coverage.is_conventional
    return BuildOptions(
        encoder=runtime.encoder_name(config["encoder"]) or None,
        reranker=runtime.encoder_name(config["reranker"]) or None,
        lock_timeout_s=config["lock_timeout"] if lock_timeout_s is None else lock_timeout_s,
        sources=build_sources(runtime, config, coverage),
        overlays=config.overlays if is_conventional else (),
        guard=runtime.definition_guard(),
        builder_id=builder_id,
        confined=confined_roots(runtime, config) if is_conventional else {},
        workspace=runtime.workspace.as_posix(),
        links=link_rules(runtime),
        passage_limits=PassageLimits(config["body.passages"], config["body.bytes"]),
        coverage=coverage,
        last_coverage=coverage,
        places=tuple(
            path
            for path in _list_places(runtime, config, coverage, roots)
            if Path(path) not in forgotten_paths
        ),
        awaited=_list_awaited_paths(runtime, config, coverage),
    )


def list_seeds(runtime: surroundings.Runtime, where: Path) -> tuple[tuple[str, str], ...]:
    """The indexes of this user that one in `where` may take contents from, each with the id of its
    builder: the home folder's, then the newest ones.
    """
    home = runtime.default_index_dir(runtime.home)
    if where.parent != home.parent:
        return ()  # where somebody wanted it
    ages = {home: 0.0}
    for pointer in home.parent.glob("*/CURRENT"):
        with suppress(OSError):
            ages.setdefault(pointer.parent, -pointer.stat().st_mtime)
    ages.pop(where, None)
    newest = sorted(ages, key=lambda path: (path != home, ages[path]))[:_MAX_SEEDS]
    return tuple((path.as_posix(), runtime.builder_id(path) or "") for path in newest)


def _list_places(
    runtime: surroundings.Runtime, config: Config, coverage: Coverage, roots: Sequence[Path]
) -> tuple[str, ...]:
    """The roots, and the folders of agents, commands and declared sources."""
    places = list(map(Path.as_posix, roots))
    if coverage.is_conventional:
        places += [path.as_posix() for _, path in place_folders(runtime, config)]
        places += [
            fixed_part(str(runtime.expand(Path(source.path))))[0]
            for source in config.sources
            if not source.url and not source.text
        ]
    return tuple(dict.fromkeys(map(system.abspath, places)))


def _list_awaited_paths(
    runtime: surroundings.Runtime, config: Config, coverage: Coverage
) -> tuple[str, ...]:
    """Paths that need not exist and change what is indexed: folders, configuration, and trust."""
    if not coverage.is_conventional:
        return coverage.added
    files = [runtime.workspace / name for name in ("capdisc.toml", ".capdisc/config.toml")]
    files += [Path(config.file)] if config.file else []
    if runtime.has_tool_lists():
        client_file_list = client_files(
            runtime.home, runtime.workspace, runtime.environ, runtime.system
        )
        # Claude Code writes its own file with every prompt, so that is left to the next build.
        files += [file.path for file in client_file_list if file.path.name != ".claude.json"]
    paths: tuple[Path | str, ...] = (
        *runtime.candidate_roots(config),
        *plugin_switches(runtime),
        *files,
        runtime.user_config,
        runtime.trust_dir,
        grant_folder(runtime.trust_dir),
        runtime.tool_lists_dir,
        *coverage.added,
    )
    return tuple(dict.fromkeys(Path(path).as_posix() for path in paths))


def covers_usual_folders(index_dir: Path) -> bool:
    """Whether the index covers the usual folders, as far as anything says what it covers."""
    from capdisc_indexer.indexing.previous_build import recover_settings

    coverage = recover_settings(index_dir).coverage
    return coverage is None or coverage.is_conventional


def has_other_sources(runtime: surroundings.Runtime, config: Config) -> bool:
    """Whether there is something to index besides folders of skills."""
    return bool(config.sources) or runtime.has_tool_lists() or has_places(runtime, config)


def require_something(
    runtime: surroundings.Runtime,
    config: Config,
    previous: PreviousBuild,
    coverage: Coverage,
    roots: Sequence[Path],
    named_paths: Sequence[Path] = (),
) -> None:
    """Raises InputError where nothing to cover exists, nothing was indexed and no path is named."""
    if named_paths or previous.is_known or list_existing_roots(roots):
        return
    if not coverage.is_conventional or not has_other_sources(runtime, config):
        raise InputError(
            "there is nothing to index here",
            "name a folder: capdisc index PATH, or start one: capdisc init",
        )


def find_default_roots(runtime: surroundings.Runtime, config: Config) -> list[Path]:
    """The configured and conventional folders that exist, each once, the configured ones first. A
    configured one that does not exist is named on stderr.
    """
    name_absent_roots(runtime, config, USUAL)
    return list_existing_roots(list_roots(runtime, config, USUAL))


def name_absent_roots(runtime: surroundings.Runtime, config: Config, coverage: Coverage) -> None:
    """Print a notice for each configured folder that is to be covered and does not exist."""
    if not coverage.is_conventional:
        return
    for path in runtime.configured_roots(config):
        if not path.exists():
            console.print_notice(f"notice: {path} does not exist (from {config.origins['roots']})")
