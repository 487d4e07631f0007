"""The kernel's events below some folders, heard through watchdog."""

from __future__ import annotations

import errno
import os
import threading
import time
import warnings
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.sources import source_for
from capdisc_indexer.sources.scan.folder_files import SNIFFED_SUFFIXES, is_companion
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS, is_guidance, is_inside
from capdisc_indexer.watching.watched_roots import WatchOptions, WatchPlace, WatchPlaces

if TYPE_CHECKING:
    import logging

# Which events can matter to a scan. Most do not: a repository's own files, an index inside a root,
# other programs.

# The kinds of event that are asked for. Opening and reading are not among them: scans do that all
# the time.
EVENT_KINDS = (
    "FileCreatedEvent FileModifiedEvent FileClosedEvent FileDeletedEvent FileMovedEvent FileAttribEvent "
    "DirCreatedEvent DirDeletedEvent DirMovedEvent DirAttribEvent"
).split()
_CONTENT_EVENTS = frozenset({"modified", "closed", "attrib"})


def is_relevant_event(event: Any, base: str, index_dir: str, all_files: bool = False) -> bool:
    """Whether a scan of the folder `base` could come out differently after this event; with
    `all_files`, any file there may be a source, whatever its name.
    """
    paths = [path for path in (event.src_path, event.dest_path) if path]
    return any(
        _is_within_scan(path, base, index_dir) and (all_files or _is_relevant_path(event, path))
        for path in paths
    )


def _is_within_scan(path: str, base: str, index_dir: str) -> bool:
    folders = path.removeprefix(base).split("/")
    return SKIPPED_FOLDERS.isdisjoint(folders) and not is_inside(path, [index_dir])


def _is_relevant_path(event: Any, path: str) -> bool:
    """Other files may come and go as links to folders do; what they hold is none of our
    business.
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


# What the listening threads tell the waiting one: that something changed, and when. Nothing else
# passes.


class ChangeSignal:
    """A flag with two times. Setting it takes a microsecond, so that no queue of events grows
    behind it.
    """

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._first = self._last = 0.0
        self.lost = False

    @property
    def pending(self) -> bool:
        """Whether something changed since `reset`."""
        return self._flag.is_set()

    def changed(self) -> None:
        """Something changed just now."""
        self._last = time.monotonic()
        if not self._flag.is_set():
            self._first = self._last
            self._flag.set()

    def notify_overflow(self) -> None:
        """Something changed, and nobody can say where."""
        self.lost = True
        self.changed()

    def reset(self) -> bool:
        """Start anew, before looking; whether events were lost until now."""
        had_lost_events, self.lost = self.lost, False
        self._flag.clear()
        return had_lost_events

    def is_due(self, quiet_s: float, patience_s: float) -> bool:
        """Whether the changes have come to rest, or have gone on for too long."""
        now = time.monotonic()
        return self.pending and (
            now - self._last >= quiet_s or now - self._first >= max(patience_s, quiet_s)
        )

    def wait(self, seconds: float) -> None:
        """Wait for the first change; when there is one, just wait. Signals interrupt it."""
        if self.pending:
            time.sleep(seconds)
        else:
            self._flag.wait(seconds)


# How long threads may take to end. They are daemons: one that hangs holds nothing back.
_STOP_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventHandler:
    """What watchdog calls with each event below one folder; every microsecond here counts
    thousands of times.
    """

    base: str
    index_dir: str
    signal: ChangeSignal
    all_files: bool = False

    def dispatch(self, event: Any) -> None:
        """Note that there is something to look at; that a root itself is gone is found by looking,
        too.
        """
        if is_relevant_event(event, self.base, self.index_dir, self.all_files):
            self.signal.changed()


class FileSystemObserver:
    """Listens until closed; `signal` learns of what may matter. Only the thread that made it may
    call its methods.
    """

    def __init__(self, hints: ChangeSignal, index_dir: str) -> None:
        import logging

        self._signal, self._index_dir = hints, index_dir
        self._observer: Any = None
        # watchdog 7.1 warns when it meets a new folder twice, by its event and by its own walk.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        # Threads that another observer of this process has left running are not ours.
        self._foreign_threads = weakref.WeakSet(filter(_is_watchdog_thread, threading.enumerate()))
        # watchdog tells of an overflow of the kernel's queue in its log and nowhere else.
        self._log = logging.getLogger("watchdog")
        self._log_handler = logging.Handler(logging.WARNING)
        self._log_handler.addFilter(self._on_log_record)
        self._log.addHandler(self._log_handler)
        self._log.propagate = False
        self._hook, threading.excepthook = threading.excepthook, self._on_thread_error

    def listen(self, places: Iterable[WatchPlace]) -> None:
        """Listen to these places, and to no others any more. Raises OSError where the kernel gives
        no events.
        """
        self._stop()
        watchdog = lazy_imports.watchdog()
        self._observer = watchdog.observers.Observer()
        self._observer.start()
        kinds = [getattr(watchdog.events, kind) for kind in EVENT_KINDS]
        for folder, is_recursive, all_files in dict.fromkeys(
            (place.folder, place.is_folder, place.all_files) for place in places
        ):
            ear = EventHandler(
                base=folder, index_dir=self._index_dir, signal=self._signal, all_files=all_files
            )
            try:
                self._observer.schedule(ear, folder, recursive=is_recursive, event_filter=kinds)
            except (FileNotFoundError, NotADirectoryError):
                self._signal.changed()  # gone since it was located, which the next look will show
        self.probe()

    def probe(self) -> None:
        """Raises OSError when no further folder could be listened to: watchdog keeps that to
        itself for inner ones.
        """
        # A folder in no root; of it, only its deletion is asked for, so that it never says
        # anything.
        kinds = [lazy_imports.watchdog().events.DirDeletedEvent]
        ear = EventHandler(base=os.sep, index_dir=os.sep, signal=self._signal)
        self._observer.unschedule(self._observer.schedule(ear, os.sep, event_filter=kinds))

    def has_stopped(self) -> bool:
        """Whether a thread has ended: that of a folder does when the folder is deleted."""
        observer = self._observer
        return not observer.is_alive() or not all(
            emitter.is_alive() for emitter in observer.emitters
        )

    def close(self) -> None:
        """Stop listening."""
        self._stop()
        self._log.removeHandler(self._log_handler)
        self._log.propagate = True
        threading.excepthook = self._hook

    def _stop(self) -> None:
        """Its threads get a limited time each: stopping waits for locks that a walk of a large
        tree may hold.
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
            self._signal.notify_overflow()
        return False

    def _on_thread_error(self, args: Any) -> None:
        """A thread of watchdog that fails would fall silent with a traceback."""
        if not _is_watchdog_thread(args.thread):
            self._hook(args)
        elif not self._is_foreign(args.thread):
            self._signal.notify_overflow()

    def _is_foreign(self, thread: threading.Thread) -> bool:
        return thread in self._foreign_threads


