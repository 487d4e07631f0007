"""Which folders a build or a watch takes when none is named."""

from __future__ import annotations

import os
from pathlib import Path

from capdisc.context import surroundings
from capdisc.context.client_places import has_places
from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.indexing.previous_build import load_previous_build
from capdisc_indexer.model.errors import InputError


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
    if not (folders or config.sources or runtime.has_tool_lists() or has_places(runtime, config)):
        raise InputError(
            "there is nothing to index here",
            "name a folder: capdisc index PATH, or start one: capdisc init",
        )
    return list(dict.fromkeys(folders))


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
    waiting = (*config.waiting, *runtime.waiting_links(config))
    refused = {os.path.realpath(runtime.expand(Path(request.value))) for request in waiting}
    last_roots = map(Path, load_previous_build(where, builder_id=builder_id).roots)
    return [root for root in last_roots if root.exists() and os.path.realpath(root) not in refused]
