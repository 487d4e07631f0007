"""What a server prepares before its first query."""

from capdisc.context import open_index
from capdisc.serve import worker
from capdisc.serve.request_execution import IndexCache
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError


def test_without_arrays_the_index_is_open_before_anybody_asks(small, monkeypatch) -> None:
    def unloadable() -> None:
        raise IndexStateError("numpy cannot be loaded", "install it")

    monkeypatch.setattr(lazy_imports, "numpy", unloadable)
    monkeypatch.setattr(worker, "_WARMUP_COMMANDS", ())
    monkeypatch.setattr(worker.gc, "freeze", lambda: None)
    held = IndexCache()
    worker._warm_up(held)
    assert list(held._indexes) == [small]
    held._indexes[small].index.close()


def test_commands_use_the_open_index_of_the_server_and_their_own_afterwards(
    capdisc, small
) -> None:
    cache = IndexCache()
    with open_index.use_index_access(cache.access):
        for _ in range(2):
            assert capdisc("search", "put two PDF files into one").code == 0
            assert list(cache._indexes) == [small]
        opened = cache._indexes.pop(small).index
        opened.close()
    assert capdisc("search", "put two PDF files into one").code == 0
    assert not cache._indexes
