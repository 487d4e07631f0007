"""Lost events, too few watches, other writers, full disks: reported once, and survived."""

import errno
import logging
import threading
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from capdisc_indexer import lazy_imports
from capdisc_indexer.indexing import commit, previous_build, tree_scan
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import InputError, OtherReleaseError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store import locks, publication
from capdisc_indexer.store.generation import read_pointer
from capdisc_indexer.watching import WatchOptions, WatchUpdate, fs_events, watch_loop
from capdisc_indexer.watching.fs_events import ChangeSignal, is_relevant_event, locate_roots
from case_rows import read_rows


@pytest.fixture
def unheard(monkeypatch) -> None:
    """No event ever arrives."""
    monkeypatch.setattr(fs_events, "is_relevant_event", lambda *_: False)


def refusing(error: Exception, allowed: int = 0):
    """A stand-in for watchdog whose kernel refuses after some folders."""
    real = lazy_imports.watchdog()
    left = [allowed]

    class Observer(real.observers.Observer):
        def schedule(self, *words, **options):
            left[0] -= 1
            if left[0] < 0:
                raise error
            return super().schedule(*words, **options)

    return SimpleNamespace(events=real.events, observers=SimpleNamespace(Observer=Observer))


def test_lost_events_are_said_once_and_everything_is_looked_at(
    watching, root, write_skill, unheard
) -> None:
    turns = watching(root)
    next(turns)
    write_skill(root, "beta")
    for _ in range(3):
        logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
    turn = next(turns)
    assert turn.report.counts["added"] == 1
    assert len(turn.notices) == 1
    assert "events were lost" in turn.notices[0]


def test_a_listening_thread_that_fails_is_replaced_without_a_traceback(
    watching, root, write_skill, capsys
) -> None:
    turns = watching(root)
    next(turns)
    emitter = next(
        each for each in threading.enumerate() if type(each).__name__ == "InotifyEmitter"
    )
    emitter.queue_event = None  # so that the next event is its end
    write_skill(root, "beta")
    assert next(turns).report.counts["added"] == 1
    write_skill(root, "gamma")
    assert next(turns).report.counts["added"] == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "refused"), "max_user_watches"),
        (OSError(errno.EMFILE, "refused"), "max_user_instances"),
        # macOS raises no OSError.
        (
            SystemError("Cannot start fsevents stream."),
            "the kernel gives no events: Cannot start fsevents stream.; scanning every 0.2 s instead",
        ),
    ],
)
# Of the root, of a folder inside, and after the root and one folder to try with.
@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_kernel_that_refuses_is_said_once_and_one_looks_instead(
    watching, root, write_skill, monkeypatch, error, said, allowed
) -> None:
    monkeypatch.setattr(lazy_imports, "watchdog", lambda fake=refusing(error, allowed): fake)
    turns = watching(root, interval_s=0.2)
    notices = list(next(turns).notices)
    assert bool(notices) == (allowed < 2)
    for name in ("beta", "gamma"):
        write_skill(root, name)
        turn = next(turns)
        assert turn.report.counts["added"] == 1
        notices += turn.notices
    (notice,) = notices
    assert "the kernel gives no events" in notice and said in notice


class PlayedFSEvents:
    """An observer that sends what a test gives it, in place of the one of macOS."""

    def __init__(self) -> None:
        self.places, self.emitters = [], []

    def schedule(self, handler, path, **_):
        self.places.append((path, handler))

    def send(self, event) -> None:
        for _, handler in self.places:
            handler.dispatch(event)

    def start(self) -> None: ...

    stop = start

    def is_alive(self) -> bool:
        return True

    def join(self, timeout) -> None: ...


def test_events_of_whole_folders_are_enough(watching, root, write_skill, monkeypatch) -> None:
    """FSEvents puts several events together into one, and a change of the case alone is a move."""
    events = lazy_imports.watchdog().events
    observers = []

    def start_observer():
        observers.append(PlayedFSEvents())
        return observers[-1]

    fake = SimpleNamespace(events=events, observers=SimpleNamespace(Observer=start_observer))
    monkeypatch.setattr(lazy_imports, "watchdog", lambda: fake)
    monkeypatch.setattr("capdisc_indexer.platforms.system.WATCH_LIMITS", "")
    turns = watching(root, interval_s=600)
    next(turns)
    write_skill(root, "beta")
    observers[-1].send(events.DirCreatedEvent(str(root / "beta")))
    assert next(turns).report.counts["added"] == 1
    (root / "beta" / "SKILL.md").rename(root / "beta" / "skill.md")
    observers[-1].send(
        events.FileMovedEvent(str(root / "beta" / "SKILL.md"), str(root / "beta" / "skill.md"))
    )
    assert next(turns).report.counts["updated"] == 1
    # Not even to try it: that would be to watch the whole disk.
    assert {path for observer in observers for path, _ in observer.places} == {str(root)}


def test_what_no_event_told_is_found_by_the_timer(watching, root, write_skill, unheard) -> None:
    turns = watching(root, interval_s=0.3)
    next(turns)
    for name in ("beta", "gamma"):
        write_skill(root, name)
        assert next(turns).report.counts["added"] == 1


