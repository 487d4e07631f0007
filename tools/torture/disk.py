"""R3, R10: power cuts and full disks, on file systems of their own. They need root."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import workbench
from figure import Figure
from workbench import command, held, index, run, sick, skills, start, wanted, write_skill

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.store.snapshot import Index

# Where the disk refuses a call of one of tantivy's threads, the thread ends, and tantivy tells neither the call nor
# the file. Of any other call the error says the reason and the path.
OF_A_THREAD = "one of its threads ended, most likely because the disk refused a call"


@contextmanager
def mounted(kind: str, what: str, place: Path, options: str) -> Iterator[Path]:
    """Something mounted at `place`, and gone again afterwards."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, "-o", options, what, str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def r3(work: Path, rng: random.Random, scale: float) -> Figure:
    """Copy a disk's image while a writer is stopped: nothing that was acknowledged may be missing in the copy."""
    image = work / "disk.img"
    images, wrong, acknowledged = max(2, round(40 * scale)), [], 0
    for turn in range(images):
        with image.open("wb") as file:
            file.truncate(48 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
        # Nothing reaches this disk within the test unless it is asked for.
        with mounted("ext4", str(image), work / "disk", "loop,commit=300"):
            published = _cut(work, rng)
        acknowledged += len(published)
        problem = _after_the_cut(work, published)
        wrong += [f"image {turn}: {problem}"] if problem else []
    note = "; ".join(wrong[:2]) or f"{acknowledged} acknowledged runs"
    return Figure("R3", "a power cut takes nothing acknowledged", images, len(wrong), note)


def _cut(work: Path, rng: random.Random) -> list[dict[str, str]]:
    """The states that were acknowledged before the image was copied."""
    root, index_dir = work / "root", work / "disk" / "deep" / "index"
    shutil.rmtree(root, ignore_errors=True)
    skills(root, 10, rng)
    states = []
    for _ in range(rng.randrange(3)):
        write_skill(root, f"skill-{rng.randrange(12)}", workbench.sentence(rng))
        states += [wanted(root)] if index(work, root, index_dir).code in workbench.DONE else []
    write_skill(root, f"skill-{rng.randrange(12)}", workbench.sentence(rng))
    child = start(work, command("index", str(root), "--index-dir", str(index_dir), "--json"))
    time.sleep(rng.uniform(0.4, 2.0))
    if child.poll() is None:
        child.send_signal(signal.SIGSTOP)
    states += [wanted(root)] if child.poll() in workbench.DONE else []
    shutil.copyfile(work / "disk.img", work / "copy.img")
    child.kill()
    child.communicate()
    return states


def _after_the_cut(work: Path, published: list[dict[str, str]]) -> str:
    with mounted("ext4", str(work / "copy.img"), work / "copy", "loop"):
        index_dir = work / "copy" / "deep" / "index"
        if not published and not (index_dir / "CURRENT").exists():
            return (
                ""
                if index(work, work / "root", index_dir).code in workbench.DONE
                else "cannot be begun anew"
            )
        if problem := sick(index_dir):
            return problem
        found = held(index_dir)
        newer = wanted(work / "root")
        return "" if found in (published[-1] if published else newer, newer) else "lost or mixed"


def r10(work: Path, rng: random.Random, scale: float) -> Figure:
    """Index on disks that are too small, by a whole build and by an update, then on the same made larger."""
    runs, broken, full = 0, [], 0
    sizes = [
        64 + round(step * 900 / max(1, round(20 * scale) - 1))
        for step in range(max(3, round(20 * scale)))
    ]
    for size in sizes:
        root = work / "root"
        shutil.rmtree(root, ignore_errors=True)
        skills(root, 60, rng)
        with mounted("tmpfs", "none", work / "disk", f"size={size}k"):
            for _ in range(3):
                runs += 1
                failed, problem = _on_a_small_disk(work, root, work / "disk" / "index")
                full += failed
                broken += [f"{size} kB: {problem}"] if problem else []
                write_skill(root, f"skill-{rng.randrange(60)}", workbench.sentence(rng))
            subprocess.run(["mount", "-o", "remount,size=64m", str(work / "disk")], check=True)
            done = index(work, root, work / "disk" / "index")
            left = [
                path
                for path in (work / "disk").rglob(".*")
                if path.name.startswith((".tmp", ".CURRENT"))
            ]
            if (
                done.code not in workbench.DONE
                or left
                or held(work / "disk" / "index") != wanted(root)
            ):
                broken.append(f"{size} kB: once there was room: {done.err[:200]} {left}")
    for limit in (4, 20, 40):
        runs += 1
        argv = [
            "bash",
            "-c",
            f'ulimit -f {limit}; exec "$@"',
            "-",
            *command("index", str(root), "--index-dir", "limited"),
        ]
        done = run(work, argv)
        broken += (
            [f"ulimit {limit}: {done.code} {done.err[:200]}"]
            if not (_said(done, "File too large") or _said(done, OF_A_THREAD))
            else []
        )
    return Figure(
        "R10",
        "a full disk is said, and nothing is lost",
        runs,
        len(broken),
        "; ".join(broken[:2]) or f"{full} full",
    )


def _on_a_small_disk(work: Path, root: Path, index_dir: Path) -> tuple[bool, str]:
    """Whether the run failed, and what of it was not as it must be."""
    try:
        with Index(index_dir) as before:
            number = before.generation.number
    except IndexStateError:
        number = 0
    done = index(work, root, index_dir)
    if done.code in workbench.DONE:
        return False, ""
    is_named = _said(done, "No space left on device") and str(work / "disk") in done.err
    if not is_named and not _said(done, OF_A_THREAD):
        return True, f"status {done.code}: {done.err[:300]}"
    if number and (sick(index_dir) or number != Index(index_dir).generation.number):
        return True, "the last generation does not answer"
    left = [path.name for path in (index_dir / "gens").glob(".*")] if index_dir.exists() else []
    return True, f"left behind: {left}" if left else ""


def _said(done: workbench.Done, words: str) -> bool:
    lines = done.err.strip().splitlines()
    # On a slow machine, a long build says that it goes on.
    lines = [line for line in lines if not line.startswith(("Reading: ", "Writing: "))]
    return (
        done.code == 4
        and done.is_plain
        and len(lines) == 2
        and words in lines[0]
        and lines[1].startswith("hint: ")
    )
