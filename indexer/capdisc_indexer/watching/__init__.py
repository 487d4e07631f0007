"""The living index: events of the file system wake the one routine that also starts it and looks
round by timer.

Kernels lose events and programs save files in odd ways, so that an event says only "look again".
What changed is found by a scan, as `capdisc index` does it, and published as a generation.
"""

from capdisc_indexer.watching.watch_loop import watch
from capdisc_indexer.watching.watched_roots import WatchOptions, WatchUpdate

__all__ = ["WatchOptions", "WatchUpdate", "watch"]
