"""Which folders a build or a watch takes when none is named, and with which options an index is
built.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from capdisc.context import surroundings
from capdisc.context.client_places import has_places, link_rules, plugin_switches
from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.types import BuildOptions, PassageLimits
from capdisc_indexer.store.folder_stamps import look_at_disk
from capdisc_indexer.store.generation import read_pointer
from capdisc_indexer.store.state_file import grant_folder

# A build from nothing of more capabilities leaves the LanceDB table to a process aside, since no
# answer waits for it: with 2,041 skills the command takes 8 s without it, and 12 with it.
_MAX_TABLE_SIZE = 500


def make_build_options(
    runtime: surroundings.Runtime,
    config: Config,
    builder_id: str | None,
    paths: Sequence[Path],
    lock_timeout_s: float | None = None,
) -> BuildOptions:
    """The options with which the index is built from these paths; without paths, from the folders
    of configuration and convention.
    """
    return BuildOptions(
        encoder=runtime.encoder_name(config["encoder"]) or None,
        lock_timeout_s=config["lock_timeout"] if lock_timeout_s is None else lock_timeout_s,
        sources=runtime.build_sources(config, paths),
        guard=runtime.definition_guard(),
        builder_id=builder_id,
        confined={} if paths else runtime.confined_roots(config),
        workspace=str(runtime.workspace),
        links=link_rules(runtime),
        passage_limits=PassageLimits(config["body.passages"], config["body.bytes"]),
        is_conventional=not paths,
        awaited=() if paths else _awaited_paths(runtime, config),
        with_table=config["table"] != "off",
        max_table_size=_MAX_TABLE_SIZE,
    )


def _awaited_paths(runtime: surroundings.Runtime, config: Config) -> tuple[str, ...]:
    """Paths that need not exist and change what is indexed: folders, configuration, and trust."""
    files = [runtime.workspace / name for name in ("capdisc.toml", ".capdisc/config.toml")]
    files += [Path(config.file)] if config.file else []
    paths = (
        *runtime.candidate_roots(config),
        *plugin_switches(runtime),
        *files,
        runtime.user_config,
        runtime.trust_dir,
        grant_folder(runtime.trust_dir),
        runtime.tool_lists_dir,
    )
    return tuple(dict.fromkeys(map(str, paths)))


def was_built_by_name(index_dir: Path) -> bool:
    """Whether the folders of the last build were named by hand."""
    look = look_at_disk(index_dir, read_pointer(index_dir))
    return look.is_known and not look.is_conventional


def existing_roots(
    runtime: surroundings.Runtime,
    config: Config,
    where: Path,
    builder_id: str | None,
    again: bool = False,
) -> list[Path]:
    """The configured and conventional folders that exist; where there is none and no source, or
    with `again`, those of this builder's last build. Raises InputError where nothing is left.
    """
    folders = _last_roots(runtime, config, where, builder_id) if again else []
    folders = folders or find_default_roots(runtime, config)
    folders = folders or (
        [] if config.sources else _last_roots(runtime, config, where, builder_id)
    )
    if not folders and not has_other_sources(runtime, config):
        raise InputError(
            "there is nothing to index here",
            "name a folder: capdisc index PATH, or start one: capdisc init",
        )
    return list(dict.fromkeys(folders))


def has_other_sources(runtime: surroundings.Runtime, config: Config) -> bool:
    """Whether there is something to index beside folders of skills."""
    return bool(config.sources) or runtime.has_tool_lists() or has_places(runtime, config)


def find_default_roots(runtime: surroundings.Runtime, config: Config) -> list[Path]:
    """The configured and conventional folders that exist, each once, the configured ones first. A
    configured one that does not exist is named on stderr.
    """
    for path in runtime.configured_roots(config):
        if not path.exists():
            console.print_notice(f"notice: {path} does not exist (from {config.origins['roots']})")
    return list(dict.fromkeys(path for _, path in runtime.roots(config) if path.exists()))


def expected_roots(
    runtime: surroundings.Runtime, config: Config, where: Path, builder_id: str | None
) -> list[Path]:
    """The same with folders that do not exist yet, for a watch that can wait for them."""
    folders = [path for _, path in runtime.roots(config)]
    if not config.sources and not any(path.exists() for path in folders):
        folders += _last_roots(runtime, config, where, builder_id)
    return list(dict.fromkeys(folders))


def _last_roots(
    runtime: surroundings.Runtime, config: Config, where: Path, builder_id: str | None
) -> list[Path]:
    """The folders of the last build, without those that the workspace asks for and that its user
    does not allow any more.
    """
    from capdisc_indexer.indexing.previous_build import load_previous_build

    waiting = (*config.waiting, *runtime.waiting_links(config))
    refused = {os.path.realpath(runtime.expand(Path(request.value))) for request in waiting}
    last_roots = map(Path, load_previous_build(where, builder_id=builder_id).roots)
    return [root for root in last_roots if root.exists() and os.path.realpath(root) not in refused]
