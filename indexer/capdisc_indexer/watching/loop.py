"""Wait for changes, look, build; again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from capdisc_indexer.build import build
from capdisc_indexer.declarations import fixed_part
from capdisc_indexer.errors import BusyError, CapdiscError
from capdisc_indexer.frozen import replace
from capdisc_indexer.previous import is_built_by
from capdisc_indexer.reading import UNFINISHED
from capdisc_indexer.remembered import Look, look
from capdisc_indexer.types import BuildOptions, BuildReport, DefinitionGuard, Finding, Severity
from capdisc_indexer.watching import glance
from capdisc_indexer.watching.hints import Hints
from capdisc_indexer.watching.listening import Listening
from capdisc_indexer.watching.places import Places, locate, news
from capdisc_indexer.watching.values import Turn, WatchOptions

GRACE_S = 2.0
# How often the roots themselves are looked at, which costs a few calls; and how soon a failed build is tried again.
LOCATE_S = 1.0
RETRY_S = 5.0
# Looking may take a tenth of the time at most: a scan of 50,000 files takes longer than a second.
_LOOKING_SHARE = 0.1


def watch(
    roots: Sequence[Path], index_dir: Path, build_options: BuildOptions, options: WatchOptions
) -> Generator[Turn, None, None]:
    """Keep the index up to date with the folders until closed; a turn whenever there is something to tell.

    The first one tells of the build at the start, which may raise what `build` raises; later failures are notices, and
    the build is tried again. A file that fails to parse keeps its last version for GRACE_S seconds after a change.
    """
    watcher = _Watcher(roots, index_dir, replace(build_options, grace_s=GRACE_S), options)
    try:
        while True:
            turn = watcher.turn()
            if turn != Turn():
                yield turn
            watcher.wait()
    finally:
        watcher.close()


class _Watcher:
    """What is known between two turns. Everything but the listening happens in one thread."""

    def __init__(
        self, roots: Sequence[Path], index_dir: Path, build_options: BuildOptions, options: WatchOptions
    ) -> None:
        self._index_dir, self._build_options, self._options = index_dir, build_options, options
        self._hints = Hints()
        self._listening = Listening(self._hints, os.path.realpath(index_dir), options)
        self._roots = tuple(roots)
        self._declared = {Path(fixed_part(one.path)[0]) for one in build_options.sources}
        self._places: Places = locate(roots, self._declared)
        self._told: Places | None = None
        self._seen: Look | None = None
        self._settled: glance.Settled | None = None
        self._is_foreign = not is_built_by(index_dir, build_options.builder_id)
        self._trouble = ""
        self._errors: frozenset[Finding] = frozenset()
        self._notices: frozenset[str] = frozenset()
        self._built = False
        self._approvals: int | None = None
        self._looking_s = self._next = 0.0

    def close(self) -> None:
        """Stop listening."""
        self._listening.close()

    def turn(self) -> Turn:
        """Listen to where the roots are now, and build if anything differs; an empty turn when nothing does."""
        hinted = self._hints.pending
        self._places = locate(self._roots, self._declared)
        said = self._listening.refresh(self._places, self._hints.take())
        said += news(self._told, self._places, self._options.optional)
        self._told = self._places
        report, trouble = self._attempt([root for root in self._roots if self._places[root]])
        self._next = time.monotonic() + self._pause(report, trouble)
        if report and report.published and self._built and not hinted:
            self._listening.missed()
        turn = self._turn(report, trouble, said)
        self._built = self._built or report is not None
        return turn

    def wait(self) -> None:
        """Until changes have come to rest, or it is time to look anyway. Signals interrupt it."""
        located = time.monotonic()
        while time.monotonic() < self._next and not self._hints.due(self._options.quiet_s, self._options.patience_s):
            self._hints.wait(max(0.0, min(0.1 if self._hints.pending else LOCATE_S, self._next - time.monotonic())))
            if time.monotonic() - located >= LOCATE_S:
                located = time.monotonic()
                self._locate()

    def _locate(self) -> None:
        places = locate(self._roots, self._declared)
        if places != self._places or self._listening.deaf() or self._has_new_approvals():
            self._places = places
            self._hints.changed()

    def _has_new_approvals(self) -> bool:
        """Whether the memory of definitions has changed since something was held back."""
        return self._approvals is not None and self._approvals != _changed_ns(self._build_options.guard)

    def _attempt(self, roots: Sequence[Path]) -> tuple[BuildReport | None, str]:
        """The build's report, None when nothing differs or no root is there; or else why it failed."""
        try:
            return (self._build(roots) if roots or any(self._places.values()) else None), ""
        except (CapdiscError, OSError) as error:
            if not self._built and not isinstance(error, BusyError):
                raise
            self._settled = None
            return None, _reason(error)

    def _build(self, roots: Sequence[Path]) -> BuildReport | None:
        started = time.monotonic()
        options = self._build_options
        seen = self._seen = look(
            roots, options.sources, self._index_dir, self._seen, forget=self._is_foreign, confined=options.confined
        )
        self._looking_s = time.monotonic() - started
        if self._settled and self._settled.still(seen, self._index_dir) and not self._has_new_approvals():
            return None
        before = _changed_ns(self._build_options.guard)
        report = build(roots, self._index_dir, self._build_options, seen=seen)
        # As it was before the build, so that what is approved during one is not missed.
        self._approvals = before if report.held_definitions else None
        self._settled = glance.settle(seen, report, self._index_dir)
        return report

    def _pause(self, report: BuildReport | None, trouble: str) -> float:
        if trouble:
            return RETRY_S
        unfinished = report is not None and any(finding.code == UNFINISHED for finding in report.findings)
        return GRACE_S if unfinished else max(self._listening.interval_s, self._looking_s / _LOOKING_SHARE)

    def _turn(self, report: BuildReport | None, trouble: str, said: list[str]) -> Turn:
        said += [trouble] if trouble and trouble != self._trouble else []
        self._trouble = trouble
        if report is None:
            return Turn(notices=tuple(said))
        errors = frozenset(finding for finding in report.findings if finding.severity is Severity.ERROR)
        fresh = [finding for finding in report.findings if finding in errors - self._errors]
        said += [text for text in report.degraded if text not in self._notices]
        said += [f"no longer scanned: {root}" for root in report.dropped_roots if Path(root) not in self._places]
        self._errors, self._notices = errors, frozenset(report.degraded)
        worth = report if report.published or not self._built else None
        return Turn(report=worth, errors=tuple(dict.fromkeys(fresh)), notices=tuple(said))


def _changed_ns(guard: DefinitionGuard | None) -> int:
    """When the memory of definitions was last written to; 0 where there is none."""
    try:
        return os.stat(guard.memory).st_mtime_ns if guard else 0  # noqa: PTH116
    except OSError:
        return 0


def _reason(error: CapdiscError | OSError) -> str:
    """One line, the same for each failure of one cause, so that it is said once."""
    if isinstance(error, BusyError):
        return "another process is writing this index; trying again until it is done"
    text = error.message if isinstance(error, CapdiscError) else f"{error.strerror or error}"
    return f"could not bring the index up to date ({text}); the last one stays, and it is tried again"
