"""Work in a background thread returns and raises as it would in line."""

from __future__ import annotations

import threading

import pytest

from capdisc_indexer.indexing.worker_pool import BackgroundTask


def test_it_gives_what_the_work_gives() -> None:
    assert BackgroundTask(lambda: 7).result() == 7


def test_it_raises_where_it_is_asked_what_the_work_raised() -> None:
    failed = BackgroundTask(lambda: {}["missing"])
    with pytest.raises(KeyError):
        failed.result()


def test_without_another_thread_it_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert BackgroundTask(lambda: 7).result() == 7
