"""What watching is told, and what it tells."""

from __future__ import annotations

from pathlib import Path

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import BuildReport, Finding


@frozen(kw_only=True)
class WatchOptions:
    """How patient watching is, in seconds.

    Changes are taken up once nothing happened for `quiet_s`, at the latest `patience_s` after the
    first of them, so that a program that never stops writing cannot hold them back. Everything is
    looked at every `interval_s` (None: every minute; every other second without events from the
    kernel, which `poll` does without from the start). `optional` are the roots whose absence at
    the start is no news.
    """

    interval_s: float | None = None
    quiet_s: float = 0.5
    patience_s: float = 5.0
    poll: bool = False
    optional: frozenset[Path] = frozenset()


@frozen(kw_only=True)
class WatchUpdate:
    """Something worth telling: what a build did, the errors of files that the last turn did not
    have, and notices.

    Without a report there was no build, or one that changed nothing.
    """

    report: BuildReport | None = None
    errors: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()
