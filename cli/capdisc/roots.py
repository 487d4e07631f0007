"""Which folders are meant when none is named."""

from __future__ import annotations

from pathlib import Path

from capdisc import output, runtime
from capdisc_indexer.config import Config
from capdisc_indexer.errors import InputError
from capdisc_indexer.previous import load_previous


def existing(here: runtime.Runtime, config: Config, where: Path) -> list[Path]:
    """The configured and conventional folders that exist; those of the last run when nothing is configured."""
    for path in here.configured(config):
        if not path.exists():
            output.notice(f"notice: {path} does not exist (from {config.origins['roots']})")
    found = [path for _, path in here.roots(config) if path.exists()]
    found = found or ([] if config.sources else _last(where))
    if not found and not config.sources:
        raise InputError(
            "there is nothing to index here", "name a folder: capdisc index PATH, or start one: capdisc init"
        )
    return list(dict.fromkeys(found))


def awaited(here: runtime.Runtime, config: Config, where: Path) -> list[Path]:
    """The same with those that do not exist yet, for who can wait for them."""
    named = [path for _, path in here.roots(config)]
    found = named if config.sources or any(path.exists() for path in named) else [*named, *_last(where)]
    return list(dict.fromkeys(found))


def _last(where: Path) -> list[Path]:
    return [Path(root) for root in load_previous(where).roots if Path(root).exists()]
