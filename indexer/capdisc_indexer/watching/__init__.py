"""An index that follows its folders: events of the file system, or else a timer, start a build.

Kernels lose events, and programs save files in odd ways, so an event only means "look again". What
changed is found by a scan, as `capdisc index` does it, and published as a generation.
"""

from capdisc_indexer.watching.watch_loop import watch
from capdisc_indexer.watching.watched_roots import WatchOptions, WatchUpdate

__all__ = ["WatchOptions", "WatchUpdate", "watch"]
