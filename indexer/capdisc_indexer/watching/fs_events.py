"""Events of the file system: watchdog's observers, the filter of events that matter, and the
flag that wakes the watch loop. Where the kernel gives no events, the loop polls.
"""

from __future__ import annotations

import errno
import os
import threading
import time
import warnings
import weakref
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.sources.format_table import source_for
from capdisc_indexer.sources.scan.folder_files import SNIFFED_SUFFIXES, is_companion
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS, is_guidance, is_inside

if TYPE_CHECKING:
    import logging

# `os.path` rather than Path, which costs more for each of many roots every second.
# ruff: noqa: PTH112, PTH116, PTH120

# Opening and reading a file are not among these kinds: scans do that all the time.
EVENT_KINDS = (
    "FileCreatedEvent FileModifiedEvent FileClosedEvent FileDeletedEvent FileMovedEvent"
    " FileAttribEvent DirCreatedEvent DirDeletedEvent DirMovedEvent DirAttribEvent"
).split()
_CONTENT_EVENTS = frozenset({"modified", "closed", "attrib"})
# How long to wait for threads to end. They are daemons: one that hangs does not keep the process.
_STOP_TIMEOUT_S = 1.0
# Events are missed now and then, and network file systems report none: the loop also builds without
# events, at these intervals.
EVENT_SCAN_INTERVAL_S = 60.0
POLL_SCAN_INTERVAL_S = 2.0
_LIMIT_HINTS = {
    errno.ENOSPC: "raise fs.inotify.max_user_watches to have them",
    errno.EMFILE: "raise fs.inotify.max_user_instances or the limit of open files to have them",
}


class FileEvent(Protocol):
    """The part of a watchdog event that the filter reads."""

    src_path: Any
    dest_path: Any
    event_type: str
    is_directory: bool


def is_relevant_event(
    event: FileEvent, base: str, index_dir: str, all_files: bool = False
) -> bool:
    """Whether a scan of the folder `base` could give another result after this event; with
    `all_files`, any file there may be a source, whatever its name.

    Most events do not matter: those of a repository's own files, of an index inside a root, of
    other programs.
    """
    paths = [path.replace(os.sep, "/") for path in (event.src_path, event.dest_path) if path]
    return any(
        _is_within_scan(path, base, index_dir) and (all_files or _is_relevant_path(event, path))
        for path in paths
    )


def _is_within_scan(path: str, base: str, index_dir: str) -> bool:
    folders = path.removeprefix(base).split("/")
    return SKIPPED_FOLDERS.isdisjoint(folders) and not is_inside(path, [index_dir])


def _is_relevant_path(event: FileEvent, path: str) -> bool:
    """Whether the event can matter at this path: the content matters for source files alone, but
    any file that comes or goes may be a link to a folder.
    """
    if event.is_directory or event.event_type not in _CONTENT_EVENTS:
        return True
    name = path.rpartition("/")[2]
    is_source = (
        name.lower().endswith(SNIFFED_SUFFIXES)
        or source_for(name) is not None
        or is_companion(name)
    )
    return is_source or is_guidance(path)


