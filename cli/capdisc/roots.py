"""Which folders are meant when none is named."""

from __future__ import annotations

import os
from pathlib import Path

from capdisc import output, runtime
from capdisc_indexer.config import Config
from capdisc_indexer.errors import InputError
from capdisc_indexer.previous import load_previous


def existing(here: runtime.Runtime, config: Config, where: Path, builder_id: str | None) -> list[Path]:
    """The configured and conventional folders that exist; those of the last run, by this builder, when nothing is
    configured."""
    for path in here.configured(config):
        if not path.exists():
            output.notice(f"notice: {path} does not exist (from {config.origins['roots']})")
    found = [path for _, path in here.roots(config) if path.exists()]
    found = found or ([] if config.sources else _last(here, config, where, builder_id))
    if not found and not config.sources:
        raise InputError(
            "there is nothing to index here", "name a folder: capdisc index PATH, or start one: capdisc init"
        )
    return list(dict.fromkeys(found))


def awaited(here: runtime.Runtime, config: Config, where: Path, builder_id: str | None) -> list[Path]:
    """The same with those that do not exist yet, for who can wait for them."""
    named = [path for _, path in here.roots(config)]
    are_there = config.sources or any(path.exists() for path in named)
    found = named if are_there else [*named, *_last(here, config, where, builder_id)]
    return list(dict.fromkeys(found))


def _last(here: runtime.Runtime, config: Config, where: Path, builder_id: str | None) -> list[Path]:
    """The folders of the last run but those that the workspace asks for, and its user allows no longer."""
    waiting = (*config.waiting, *here.waiting_links(config))
    refused = {os.path.realpath(here.expand(Path(request.value))) for request in waiting}
    last = map(Path, load_previous(where, builder_id=builder_id).roots)
    return [root for root in last if root.exists() and os.path.realpath(root) not in refused]
