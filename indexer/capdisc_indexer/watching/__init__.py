"""An index that follows its folders."""

from capdisc_indexer.watching.watch_loop import WatchOptions, WatchUpdate, watch

__all__ = ["WatchOptions", "WatchUpdate", "watch"]
