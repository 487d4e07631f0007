"""The index that a command asks, open, with where it is asked from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc import output, runtime, streams, trusting
from capdisc_indexer import encoders
from capdisc_indexer.config import Config
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.frozen import frozen
from capdisc_indexer.index import Index
from capdisc_indexer.needs import lacking
from capdisc_indexer.store.permissions import distrust

if TYPE_CHECKING:
    from capdisc_indexer.remote.values import Shared

# How an index is opened, and an encoder loaded: a server sets its own, which stay open from one request to the next.
open_index: Callable[[Path, str | None], AbstractContextManager[Index]] = Index
load_encoder: Callable[[str], Encoder] = encoders.load


def _brought(shared: Shared) -> tuple[str, ...]:
    from capdisc.sharing import brought

    return brought(shared)


# How the copy of a shared index is looked after, which needs the credentials of whoever asks.
bring: Callable[[Shared], tuple[str, ...]] = _brought


@frozen(kw_only=True)
class Asked:
    """The open index with everything a command needs to answer from it; `shared` where it is the copy of one on an
    object store, `degraded` what is not as it should be with that, which was said on stderr."""

    here: runtime.Runtime
    config: Config
    index: Index
    shared: Shared | None = None
    degraded: tuple[str, ...] = ()

    @property
    def doubt(self) -> str:
        """Why someone else may have made the index what it is; empty when only this user and root could."""
        if self.shared:
            from capdisc.sharing import others

            return others(self.shared)
        return distrust(self.index.index_dir)


@contextmanager
def opened(index_dir: Path | None) -> Iterator[Asked]:
    """The index that is meant here. Raises IndexStateError when there is none, ForeignIndexError where another user, or
    whoever made this folder, built it."""
    here = runtime.current()
    config = here.config()
    waiting = trusting.announce_settings(config)
    where, shared = here.index_dir(index_dir, config), here.shared(index_dir, config)
    with streams.native_hushed():
        notices = (*waiting, *bring(shared)) if shared else waiting
        with open_index(where, here.builder_id(where, shared)) as index:
            if doubt := distrust(where):
                output.notice(f"notice: {doubt}")
            yield Asked(here=here, config=config, index=index, shared=shared, degraded=notices)


def available(here: runtime.Runtime, head: Mapping[str, Any]) -> bool:
    """Whether the capability can be used here: switched on, and nothing of what it needs is missing."""
    return bool(head.get("available", True)) and not missing(here, head)


def missing(here: runtime.Runtime, head: Mapping[str, Any]) -> tuple[str, ...]:
    """The secrets that are not set here, the programs that are not on PATH, and the system, each once."""
    return lacking(head, here.environ, here.environ.get("PATH"), here.system)
