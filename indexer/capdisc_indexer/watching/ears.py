"""The kernel's events below some folders, heard through watchdog."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.watching.hints import Hints
from capdisc_indexer.watching.places import Place
from capdisc_indexer.watching.relevance import KINDS, matters

if TYPE_CHECKING:
    import logging

# How long threads may take to end. They are daemons: one that hangs holds nothing back.
_STOP_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ear:
    """What watchdog calls with each event below one folder; every microsecond here counts thousands of times."""

    base: str
    index_dir: str
    hints: Hints
    every: bool = False

    def dispatch(self, event: Any) -> None:
        """Note that there is something to look at; that a root itself is gone is found by looking, too."""
        if matters(event, self.base, self.index_dir, self.every):
            self.hints.changed()


class Ears:
    """Listens until closed; `hints` learns of what may matter. Only the thread that made it may call its methods."""

    def __init__(self, hints: Hints, index_dir: str) -> None:
        import logging

        self._hints, self._index_dir = hints, index_dir
        self._observer: Any = None
        # watchdog tells of an overflow of the kernel's queue in its log and nowhere else.
        self._log = logging.getLogger("watchdog")
        self._overheard = logging.Handler(logging.WARNING)
        self._overheard.addFilter(self._hear_log)
        self._log.addHandler(self._overheard)
        self._log.propagate = False
        self._hook, threading.excepthook = threading.excepthook, self._hear_death

    def listen(self, places: Iterable[Place]) -> None:
        """Listen to these places, and to no others any more. Raises OSError where the kernel gives no events."""
        self._stop()
        watchdog = engines.watchdog()
        self._observer = watchdog.observers.Observer()
        self._observer.start()
        kinds = [getattr(watchdog.events, kind) for kind in KINDS]
        for folder, whole, every in dict.fromkeys((place.folder, place.whole, place.every) for place in places):
            ear = Ear(base=folder, index_dir=self._index_dir, hints=self._hints, every=every)
            try:
                self._observer.schedule(ear, folder, recursive=whole, event_filter=kinds)
            except (FileNotFoundError, NotADirectoryError):
                self._hints.changed()  # gone since it was located, which the next look will show
        self.probe()

    def probe(self) -> None:
        """Raises OSError when no further folder could be listened to: watchdog keeps that to itself for inner ones."""
        # A folder in no root; of it, only its deletion is asked for, so that it never says anything.
        kinds = [engines.watchdog().events.DirDeletedEvent]
        ear = Ear(base=os.sep, index_dir=os.sep, hints=self._hints)
        self._observer.unschedule(self._observer.schedule(ear, os.sep, event_filter=kinds))

    def deaf(self) -> bool:
        """Whether a thread has ended: that of a folder does when the folder is deleted."""
        observer = self._observer
        return not observer.is_alive() or not all(each.is_alive() for each in observer.emitters)

    def close(self) -> None:
        """Stop listening."""
        self._stop()
        self._log.removeHandler(self._overheard)
        self._log.propagate = True
        threading.excepthook = self._hook

    def _stop(self) -> None:
        """Its threads get a limited time each: stopping waits for locks that a walk of a large tree may hold."""
        observer, self._observer = self._observer, None
        if observer is not None:
            stopping = threading.Thread(target=observer.stop, daemon=True)
            stopping.start()
            stopping.join(_STOP_S)
            if observer.is_alive():
                observer.join(_STOP_S)

    def _hear_log(self, record: logging.LogRecord) -> bool:
        if "overflow" in record.getMessage():
            self._hints.overflowed()
        return False

    def _hear_death(self, args: Any) -> None:
        """A thread of watchdog that fails would fall silent with a traceback."""
        if type(args.thread).__module__.startswith("watchdog"):
            self._hints.overflowed()
        else:
            self._hook(args)
