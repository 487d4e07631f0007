"""Which folders are meant when none is named."""

from __future__ import annotations

import os
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.indexing.previous_build import load_previous_build
from capdisc_indexer.model.errors import InputError


def existing_roots(
    runtime: surroundings.Runtime, config: Config, where: Path, builder_id: str | None
) -> list[Path]:
    """The configured and conventional folders that exist; those of the last run, by this builder,
    when nothing is configured.
    """
    for path in runtime.configured_roots(config):
        if not path.exists():
            console.print_notice(f"notice: {path} does not exist (from {config.origins['roots']})")
    folders = [path for _, path in runtime.roots(config) if path.exists()]
    folders = folders or ([] if config.sources else _last_roots(runtime, config, where, builder_id))
    if not folders and not config.sources:
        raise InputError(
            "there is nothing to index here",
            "name a folder: capdisc index PATH, or start one: capdisc init",
        )
    return list(dict.fromkeys(folders))


def expected_roots(
    runtime: surroundings.Runtime, config: Config, where: Path, builder_id: str | None
) -> list[Path]:
    """The same with those that do not exist yet, for who can wait for them."""
    named = [path for _, path in runtime.roots(config)]
    are_there = config.sources or any(path.exists() for path in named)
    folders = named if are_there else [*named, *_last_roots(runtime, config, where, builder_id)]
    return list(dict.fromkeys(folders))


def _last_roots(
    here: surroundings.Runtime, config: Config, where: Path, builder_id: str | None
) -> list[Path]:
    """The folders of the last run but those that the workspace asks for, and its user allows no
    longer.
    """
    waiting = (*config.waiting, *here.waiting_links(config))
    refused = {os.path.realpath(here.expand(Path(request.value))) for request in waiting}
    last = map(Path, load_previous_build(where, builder_id=builder_id).roots)
    return [root for root in last if root.exists() and os.path.realpath(root) not in refused]
