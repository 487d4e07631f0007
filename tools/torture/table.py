"""R65: the LanceDB table, which a process of its own brings up to date after each change."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

from figure import Figure
from workbench import command, index, run, sentence, sick, skills, write_skill

from capdisc_indexer.diagnosis import CheckState, published_generation

# How long the process aside may take at most. A quiet machine needs about three seconds.
PATIENCE_SECONDS = 60.0


def r65(work: Path, rng: random.Random, scale: float) -> Figure:
    """Change skills at random; the table must hold the rows of the documents after each pause."""
    root, index_dir = skills(work / "root", 60, rng), work / "index"
    index(work, root, index_dir)
    updates, wrong, longest = max(5, round(200 * scale)), [], 0.0
    for turn in range(updates):
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            _change(root, rng)
        index(work, root, index_dir)
        # Often the next change comes while the table is still behind, as it does in a day's work.
        if rng.random() < 0.3 or turn == updates - 1:
            seconds = _seconds_until_current(work, index_dir)
            longest = max(longest, seconds)
            check = published_generation.examine_table(index_dir, deep=True)
            problem = sick(index_dir) or ("" if check.state is CheckState.OK else check.text)
            if problem or seconds > PATIENCE_SECONDS:
                wrong.append(f"turn {turn}: {problem or 'still behind'}")
    note = "; ".join(wrong[:2]) or f"at most {longest:.1f} s behind"
    return Figure("R65", "the table equals the documents", updates, len(wrong), note)


def _change(root: Path, rng: random.Random) -> None:
    name = f"skill-{rng.randrange(80)}"
    if (root / name).exists() and rng.random() < 0.3:
        shutil.rmtree(root / name)
    else:
        write_skill(root, name, sentence(rng))


def _seconds_until_current(work: Path, index_dir: Path) -> float:
    started = time.monotonic()
    status = command("status", "--index-dir", str(index_dir), "--json")
    while (waited := time.monotonic() - started) <= PATIENCE_SECONDS:
        if json.loads(run(work, status).out)["table"]["state"] == "equal":
            break
        time.sleep(0.2)
    return waited
