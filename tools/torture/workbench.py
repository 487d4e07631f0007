"""What the long tests share: skills to index, the command in a process of its own, and what an index holds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capdisc_indexer.diagnosis import CheckState, examine_index
from capdisc_indexer.store.snapshot import Index

# Statuses of a run that did its work: some of the files may have errors.
DONE = (0, 1)
VERBS = ("Folds", "Merges", "Counts", "Draws", "Sends", "Checks", "Plans", "Sorts")
NOUNS = (
    "paper cranes",
    "PDF files",
    "invoices",
    "road maps",
    "letters",
    "spelling",
    "journeys",
    "photographs",
)


@dataclass(frozen=True)
class Done:
    """One finished command."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def generation(self) -> int:
        """The generation that `index --json` acknowledged; 0 when it did not."""
        try:
            return json.loads(self.out)["generation"]
        except (ValueError, KeyError):
            return 0

    @property
    def is_plain(self) -> bool:
        """Whether nothing was said that only a programmer understands."""
        bad = ("Traceback", "panicked", "this is a bug", "Exception ignored", "core::")
        return self.code >= 0 and not any(word in self.err for word in bad)


def command(*argv: str) -> list[str]:
    """The command line that runs capdisc."""
    return [sys.executable, "-m", "capdisc", *argv]


def environment(work: Path) -> dict[str, str]:
    """A home of its own, and nothing that capdisc reads. No background process writes a LanceDB
    table: it would keep a disk busy that the next step unmounts.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CAPDISC_", "XDG_", "RUST_"))
    }
    own = {"HOME": str(work), "TMPDIR": str(work), "PWD": str(work)}
    return kept | own | {"CAPDISC_TABLE": "off"}


def start(work: Path, argv: Sequence[str]) -> subprocess.Popen[str]:
    """A process under way, its output kept."""
    return subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(work),
        cwd=work,
    )


def run(work: Path, argv: Sequence[str], timeout: float = 120.0) -> Done:
    """The command line to its end; one that takes longer than `timeout` seconds comes back with status -9."""
    started = time.monotonic()
    child = start(work, argv)
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
    return Done(child.returncode, out, err, time.monotonic() - started)


def index(work: Path, root: Path, index_dir: Path, *options: str) -> Done:
    """`capdisc index` on the root."""
    return run(
        work, command("index", str(root), "--index-dir", str(index_dir), "--json", *options)
    )


def write_skill(root: Path, name: str, description: str) -> None:
    """A skill in a folder of its own."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: {description}\n---\n\nDo it with care.\n"
    )


def sentence(rng: random.Random) -> str:
    """A description that hardly comes twice."""
    return f"{rng.choice(VERBS)} {rng.choice(NOUNS)}, case {rng.randrange(10**6)}. Use when asked for it."


def skills(root: Path, count: int, rng: random.Random) -> Path:
    """A root with so many skills."""
    for number in range(count):
        write_skill(root, f"skill-{number}", sentence(rng))
    return root


def wanted(root: Path) -> dict[str, str]:
    """The description of every skill in the root."""
    return {
        path.parent.name: path.read_text().splitlines()[2].partition(": ")[2]
        for path in root.glob("*/SKILL.md")
    }


def held(index_dir: Path) -> dict[str, str]:
    """The description of every skill in the index, once its stores agree on which those are."""
    with Index(index_dir) as opened:
        heads = list(opened.documents.all_headers())
        ids = [head["id"] for head in heads]
        assert opened.matrix is None or opened.matrix.names() == ids
        assert len(ids) == opened.generation.counts["capabilities"]
        return {head["name"]: head["description"] for head in heads}


def sick(index_dir: Path, deep: bool = True) -> str:
    """What `capdisc doctor` finds in the index itself; empty when it is well."""
    inside = {"folder", "generation", "files", "stores"}
    checks = [
        each for each in examine_index(index_dir, deep, time.time_ns()) if each.name in inside
    ]
    return "; ".join(
        f"{each.name}: {each.text}" for each in checks if each.state is CheckState.UNUSABLE
    )
