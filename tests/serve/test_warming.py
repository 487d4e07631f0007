"""What a server does before it is asked, as far as it can."""

from capdisc.serve import worker
from capdisc.serve.held import Held
from capdisc_indexer import engines
from capdisc_indexer.errors import IndexStateError


def test_without_arrays_the_index_is_open_before_anybody_asks(small, monkeypatch) -> None:
    def unloadable() -> None:
        raise IndexStateError("numpy cannot be loaded", "install it")

    monkeypatch.setattr(engines, "numpy", unloadable)
    monkeypatch.setattr(worker, "_USUAL", ())
    monkeypatch.setattr(worker.gc, "freeze", lambda: None)
    held = Held()
    worker._warm(held)
    assert list(held._indexes) == [small]
    held._indexes[small].index.close()
