"""An index that follows its folders: the watch loop waits for changes and builds.

Kernels lose events, and programs save files in odd ways, so an event only means "look again", and
without events a timer does. What changed is found by a build, as `capdisc index` does it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.indexing.file_reader import UNFINISHED
from capdisc_indexer.indexing.pipeline import build_index, find_no_change
from capdisc_indexer.model.errors import (
    BusyError,
    CapdiscError,
    CoverageChangedError,
    OtherReleaseError,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import (
    BuildOptions,
    BuildReport,
    DefinitionGuard,
    Finding,
    Severity,
)
from capdisc_indexer.platforms import resolve_path
from capdisc_indexer.watching.fs_events import (
    ChangeFlag,
    FolderObserver,
    WatchPlaces,
    locate_roots,
)

GRACE_S = 2.0
# How often the roots themselves are located, which costs a few system calls; and how soon a failed
# build is tried again.
LOCATE_INTERVAL_S = 1.0
RETRY_INTERVAL_S = 5.0
# Builds that find no change may take a tenth of the time at most: one of 50,000 files that are
# read through links takes longer than a second.
_MAX_IDLE_SHARE = 0.1


def _is_always_current() -> bool:
    return True


@frozen(kw_only=True)
class WatchOptions:
    """When to build, in seconds; whether to poll; and which roots may be missing.

    A build starts once nothing changed for `quiet_s`, and at the latest `patience_s` after the
    first change, so that a program that never stops writing cannot delay it. Everything is scanned
    every `interval_s` (None: every minute; with `poll`, or where the kernel gives no events, every
    other second). `optional` are the roots whose absence at the start is not reported.
    `is_current` is asked every second whether roots and options are still those that a caller
    would choose.
    """

    interval_s: float | None = None
    quiet_s: float = 0.5
    patience_s: float = 5.0
    poll: bool = False
    optional: frozenset[Path] = frozenset()
    is_current: Callable[[], bool] = _is_always_current


@frozen(kw_only=True)
class WatchUpdate:
    """What is new since the last update: the report of a build, errors of files that the last
    update did not have, and notices.

    Without a report there was no build, or one that changed nothing.
    """

    report: BuildReport | None = None
    errors: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()


def watch(
    roots: Sequence[Path], index_dir: Path, build_options: BuildOptions, options: WatchOptions
) -> Generator[WatchUpdate, None, None]:
    """Keeps the index up to date with the folders until closed, and yields an update whenever
    there is something new. Ends where the options are no longer `is_current`, or another process
    changed what the index covers: then the caller reads both again.

    The first update is of the build at the start, which may raise what `build_index` raises; later
    failures are notices, and the build is tried again. Raises OtherReleaseError where an upgraded
    capdisc has written the index meanwhile: to build it again would undo that. A file that fails
    to parse keeps its last version for GRACE_S seconds after a change.
    """
    build_options = replace(build_options, grace_s=GRACE_S, only_new_findings=True)
    watcher = _Watcher(roots, index_dir, build_options, options)
    try:
        while True:
            update = watcher.next_update()
            if update != WatchUpdate():
                yield update
            watcher.wait()
            if not options.is_current():
                return
    except CoverageChangedError:
        return
    finally:
        watcher.close()


class _Watcher:
    """The state of the loop between two updates. All but the observers runs in one thread."""

    def __init__(
        self,
        roots: Sequence[Path],
        index_dir: Path,
        build_options: BuildOptions,
        options: WatchOptions,
    ) -> None:
        self._index_dir, self._build_options, self._options = index_dir, build_options, options
        self._flag = ChangeFlag()
        self._observer = FolderObserver(
            self._flag, resolve_path(index_dir), options.poll, options.interval_s
        )
        self._roots = tuple(roots)
        places = [
            (Path(fixed_part(source.path)[0]), source.is_conventional)
            for source in build_options.sources
        ]
        self._declared = {place for place, _ in places}
        self._optional = options.optional | {place for place, is_optional in places if is_optional}
        self._watch_places: WatchPlaces = locate_roots(roots, self._declared)
        self._reported_places: WatchPlaces | None = None
        self._outside_places: tuple[str, ...] = ()
        self._trouble = ""
        self._errors: frozenset[Finding] = frozenset()
        self._notices: frozenset[str] = frozenset()
        self._has_built = False
        self._approvals: int | None = None
        self._idle_s = self._next = 0.0

    def close(self) -> None:
        """Stops observing."""
        self._observer.close()

    def next_update(self) -> WatchUpdate:
        """Observes the roots where they are now, and builds if anything differs; an empty update
        when nothing does.
        """
        was_set = self._flag.pending
        self._watch_places = self._locate()
        notices = self._observer.refresh(self._watch_places, self._flag.reset())
        root_places = locate_roots(self._roots, self._declared)
        notices += describe_changes(self._reported_places, root_places, self._optional)
        self._reported_places = root_places
        report, trouble = self._try_build(
            [root for root in self._roots if self._watch_places[root]]
        )
        self._next = time.monotonic() + self._choose_pause(report, trouble)
        if report and report.published and self._has_built and not was_set:
            self._observer.note_missed_change()
        update = self._make_update(report, trouble, notices)
        self._has_built = self._has_built or report is not None
        return update

    def wait(self) -> None:
        """Waits until changes are due to be built, or it is time for the next scan. Signals of the
        system interrupt it.
        """
        located_at = time.monotonic()
        while time.monotonic() < self._next and not self._flag.is_due(
            self._options.quiet_s, self._options.patience_s
        ):
            pause = 0.1 if self._flag.pending else LOCATE_INTERVAL_S
            self._flag.wait(max(0.0, min(pause, self._next - time.monotonic())))
            if time.monotonic() - located_at >= LOCATE_INTERVAL_S:
                located_at = time.monotonic()
                self._relocate()

    def _locate(self) -> WatchPlaces:
        """The places of the roots, and of what links in them lead to."""
        return {
            **locate_roots(map(Path, self._outside_places)),
            **locate_roots(self._roots, self._declared),
        }

    def _relocate(self) -> None:
        places = self._locate()
        if (
            places != self._watch_places
            or self._observer.has_stopped()
            or self._has_new_approvals()
            or not self._options.is_current()
        ):
            self._watch_places = places
            self._flag.notify_change()

    def _has_new_approvals(self) -> bool:
        """Whether the memory of definitions has changed since a definition was held back."""
        return self._approvals is not None and self._approvals != _changed_ns(
            self._build_options.guard
        )

    def _try_build(self, roots: Sequence[Path]) -> tuple[BuildReport | None, str]:
        """The report of a build, None when it failed or no root exists; and why it failed, "" when
        it did not.
        """
        try:
            has_places = bool(roots) or any(self._watch_places.values())
            return (self._build(roots) if has_places else None), ""
        except (CoverageChangedError, OtherReleaseError):
            raise
        except (CapdiscError, OSError) as error:
            if not self._has_built and not isinstance(error, BusyError):
                raise
            return None, _describe_error(error)

    def _build(self, roots: Sequence[Path]) -> BuildReport:
        started = time.monotonic()
        # Taken before the build, so that an approval during the build is not missed.
        approvals = _changed_ns(self._build_options.guard)
        report = None
        if self._has_built:  # the first build takes the lock: that this user may write shows there
            report = find_no_change(roots, self._index_dir, self._build_options)
        report = report or build_index(roots, self._index_dir, self._build_options)
        self._build_options = replace(self._build_options, same_release=True)
        if not report.published:
            self._idle_s = time.monotonic() - started
        self._approvals = approvals if report.held_definitions else None
        self._outside_places = report.outside_places
        return report

    def _choose_pause(self, report: BuildReport | None, trouble: str) -> float:
        if trouble:
            return RETRY_INTERVAL_S
        unfinished = report is not None and any(
            finding.code == UNFINISHED for finding in report.findings
        )
        return (
            GRACE_S
            if unfinished
            else max(self._observer.interval_s, self._idle_s / _MAX_IDLE_SHARE)
        )

    def _make_update(
        self, report: BuildReport | None, trouble: str, notices: list[str]
    ) -> WatchUpdate:
        notices += [trouble] if trouble and trouble != self._trouble else []
        self._trouble = trouble
        if report is None:
            return WatchUpdate(notices=tuple(notices))
        errors = frozenset(
            finding for finding in report.findings if finding.severity is Severity.ERROR
        )
        new_errors = [finding for finding in report.findings if finding in errors - self._errors]
        notices += [text for text in report.degraded if text not in self._notices]
        notices += [
            f"no longer scanned: {root}"
            for root in report.dropped_roots
            if Path(root) not in self._watch_places
        ]
        self._errors, self._notices = errors, frozenset(report.degraded)
        notable_report = report if report.published or not self._has_built else None
        return WatchUpdate(
            report=notable_report, errors=tuple(dict.fromkeys(new_errors)), notices=tuple(notices)
        )


def _changed_ns(guard: DefinitionGuard | None) -> int:
    """When the memory of definitions was last written to, in ns; 0 where there is none."""
    try:
        return os.stat(guard.memory).st_mtime_ns if guard else 0  # noqa: PTH116
    except OSError:
        return 0


def _describe_error(error: CapdiscError | OSError) -> str:
    """One line, the same for every failure with one cause, so that it is reported once."""
    if isinstance(error, BusyError):
        return "another process is writing this index; trying again until it is done"
    text = error.message if isinstance(error, CapdiscError) else f"{error.strerror or error}"
    return f"could not update the index ({text}); the last one stays, and capdisc tries again"


def describe_changes(
    before: WatchPlaces | None, now: WatchPlaces, optional: frozenset[Path]
) -> list[str]:
    """The notices about roots that came or went; at the start (`before` is None), about roots that
    are missing.
    """
    if before == now:
        return []
    expected = {root for root in now if before is None or before[root]}
    if before is None:
        expected -= optional
    missing = [root for root, place in now.items() if not place and root in expected]
    appeared = [
        root for root, place in now.items() if place and before is not None and not before[root]
    ]
    messages = [f"{root} does not exist; waiting for it" for root in missing]
    messages += [f"{root} exists now" for root in appeared]
    if not any(now.values()):
        messages.append("none of the folders exists: the last index stays until one does")
    return messages
