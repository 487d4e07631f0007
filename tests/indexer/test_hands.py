"""Worker processes share a large build; whatever happens to them, the result is the same."""

import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.indexing import worker_pool
from capdisc_indexer.indexing.embeddings import (
    EmbeddingBatcher,
    KnownVectors,
    encode_rows,
    hash_text,
)
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.indexing.worker_pool import BackgroundTask, WorkerPool
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def always(monkeypatch):
    """Hands are raised for the least work, on any machine."""
    monkeypatch.setattr(worker_pool, "MIN_PARALLEL_ITEMS", 1)
    monkeypatch.setattr(worker_pool, "count_processors", lambda: 2)


def test_what_a_killed_hand_had_to_do_is_done_here(always) -> None:
    with WorkerPool() as many:
        found = many.map(str, range(500), 500, run_here=lambda number: f"{number} here")
        first = next(found)
        for process in _processes(many):
            os.kill(process, signal.SIGKILL)
        answers = [first, *found]
    assert [answer.split()[0] for answer in answers] == [str(number) for number in range(500)]
    assert answers[-1] == "499 here"


def test_all_hands_are_gone_with_their_pool(always) -> None:
    with WorkerPool() as many:
        assert list(many.map(str, range(500), 500)) == [str(number) for number in range(500)]
        processes = _processes(many)
    assert len(processes) == 2
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked")
def test_every_hand_is_prepared(always, tmp_path) -> None:
    with WorkerPool(prepare=partial(os.chdir, tmp_path)) as many:
        found = many.map(os.path.abspath, map(str, range(500)), 500)
        assert list(found) == [f"{tmp_path}/{number}" for number in range(500)]


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked")
def test_where_no_process_can_be_forked_one_hand_works(always, monkeypatch) -> None:
    head, serve = worker_pool._WORKER_SCRIPT.split("; ", 1)
    refuse = "def fork(): raise BlockingIOError()\nimport os\nos.fork = fork\nimport json, sys\n"
    monkeypatch.setattr(worker_pool, "_WORKER_SCRIPT", f"{head}\n{refuse}{serve}")
    with WorkerPool() as many:
        assert list(many.map(str, range(500), 500)) == [str(number) for number in range(500)]


def _processes(pool: WorkerPool) -> list[int]:
    """The processes that were started, and those that they forked."""
    started = {worker.process.pid for worker in pool._workers}
    tasks = [Path(f"/proc/{pid}/task/{pid}/children") for pid in started]
    return [
        *started,
        *(int(pid) for task in tasks if task.exists() for pid in task.read_text().split()),
    ]


def test_a_hand_whose_answer_was_not_understood_is_asked_no_more(always, monkeypatch) -> None:
    """The rest of such an answer filled the pipe, and the next question waited behind it for ever."""
    real = worker_pool._run_in_worker
    failures = iter([True])

    def asked(worker, work, batch):
        if next(failures, False):
            worker.jobs.write(worker_pool.pickle.dumps((work, batch)))
            worker.jobs.flush()
            raise ValueError(worker.answers.read(1))
        return real(worker, work, batch)

    monkeypatch.setattr(worker_pool, "_run_in_worker", asked)
    texts = ["x" * 100_000] * 200
    with WorkerPool() as many:
        assert list(many.map(str, texts, len(texts))) == texts


def test_an_error_in_the_work_is_raised_where_it_was_asked_for(always) -> None:
    with WorkerPool() as many, pytest.raises(ValueError, match="invalid literal"):
        list(many.map(int, ["1", "two"], 2))


def test_where_there_are_no_threads_for_them_all_is_done_here(always, monkeypatch) -> None:
    def refused(*_) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with WorkerPool() as many:
        assert list(many.map(str, range(500), 500)) == [str(number) for number in range(500)]


def test_little_work_starts_no_process() -> None:
    with WorkerPool() as many:
        assert list(many.map(str, [1, 2], 2)) == ["1", "2"]
        assert many._workers == []


def test_a_build_with_hands_gives_the_index_of_one_without(
    hermetic, write_skill, always, monkeypatch
) -> None:
    for number in range(40):
        write_skill(
            hermetic / "skills",
            f"skill-{number}",
            f"Handles case {number}. Use when asked for it.",
        )
    (hermetic / "skills" / "skill-3" / "SKILL.md").write_text("---\nname: skill-3\n")
    shared = build_index([hermetic / "skills"], hermetic / "shared", BuildOptions())
    monkeypatch.setattr(worker_pool, "count_processors", lambda: 1)
    alone = build_index([hermetic / "skills"], hermetic / "alone", BuildOptions())
    assert shared.findings == alone.findings
    assert _contents(hermetic / "shared") == _contents(hermetic / "alone")


def _contents(index_dir) -> list[object]:
    with Index(index_dir) as index:
        whole = [
            (head, index.documents.body(head["id"])) for head in index.documents.all_headers()
        ]
        return [
            whole,
            index.generation.background,
            (index.folder / "matrix" / "matrix.i8").read_bytes(),
        ]


def test_a_text_that_waits_and_comes_again_with_its_row_has_one_row(tmp_path) -> None:
    """With a row too many, all later texts had the vectors of others."""
    encoder = load_shipped_encoder()
    rows = {text: encode_rows(encoder, [text]) for text in ("copy", "move", "send", "read")}
    known = KnownVectors(None, encoder.dim, None, is_base=False)
    with EmbeddingBatcher(encoder, known, tmp_path) as batcher:
        batcher.add_texts(["copy"], rows["copy"])
        batcher.add_texts(["copy", "move"], rows["copy"] + rows["move"])  # "move" waits
        batcher.add_texts(["move"], rows["move"])
        batcher.add_texts(["send"], rows["send"])
        batcher.encode()
        batcher.add_texts(["read"], rows["read"])
        for text, row in rows.items():
            assert batcher.read_rows([hash_text(text)], encoder.dim) == row


def test_a_task_in_the_background_returns_and_raises_as_it_would_in_line(monkeypatch) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    assert BackgroundTask(lambda: 7).result() == 7
    failed = BackgroundTask(lambda: {}["missing"])
    with pytest.raises(KeyError):
        failed.result()
    monkeypatch.setattr(threading.Thread, "start", refused)
    assert BackgroundTask(lambda: 7).result() == 7