class ChangeFlag:
    """Wakes the watch loop: observer threads set it, with the time of the first and of the last
    change.

    Setting it takes a microsecond, so that no queue of events grows behind it.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._first = self._last = 0.0
        self.lost = False

    @property
    def pending(self) -> bool:
        """Whether something changed since `reset`."""
        return self._event.is_set()

    def notify_change(self) -> None:
        """Sets the flag: something changed just now."""
        self._last = time.monotonic()
        if not self._event.is_set():
            self._first = self._last
            self._event.set()

    def notify_overflow(self) -> None:
        """Sets the flag: events were lost, so something may have changed anywhere."""
        self.lost = True
        self.notify_change()

    def reset(self) -> bool:
        """Clears the flag, before a scan; whether events were lost since the last time."""
        had_lost_events, self.lost = self.lost, False
        self._event.clear()
        return had_lost_events

    def is_due(self, quiet_s: float, patience_s: float) -> bool:
        """Whether nothing changed for `quiet_s` seconds, or changes have gone on for
        `patience_s`.
        """
        now = time.monotonic()
        return self.pending and (
            now - self._last >= quiet_s or now - self._first >= max(patience_s, quiet_s)
        )

    def wait(self, seconds: float) -> None:
        """Waits until the first change, at most this many seconds; the whole time if there was a
        change already. Signals of the system interrupt it.
        """
        if self.pending:
            time.sleep(seconds)
        else:
            self._event.wait(seconds)


@frozen(kw_only=True)
class WatchPlace:
    """The real folder to observe for a root, and its identity (device, inode, mode), which another
    folder at the same path does not have. With `all_files`, all of its files are sources, whatever
    their names.
    """

    folder: str
    is_folder: bool
    identity: tuple[int, ...]
    all_files: bool = False


# The place of each root; None for a root that does not exist.
WatchPlaces: TypeAlias = Mapping[Path, WatchPlace | None]


def locate_roots(roots: Iterable[Path], declared: Collection[Path] = ()) -> WatchPlaces:
    """The places of the roots and declared sources. The place of a file is its folder, without the
    folders inside.
    """
    return {
        root: _locate_root(root, root in declared) for root in dict.fromkeys((*roots, *declared))
    }


def _locate_root(root: Path, all_files: bool) -> WatchPlace | None:
    try:
        resolved = resolve_path(root, strict=True)
        is_folder = os.path.isdir(resolved)
        folder = resolved if is_folder else os.path.dirname(resolved)
        status = os.stat(folder)
    except OSError:
        return None
    # The mode, since a folder that becomes readable must be observed again.
    identity = (status.st_dev, status.st_ino, status.st_mode)
    return WatchPlace(folder=folder, is_folder=is_folder, identity=identity, all_files=all_files)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventHandler:
    """Sets the flag for the relevant events below the folder `base`.

    watchdog calls it for every event, in bursts of thousands: each microsecond counts.
    """

    base: str
    index_dir: str
    flag: ChangeFlag
    all_files: bool = False

    def dispatch(self, event: FileEvent) -> None:
        """Sets the flag if the event is relevant."""
        if is_relevant_event(event, self.base, self.index_dir, self.all_files):
            self.flag.notify_change()


class FolderObserver:
    """Observes the places of the roots with watchdog until it is closed, and sets the flag for
    relevant events; polls for good once the kernel refuses events.

    Only the thread that made it may call its methods.
    """

    def __init__(
        self,
        flag: ChangeFlag,
        index_dir: str,
        poll: bool = False,
        interval_s: float | None = None,
    ) -> None:
        import logging

        self._flag, self._index_dir = flag, index_dir
        self._is_polling, self._interval_s = poll, interval_s
        self._watched: WatchPlaces = {}
        self._must_renew = True
        self._observer: Any = None
        # watchdog 7.1 warns when it meets a new folder twice, by its event and by its own walk.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        # Threads of other observers of this process, which report to those.
        self._foreign_threads = weakref.WeakSet(filter(_is_watchdog_thread, threading.enumerate()))
        # watchdog reports an overflow of the kernel's queue in its log and nowhere else.
        self._log = logging.getLogger("watchdog")
        self._log_handler = logging.Handler(logging.WARNING)
        self._log_handler.addFilter(self._on_log_record)
        self._log.addHandler(self._log_handler)
        self._log.propagate = False
        self._previous_hook = threading.excepthook
        threading.excepthook = self._on_thread_error

    @property
    def interval_s(self) -> float:
        """Seconds to wait for a change before the next scan."""
        if self._interval_s is not None:
            return self._interval_s
        return POLL_SCAN_INTERVAL_S if self._is_polling else EVENT_SCAN_INTERVAL_S

    def refresh(self, places: WatchPlaces, has_lost_events: bool) -> list[str]:
        """Observes the places, restarting where that may be needed; the notices about it."""
        if self._is_polling:
            return []
        notices = (
            ["some of the kernel's events were lost; scanning everything again"]
            if has_lost_events
            else []
        )
        is_same = places == self._watched and not self._must_renew and not has_lost_events
        try:
            if is_same and not self.has_stopped():
                self._probe()
            else:
                self._observe(place for place in places.values() if place)
                self._watched, self._must_renew = places, False
        except (OSError, SystemError) as error:  # FSEvents raises the latter
            self._stop()
            self._is_polling = True
            notices.append(
                f"{_describe_error(error)}; scanning every {self.interval_s:g} s instead"
            )
        return notices

    def note_missed_change(self) -> None:
        """Observes all folders again, since at least one of them gave no event for a change."""
        self._must_renew = not self._is_polling
        if self._must_renew:
            self._flag.notify_change()

    def _observe(self, places: Iterable[WatchPlace]) -> None:
        """Observes these places from now on instead of any others. Raises OSError where the kernel
        gives no events.
        """
        self._stop()
        watchdog = lazy_imports.watchdog()
        self._observer = watchdog.observers.Observer()
        self._observer.start()
        kinds = [getattr(watchdog.events, kind) for kind in EVENT_KINDS]
        for folder, is_recursive, all_files in dict.fromkeys(
            (place.folder, place.is_folder, place.all_files) for place in places
        ):
            handler = EventHandler(
                base=folder, index_dir=self._index_dir, flag=self._flag, all_files=all_files
            )
            try:
                self._observer.schedule(
                    handler, folder, recursive=is_recursive, event_filter=kinds
                )
            except (FileNotFoundError, NotADirectoryError):
                self._flag.notify_change()  # deleted since it was located: the next scan shows it
        self._probe()

    def _probe(self) -> None:
        """Raises OSError when the kernel refuses another folder: watchdog does not report that for
        folders inside a root.
        """
        if not system.WATCH_LIMITS:  # elsewhere, that would be to watch the whole disk
            return
        # The root folder of the system is in no root, and will not be deleted: no event comes.
        kinds = [lazy_imports.watchdog().events.DirDeletedEvent]
        handler = EventHandler(base=os.sep, index_dir=os.sep, flag=self._flag)
        self._observer.unschedule(self._observer.schedule(handler, os.sep, event_filter=kinds))

    def has_stopped(self) -> bool:
        """Whether a thread has ended, as that of a deleted folder does."""
        observer = self._observer
        return not self._is_polling and not (
            observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)
        )

    def close(self) -> None:
        """Stops observing."""
        self._stop()
        self._log.removeHandler(self._log_handler)
        self._log.propagate = True
        threading.excepthook = self._previous_hook

    def _stop(self) -> None:
        """Stops the observer; waits only a limited time for its threads, since a walk of a large
        tree may hold their locks.
        """
        observer, self._observer = self._observer, None
        if observer is not None:
            stopping = threading.Thread(target=observer.stop, daemon=True)
            stopping.start()
            stopping.join(_STOP_TIMEOUT_S)
            if observer.is_alive():
                observer.join(_STOP_TIMEOUT_S)

    def _on_log_record(self, record: logging.LogRecord) -> bool:
        if "overflow" in record.getMessage() and not self._is_foreign(threading.current_thread()):
            self._flag.notify_overflow()
        return False

    def _on_thread_error(self, args: threading.ExceptHookArgs) -> None:
        """Counts a failed thread of watchdog as lost events: it would print a traceback and report
        nothing more.
        """
        if not _is_watchdog_thread(args.thread):
            self._previous_hook(args)
        elif not self._is_foreign(args.thread):
            self._flag.notify_overflow()

    def _is_foreign(self, thread: threading.Thread | None) -> bool:
        return thread in self._foreign_threads


def _is_watchdog_thread(thread: threading.Thread | None) -> bool:
    return type(thread).__module__.startswith("watchdog")


def _describe_error(error: OSError | SystemError) -> str:
    number = getattr(error, "errno", None) or 0
    advice = f" ({_LIMIT_HINTS[number]})" if number in _LIMIT_HINTS else ""
    return f"the kernel gives no events: {os.strerror(number) if number else error}{advice}"
