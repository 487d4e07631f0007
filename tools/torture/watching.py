"""What `capdisc watch` promises, tried hard: bursts, lost events, editors, roots that move, limits, half files.

python tools/torture/watching.py [SCALE] [SEED]
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent)

from figure import Figure
from moving_roots import MOVES, moved
from saving import IMITATED, REAL, Saving
from skill_trees import burst, description, equal_after, fresh, text_of, times, write
from watched import Watched, ids, until

_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
_WATCHES = Path("/proc/sys/user/max_inotify_watches")


def r25(work: Path, rng: random.Random, scale: float) -> Figure:
    """Bursts of new, renamed and deleted folders; at scale 1, 2,000, 800 and 400 of them."""
    root, index_dir = fresh(work)
    made, took, failed, runs = 0, [], 0, 3
    with Watched(root, "--index-dir", index_dir) as watched:
        watched.ready()
        for _ in range(runs):
            made = burst(root, rng, scale, made)
            took.append(equal_after(index_dir, [root], work, 10))
            failed += took[-1] is None
    return Figure(
        "R25", "after a burst, equal to a scratch build within 10 s", runs, failed, times(took)
    )


def r26(work: Path, rng: random.Random, scale: float) -> Figure:
    """40,000 changes (at scale 1) while the watcher is stopped, and then the 15 s after it goes on."""
    root, index_dir = fresh(work)
    folders = max(20, int(1_000 * scale))
    for number in range(folders):
        write(root, number, "first")
    with Watched(root, "--index-dir", index_dir) as watched:
        watched.ready()
        watched.process.send_signal(signal.SIGSTOP)
        chosen = [rng.randrange(folders * 5 // 4) for _ in range(int(40_000 * scale))]
        for change, number in enumerate(chosen):
            write(root, number, f"change {change}")
        watched.process.send_signal(signal.SIGCONT)
        took = equal_after(index_dir, [root], work, 15)
        told = watched.notices.count("events were lost")
    # Emptying and writing a file is one event, closing it another; new folders are not listened to while it is stopped.
    wanted = 2 * sum(number < folders for number in chosen) > int(_QUEUE.read_text()) * 1.1
    note = (
        f"{times([took])}; {told} lines that events were lost ({'due' if wanted else 'not due'})"
    )
    failed = took is None or told > 2 or (wanted and not told)
    return Figure(
        "R26", "after an overflow, equal within 15 s, and it is said", 1, int(failed), note
    )


def r27(work: Path, rng: random.Random, scale: float) -> Figure:
    """Every way of saving, several times each."""
    root, index_dir = fresh(work)
    path = write(root, 0, "nothing")
    faults: list[str] = []
    savings = [saving for saving in (*IMITATED, *REAL) for _ in range(max(1, int(10 * scale)))]
    rng.shuffle(savings)
    with Watched(root, "--index-dir", index_dir) as watched:
        watched.ready()
        for turn, saving in enumerate(savings):
            if fault := _saved(watched, index_dir, path, saving, f"turn {turn}"):
                faults.append(f"{saving.__name__}: {fault}")
    note = "; ".join(faults) or f"{len(IMITATED)} ways imitated, {len(REAL)} by the real program"
    return Figure(
        "R27",
        "each save one reindex, right content, no temporary name",
        len(savings),
        len(faults),
        note,
    )


def r28(work: Path, rng: random.Random, scale: float) -> Figure:
    """Roots that come, go and are exchanged, each followed within 5 s."""
    took, faults = [], []
    for move in MOVES * max(1, int(3 * scale)):
        root, index_dir = fresh(work)
        took.append(moved(move, root, index_dir, work))
        faults += [move.__name__.strip("_")] if took[-1] is None else []
    return Figure(
        "R28",
        "a root that moves is followed within 5 s",
        len(took),
        len(faults),
        "; ".join(faults) or times(took),
    )


def r29(work: Path, rng: random.Random, scale: float) -> Figure:
    """Too few watches, in a user namespace of its own: at the start, and after some time."""
    if not shutil.which("unshare") or not _WATCHES.exists():
        return Figure(
            "R29",
            "without watches it polls, with one notice",
            0,
            0,
            "skipped: no user namespaces here",
        )
    failed = 0
    for limit, folders in ((64, 200), (64, 20)):
        root, index_dir = fresh(work)
        for number in range(folders):
            write(root, number, "first")
        limited = ("unshare", "-Ur", "sh", "-c", f'echo {limit} > {_WATCHES} && exec "$0" "$@"')
        with Watched(root, "--index-dir", index_dir, prefix=limited) as watched:
            watched.ready()
            for number in range(300):
                write(root, number, "second")
            took = equal_after(index_dir, [root], work, 15)
            # The index may be right before the notice is out.
            until(lambda watched=watched: "the kernel gives no events" in watched.notices, 15)
            failed += took is None or watched.notices.count("the kernel gives no events") != 1
    return Figure(
        "R29", "without watches it polls, with one notice", 2, failed, "at the start, and later"
    )


def r30(work: Path, rng: random.Random, scale: float) -> Figure:
    """A manifest written in 20 pieces, 100 ms apart, while the last version answers."""
    root, index_dir = fresh(work)
    path = write(root, 0, "first")
    runs, failed, most = max(1, int(100 * scale)), 0, 0
    with Watched(root, "--index-dir", index_dir) as watched:
        watched.ready()
        for turn in range(runs):
            before, whole = len(watched.published), True
            data = text_of(0, f"turn {turn} " + "and so on " * 40)
            with path.open("wb", buffering=0) as file:
                for piece in range(20):
                    file.write(data[piece * len(data) // 20 : (piece + 1) * len(data) // 20])
                    time.sleep(0.1)
                    whole = whole and ids(index_dir) == ["skill:skill-0"]
            arrived = until(lambda text=f"turn {turn} ": text in description(index_dir))
            commits = len(watched.published) - before
            most = max(most, commits)
            failed += not whole or not arrived or commits > 2
    return Figure(
        "R30",
        "the last version answers until the new one parses",
        runs,
        failed,
        f"at most {most} commits a file",
    )


def _saved(watched: Watched, index_dir: Path, path: Path, saving: Saving, text: str) -> str:
    """What was wrong with one save."""
    before = len(watched.published)
    saving(path, text_of(0, text))
    arrived = until(lambda: text in description(index_dir), 10)
    time.sleep(1.2)  # whatever else this save may cause
    commits = len(watched.published) - before
    for left in path.parent.iterdir():
        if left != path:
            left.unlink()
    if not arrived:
        return "did not arrive"
    if ids(index_dir) != ["skill:skill-0"]:
        return f"left {ids(index_dir)}"
    return "" if commits == 1 else f"{commits} reindexes"


ALL = (r25, r26, r27, r28, r29, r30)


def main() -> None:
    """Print a figure for each promise."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for each in ALL:
        with tempfile.TemporaryDirectory() as work:
            print(each(Path(work), random.Random(seed), scale), flush=True)


if __name__ == "__main__":
    os.environ.pop("CAPDISC_INDEX_DIR", None)
    main()
