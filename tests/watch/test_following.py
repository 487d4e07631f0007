"""The index follows the files, however they change."""

import itertools
import shutil
import threading
import time

import pytest
from saving import IMITATED

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index


def changes(turn) -> tuple[int, int, int]:
    return tuple(turn.report.counts[name] for name in ("added", "updated", "removed"))


def test_a_start_without_a_change_is_told_as_well(watching, root, index_dir) -> None:
    build_index([root], index_dir, BuildOptions())
    turn = next(watching(root))
    assert (turn.report.published, changes(turn)) == (False, (0, 0, 0))


def test_a_burst_leaves_what_a_build_from_scratch_gives(
    watching, root, hermetic, index_dir, write_skill
) -> None:
    turns = watching(root)
    next(turns)
    for number in range(60):
        write_skill(root / f"group-{number % 5}", f"skill-{number}")
    for number in range(0, 60, 3):
        (root / f"group-{number % 5}" / f"skill-{number}").rename(root / f"moved-{number}")
    shutil.rmtree(root / "group-1")
    next(turns)
    build_index([root], hermetic / "fresh", BuildOptions())
    with Index(index_dir) as one, Index(hermetic / "fresh") as two:
        heads = list(one.documents.all_headers())
        assert heads == list(two.documents.all_headers())
        assert [one.full_descriptor(head) for head in heads] == [
            two.full_descriptor(head) for head in heads
        ]


def test_every_way_of_saving_is_one_reindex_with_the_right_content(
    watching, root, described
) -> None:
    """Every way of saving a file causes one new generation with the right content (S211)."""
    turns = watching(root)
    number = next(turns).report.generation.number
    path = root / "alpha" / "SKILL.md"
    for saving in IMITATED:
        text = f"Saved by {saving.__name__}. Use when asked."
        saving(path, f"---\nname: alpha\ndescription: {text}\n---\n\nDo it.\n".encode())
        turn = next(turns)
        number += 1
        assert (turn.report.generation.number, turn.errors) == (number, ()), saving
        assert described() == {"skill:alpha": text}, saving


def test_who_never_stops_writing_holds_nothing_back(watching, root, write_skill) -> None:
    turns = watching(root, quiet_s=0.3, patience_s=1.0)
    next(turns)
    done = threading.Event()

    def scribble() -> None:
        while not done.wait(0.05):
            write_skill(root, "beta")

    writing = threading.Thread(target=scribble)
    writing.start()
    try:
        # A turn that reads the file just as it is truncated finds nothing in it yet.
        found = next(found for found in map(changes, itertools.islice(turns, 20)) if any(found))
        assert found == (1, 0, 0)
        assert writing.is_alive()
    finally:
        done.set()
        writing.join()


def test_a_half_written_file_keeps_its_last_version(
    watching, root, described, monkeypatch
) -> None:
    monkeypatch.setattr(
        "capdisc_indexer.watching.watch_loop.GRACE_S", 30.0
    )  # a slow machine must not use it up
    path = root / "alpha" / "SKILL.md"
    turns = watching(root, quiet_s=0.05)
    next(turns)
    seen = []

    def write() -> None:
        path.write_text("---\nname: al")
        time.sleep(0.6)
        seen.append(described())
        path.write_text("---\nname: alpha\ndescription: The new one. Use when asked.\n---\n")

    writing = threading.Thread(target=write)
    writing.start()
    turn = next(turns)
    writing.join()
    assert seen == [{"skill:alpha": "Does a thing. Use when asked."}]
    assert (changes(turn), turn.errors) == ((0, 1, 0), ())
    assert described() == {"skill:alpha": "The new one. Use when asked."}


def test_a_file_that_stays_broken_is_an_error_once_and_its_last_version_stays(
    watching, root, write_skill, described, monkeypatch
) -> None:
    monkeypatch.setattr("capdisc_indexer.watching.watch_loop.GRACE_S", 0.4)
    turns = watching(root)
    next(turns)
    broken = root / "alpha" / "SKILL.md"
    broken.write_text("---\nname: al")
    turn = next(turns)
    assert (changes(turn), [error.path for error in turn.errors]) == ((0, 1, 0), [str(broken)])
    assert described().keys() == {"skill:alpha"}
    write_skill(root, "beta")
    assert next(turns).errors == ()
    write_skill(root, "alpha")
    assert changes(next(turns)) == (0, 1, 0)
    broken.unlink()
    assert changes(next(turns)) == (0, 0, 1)


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_broken_file_gets_no_grace_for_a_stamp_from_elsewhere(
    root, index_dir, hours, monkeypatch
) -> None:
    build_index([root], index_dir, BuildOptions())
    (root / "alpha" / "SKILL.md").write_text("---\nname: al")
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + hours * 3600 * 10**9)
    assert build_index([root], index_dir, BuildOptions(grace_s=2.0)).counts["stale"] == 1


def test_changed_guidance_is_followed(watching, root, index_dir) -> None:
    """Changed guidance is followed as manifests are (S292)."""
    turns = watching(root, interval_s=30)
    next(turns)
    (root / "guidance").mkdir()
    (root / "guidance" / "general.md").write_text("Fold first.\n")
    assert next(turns).report.published
    with Index(index_dir) as index:
        assert index.guidance(["General"])["general"]["text"] == "Fold first.\n"
    (root / "guidance" / "general.md").write_text("Cut first.\n")
    assert next(turns).report.published
    with Index(index_dir) as index:
        assert index.guidance(["general"])["general"]["text"] == "Cut first.\n"
