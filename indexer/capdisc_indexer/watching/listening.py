"""Hearing of changes: by the kernel's events where it gives them, else by looking often."""

from __future__ import annotations

import errno
import os

from capdisc_indexer.watching.ears import Ears
from capdisc_indexer.watching.hints import Hints
from capdisc_indexer.watching.places import Places
from capdisc_indexer.watching.values import WatchOptions

# Events are missed now and then; folders of a network file system have none. So one looks anyway.
WITH_EVENTS_S = 60.0
WITHOUT_EVENTS_S = 2.0
_LIMITS = {
    errno.ENOSPC: "raise fs.inotify.max_user_watches to have them",
    errno.EMFILE: "raise fs.inotify.max_user_instances or the limit of open files to have them",
}


class Listening:
    """Keeps ears on the places of the roots, or does without for good once the kernel refuses."""

    def __init__(self, hints: Hints, index_dir: str, options: WatchOptions) -> None:
        self._hints, self._options = hints, options
        self._ears = None if options.poll else Ears(hints, index_dir)
        self._heard: Places = {}
        self._renew = True

    @property
    def interval_s(self) -> float:
        """How long to wait for changes before looking anyway."""
        usual = WITH_EVENTS_S if self._ears else WITHOUT_EVENTS_S
        return usual if self._options.interval_s is None else self._options.interval_s

    def refresh(self, places: Places, lost: bool) -> list[str]:
        """Listen to the places, anew where that may be needed; what to say about it."""
        if self._ears is None:
            return []
        said = ["some of the kernel's events were lost; looking at everything again"] if lost else []
        try:
            if self._renew or lost or places != self._heard or self._ears.deaf():
                self._ears.listen(place for place in places.values() if place)
                self._heard, self._renew = places, False
            else:
                self._ears.probe()
        except OSError as error:
            self._give_up()
            said.append(f"{_why(error)}; looking every {self.interval_s:g} s instead")
        return said

    def missed(self) -> None:
        """Something changed without an event, so that one folder at least is not heard: listen to all of them anew."""
        self._renew = self._ears is not None
        if self._renew:
            self._hints.changed()

    def deaf(self) -> bool:
        """Whether listening has to start anew."""
        return self._ears is not None and self._ears.deaf()

    def close(self) -> None:
        """Stop listening."""
        if self._ears:
            self._ears.close()

    def _give_up(self) -> None:
        self.close()
        self._ears = None


def _why(error: OSError) -> str:
    number = error.errno or 0
    advice = f" ({_LIMITS[number]})" if number in _LIMITS else ""
    return f"the kernel gives no events: {os.strerror(number) if number else error}{advice}"
