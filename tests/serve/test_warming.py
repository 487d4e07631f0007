"""What a server prepares before its first query."""

import gc
import json
import os

from capdisc.context import open_index
from capdisc.serve import request_execution, worker
from capdisc.serve.request_execution import IndexCache
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.store import documents, matrix, passages
from capdisc_indexer.text.o200k import O200kCounter


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


def test_what_is_kept_between_questions_is_bounded(
    capdisc, hermetic, write_skill, monkeypatch
) -> None:
    """However many words and capabilities clients ask for."""
    limit, things = 20, [f"{kind}{number}" for kind in ("crane", "kettle") for number in range(30)]
    for number, thing in enumerate(things):
        sections = [f"## Fold {thing} {part}\n\n{f'Fold {thing}. ' * 90}" for part in range(2)]
        description = f"Folds {thing}. Use for {thing}."
        write_skill(hermetic / "skills", f"skill-{number}", description, "\n\n".join(sections))
    assert capdisc("index", "skills").code == 0
    monkeypatch.setattr(request_execution, "_MAX_RANKINGS", limit)
    for module in (documents, matrix, passages):
        monkeypatch.setattr(module, "_CACHE_SIZE", limit)
    cache = IndexCache()
    with open_index.use_index_access(cache.access):
        for thing in things:
            assert capdisc("search", f"fold a {thing}").code == 0
    (held,) = cache._indexes.values()
    index = held.index
    assert index.passages is not None
    stores = (cache, index.documents, index.matrix, index.passages, index.passages.matrix)
    kept = [
        (type(store).__name__, name, len(value))
        for store in stores
        for name, value in vars(store).items()
        if isinstance(value, dict)
    ]
    assert sum(size > 0 for *_, size in kept) >= 7
    assert [entry for entry in kept if entry[2] > limit] == []
    index.close()


def test_a_kept_ranking_is_the_ranking(capdisc, small, monkeypatch) -> None:
    """The same question again, what is available changed, and another index."""
    asking = ("search", "send a message", "--json")

    def answer() -> str:
        document = capdisc(*asking).json
        document.pop("timings", None)
        return json.dumps(document)

    cold = answer()
    cache = IndexCache()
    with open_index.use_index_access(cache.access):
        assert answer() == answer() == cold
        assert len(cache._rankings) == 1
        monkeypatch.setenv("SLACK_BOT_TOKEN", "canary")
        monkeypatch.setenv("MAIL_API_KEY", "canary")
        with_secrets = answer()
        cache._indexes.pop(small).index.close()
    assert with_secrets == answer()


def test_contexts_leave_nothing_open(capdisc, small, monkeypatch) -> None:
    """A server looks for cycles seldom: what a context maps may not wait for that."""
    cache = IndexCache()
    gc.disable()
    try:
        with open_index.use_index_access(cache.access):
            for number in range(3):
                capdisc("render", f"count {number} words", "--format", "xml")
            before = len(os.listdir("/dev/fd"))
            for number in range(20):
                capdisc("render", f"count {number} ferrets and wombats", "--format", "xml")
        assert len(os.listdir("/dev/fd")) <= before + 2
        kept = [value for value in gc.get_objects() if isinstance(value, O200kCounter)]
        assert len(kept) <= 2
    finally:
        gc.enable()
    cache._indexes[small].index.close()