def _is_watchdog_thread(thread: Any) -> bool:
    return type(thread).__module__.startswith("watchdog")


# Hearing of changes: by the kernel's events where it gives them, else by looking often.

# Events are missed now and then; folders of a network file system have none. So one looks anyway.
EVENT_SCAN_INTERVAL_S = 60.0
POLL_SCAN_INTERVAL_S = 2.0
_LIMIT_HINTS = {
    errno.ENOSPC: "raise fs.inotify.max_user_watches to have them",
    errno.EMFILE: "raise fs.inotify.max_user_instances or the limit of open files to have them",
}


class WatchBackend:
    """Keeps ears on the places of the roots, or does without for good once the kernel refuses."""

    def __init__(self, hints: ChangeSignal, index_dir: str, options: WatchOptions) -> None:
        self._signal, self._options = hints, options
        self._observer = None if options.poll else FileSystemObserver(hints, index_dir)
        self._watched: WatchPlaces = {}
        self._renew = True

    @property
    def interval_s(self) -> float:
        """How long to wait for changes before looking anyway."""
        usual = EVENT_SCAN_INTERVAL_S if self._observer else POLL_SCAN_INTERVAL_S
        return usual if self._options.interval_s is None else self._options.interval_s

    def refresh(self, places: WatchPlaces, has_lost_events: bool) -> list[str]:
        """Listen to the places, anew where that may be needed; what to say about it."""
        if self._observer is None:
            return []
        notices = (
            ["some of the kernel's events were lost; looking at everything again"]
            if has_lost_events
            else []
        )
        try:
            if (
                self._renew
                or has_lost_events
                or places != self._watched
                or self._observer.has_stopped()
            ):
                self._observer.listen(place for place in places.values() if place)
                self._watched, self._renew = places, False
            else:
                self._observer.probe()
        except OSError as error:
            self._fall_back()
            notices.append(f"{_describe_error(error)}; looking every {self.interval_s:g} s instead")
        return notices

    def note_missed_change(self) -> None:
        """Something changed without an event, so that one folder at least is not heard: listen to
        all of them anew.
        """
        self._renew = self._observer is not None
        if self._renew:
            self._signal.changed()

    def has_stopped(self) -> bool:
        """Whether listening has to start anew."""
        return self._observer is not None and self._observer.has_stopped()

    def close(self) -> None:
        """Stop listening."""
        if self._observer:
            self._observer.close()

    def _fall_back(self) -> None:
        self.close()
        self._observer = None


def _describe_error(error: OSError) -> str:
    number = error.errno or 0
    advice = f" ({_LIMIT_HINTS[number]})" if number in _LIMIT_HINTS else ""
    return f"the kernel gives no events: {os.strerror(number) if number else error}{advice}"