def test_another_writer_is_waited_for_with_one_notice(
    watching, root, index_dir, monkeypatch
) -> None:
    monkeypatch.setattr("capdisc_indexer.watching.watch_loop.RETRY_INTERVAL_S", 0.1)
    turns = watching(root, lock_timeout_s=0.1)
    with ExitStack() as writing:
        writing.enter_context(locks.write_lock(index_dir, 1.0))
        assert "another process is writing" in next(turns).notices[0]
        done = threading.Timer(0.8, writing.pop_all().close)
        done.start()
    turn = next(turns)
    done.join()
    assert (turn.report.counts["added"], turn.notices) == (1, ())


def test_a_look_that_finds_no_change_needs_no_lock(
    root, index_dir, write_skill, monkeypatch
) -> None:
    monkeypatch.setattr(tree_scan, "_local_devices", lambda roots: {root.stat().st_dev})
    watcher = watch_loop._Watcher(
        [root],
        index_dir,
        BuildOptions(lock_timeout_s=0.1, only_new_findings=True),
        WatchOptions(poll=True),
    )
    with closing(watcher):
        assert watcher.next_update().report.published
        with locks.write_lock(index_dir, 1.0):
            assert watcher.next_update() == WatchUpdate()
            write_skill(root, "beta")
            assert "another process is writing" in watcher.next_update().notices[0]
        assert watcher.next_update().report.counts["added"] == 1


@pytest.mark.parametrize("has_newer_format", [True, False])
def test_an_index_that_an_upgraded_release_has_written_ends_it(
    watching, root, index_dir, write_skill, monkeypatch, has_newer_format
) -> None:
    turns = watching(root, poll=True, interval_s=0.1)
    next(turns)
    write_skill(root, "beta")
    with monkeypatch.context() as upgraded:
        for module in (commit, previous_build):
            upgraded.setattr(module, "describe_release", lambda: "99.0")
        if has_newer_format:
            upgraded.setattr(publication, "SCHEMA_VERSION", 999)
        build_index([root], index_dir, BuildOptions())
    written = read_pointer(index_dir)
    with pytest.raises(OtherReleaseError, match=r"capdisc 99\.0 has written this index") as caught:
        next(turns)
    assert "start it again" in caught.value.hint
    assert read_pointer(index_dir) == written


def test_a_build_that_fails_later_is_said_once_and_tried_again(
    watching, root, write_skill, monkeypatch
) -> None:
    monkeypatch.setattr("capdisc_indexer.watching.watch_loop.RETRY_INTERVAL_S", 0.1)
    turns = watching(root)
    next(turns)
    failures = [OSError(errno.ENOSPC, "No space left on device")] * 3

    def build_or_fail(*words, **named):
        if failures:
            raise failures.pop()
        return build_index(*words, **named)

    monkeypatch.setattr("capdisc_indexer.watching.watch_loop.build_index", build_or_fail)
    write_skill(root, "beta")
    turn = next(turns)
    assert turn.report is None
    assert "No space left on device" in turn.notices[0]
    turn = next(turns)
    assert (turn.report.counts["added"], turn.notices, failures) == (1, (), [])


def test_a_build_that_fails_at_the_start_is_an_error(watching, hermetic) -> None:
    (hermetic / "text.bin").write_text("no manifest")
    with pytest.raises(InputError, match="not a capability file"):
        next(watching(hermetic / "text.bin"))


def test_nothing_is_left_behind(watching, root) -> None:
    before, hook = {*threading.enumerate()}, threading.excepthook
    turns = watching(root)
    next(turns)
    turns.close()
    assert {*threading.enumerate()} <= before
    assert threading.excepthook == hook
    assert logging.getLogger("watchdog").handlers == []


def test_its_own_index_inside_a_root_wakes_nobody(root, write_skill) -> None:
    hints, index_dir = ChangeSignal(), root / ".index"
    index_dir.mkdir()
    listening = fs_events.FolderObserver(hints, str(index_dir))
    try:
        listening.refresh(locate_roots([root]), has_lost_events=False)
        for _ in range(2):
            build_index([root], index_dir, BuildOptions())
        hints.wait(1.0)
        assert not hints.pending
        write_skill(root, "beta")
        hints.wait(10.0)
        assert hints.pending
    finally:
        listening.close()


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    read_rows(__file__, "only_what_a_scan_would_see_matters"),
)
def test_only_what_a_scan_would_see_matters(kind, path, expected) -> None:
    event = SimpleNamespace(src_path=path, dest_path="", event_type=kind, is_directory=False)
    assert is_relevant_event(event, "/r", "/r/index") is expected


def test_a_failing_thread_of_an_earlier_observer_wakes_nobody(root, hermetic) -> None:
    from watchdog.utils import BaseThread

    fail = threading.Event()

    class Leftover(BaseThread):
        def run(self) -> None:
            fail.wait(10.0)
            raise KeyError("a folder that is gone")

    Leftover.__module__ = "watchdog.observers.inotify"
    leftover = Leftover()
    leftover.start()
    hints = ChangeSignal()
    observer = fs_events.FolderObserver(hints, str(hermetic / "index"))
    try:
        fail.set()
        leftover.join(10.0)
        assert not hints.pending
        own = Leftover()
        own.start()
        own.join(10.0)
        assert (hints.pending, hints.lost) == (True, True)
    finally:
        observer.close()
