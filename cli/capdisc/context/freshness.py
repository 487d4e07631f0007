"""Is the open index as new as what lies on disk, and what is said where it is not?

A look at the stamps of files and folders (`store.folder_stamps`) precedes each answer. Where
something changed, `index_update` indexes it. Imported by every query, so it imports little.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc_indexer.config.client_table import find_profile
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.store.folder_stamps import MAX_CHANGES, Look, look_at_disk
from capdisc_indexer.store.generation import read_pointer

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config

MODES = ("auto", "require", "off")
_SHOWN_NAMES = 5


@frozen(kw_only=True)
class Freshness:
    """How the index stands to the disk. `state` is "current", "updated" (what changed was indexed
    for this answer), "behind" (the answer is from before the change, for this `reason`), or
    "unchecked". `changed` are the first paths, `changed_count` is the number of all;
    `is_complete` is whether every file was looked at, `building` says how far a first build is
    that goes on in the background. `missing` are covered folders that are gone
    and whose capabilities stay, each with the time since when.
    """

    state: str = "unchecked"
    changed: tuple[str, ...] = ()
    changed_count: int = 0
    reason: str = ""
    is_complete: bool = True
    building: str = ""
    missing: Mapping[str, float] = field(default_factory=dict)

    def document(self) -> JsonObject:
        """The JSON of it."""
        return {
            "state": self.state,
            "changed": self.changed_count,
            "names": list(self.changed[:_SHOWN_NAMES]),
            "reason": self.reason or self.building or None,
            "complete": self.is_complete,
            "missing": list(self.missing),
        }


@frozen(kw_only=True)
class IndexPlace:
    """Where the index of a command lies, with the surroundings and settings of the workspace that
    it is for: the current one, or the home folder where the current one has nothing of its own.
    """

    index_dir: Path
    runtime: Runtime
    config: Config


def locate_index(runtime: Runtime, config: Config, option: Path | None) -> IndexPlace:
    """The place of the index that option, setting or workspace name; of a shared index, that of
    its copy. A workspace without an index uses the user's own where its own would hold the same.
    """
    place = IndexPlace(index_dir=runtime.index_dir(option, config), runtime=runtime, config=config)
    if (
        option is not None
        or config["index_dir"]
        or read_pointer(place.index_dir)
        or runtime.workspace == runtime.home
    ):
        return place
    from capdisc.context.index_scope import has_own_capabilities  # most commands find an index

    if has_own_capabilities(runtime, config):
        return place
    home = runtime.at_home()
    home_config = home.config()
    if home_config["index_dir"]:
        return place
    return IndexPlace(
        index_dir=home.index_dir(None, home_config), runtime=home, config=home_config
    )


def choose_mode(option: str | None, config: Config) -> str:
    """The mode by option or setting. Raises UsageError for an unknown one."""
    mode: str = option or config["fresh"]
    if mode not in MODES:
        from capdisc_indexer.text.similar_names import unknown_choice

        origin = "--fresh" if option else f"value of fresh ({config.origins['fresh']})"
        raise unknown_choice(origin, mode, MODES)
    return mode


def look_around(place: IndexPlace) -> Look:
    """What changed on disk since the build, and which folders appeared or are no longer covered."""
    look = look_at_disk(place.index_dir, read_pointer(place.index_dir))
    if not look.is_known:
        return look
    expired = _find_expired(look) if look.missing else ()
    if not look.coverage.is_conventional:
        return _add_changes(look, expired)
    # What was asked for then is among the awaited paths; the roots of plugins are not.
    roots = dict.fromkeys(map(Path.as_posix, place.runtime.candidate_roots(place.config)))
    roots.update(dict.fromkeys(look.coverage.added))
    new = [path for path in roots if path not in look.awaited and os.path.exists(path)]  # noqa: PTH110
    dropped = [
        root
        for root in look.roots
        if root in look.awaited
        and root not in roots
        and not is_local_root(place.runtime, place.config, root)
    ]
    return _add_changes(look, (*new, *dropped, *expired))


def _add_changes(look: Look, folders: Sequence[str]) -> Look:
    if not folders:
        return look
    from capdisc_indexer.model.frozen import replace

    return replace(look, changed=(*look.changed, *(f"{path}/" for path in folders)))


def _find_expired(look: Look) -> list[str]:
    """The folders that have been gone for too long for their capabilities to stay."""
    import time

    from capdisc_indexer.indexing.missing_folders import has_expired

    now_s = time.time()
    return [path for path, since_s in look.missing.items() if has_expired(since_s, now_s)]


def is_local_root(runtime: Runtime, config: Config, root: str) -> bool:
    """Whether a root may belong to another folder of the workspace than the current one."""
    client = find_profile(config["folders"])
    return client.searches_parents and root.startswith(f"{runtime.workspace.as_posix()}/")


def describe_look(look: Look) -> Freshness:
    """How an index with this look stands to the disk, before anything is done about it."""
    if not look.is_known:
        return Freshness(reason="it was built without the stamps of its files")
    return Freshness(
        state="behind" if look.changed else "current",
        changed=look.changed,
        changed_count=min(len(look.changed), MAX_CHANGES),
        is_complete=look.is_complete,
        missing=look.missing,
    )


def format_age(built_at: str, now_s: float) -> str:
    """How long ago the index was built, by the time in its manifest.

    >>> format_age("2026-11-22T12:00:00+00:00", 1_795_348_985.0)
    'built 3 minutes ago'
    """
    return f"built {format_elapsed(built_at, now_s)}"


def format_elapsed(moment: str, now_s: float) -> str:
    """How long ago a moment in ISO 8601 was: `3 minutes ago`, `just now`."""
    from datetime import datetime

    age_s = max(0.0, now_s - datetime.fromisoformat(moment).timestamp())
    for unit, unit_s in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if count := int(age_s // unit_s):
            return f"{count:,} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
