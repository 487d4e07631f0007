"""R64: printed contexts of real texts: within the budget, with paths that exist, and no section cut."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from adopting import adopt
from figure import Figure

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from hostile.streams import say
from product_lists import RENDER_FORMATS

REPOSITORY = Path(__file__).resolve().parents[2]
REAL = REPOSITORY.parent / "shared" / "corpora" / "skills"
FIXTURES = REPOSITORY / "fixtures" / "catalogs"
CASES, NOTED = 2_000, 5
WORDS = (
    "merge PDF files", "write terraform for a bucket", "review this pull request", "plan the sprint",
    "make an animated gif", "debug a flaky test", "design a database", "send the customer an invoice",
    "write a landing page", "scan the code for secrets", "resize the photos", "analyse a csv file",
)  # fmt: skip
_DETAIL = re.compile(r"^>>> ([^\n]+) \[(\d{12})\]\n(.*?)^<<< end \[\2\]$", re.S | re.M)
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
# A line of fewer characters may stand in several sections.
_TELLING_CHARACTERS = 40


def r64(work: Path, rng: random.Random, scale: float) -> Figure:
    """A context is within its budget, names files that exist, and holds whole sections only."""
    from capdisc_indexer.indexing.pipeline import build_index
    from capdisc_indexer.lazy_imports import load_token_counter
    from capdisc_indexer.model.types import BuildOptions
    from capdisc_indexer.store.snapshot import Index

    root, count = (REAL if REAL.is_dir() else FIXTURES), load_token_counter()
    build_index([root], work / "index", BuildOptions())
    adopt(work / "index")
    done, faults = max(20, int(CASES * scale)), []
    with Index(work / "index") as index:
        for _ in range(done):
            form, budget = rng.choice(RENDER_FORMATS), rng.randrange(60, 4_000)
            argv = ["render", "--format", form, "--budget", str(budget), "--gate", "off"]
            argv += ["--index-dir", str(work / "index"), "--", rng.choice(WORDS)]
            said = say("render", argv)
            name = f"{form} {budget} {argv[-1]!r}"
            if said.status not in (0, 2) or count(said.out) > budget:
                faults.append(f"{name}: status {said.status}, {count(said.out)} tokens")
            elif form == "text":
                faults += [f"{name}: {fault}" for fault in _text_faults(said.out, index)]
    return Figure("R64", r64.__doc__ or "", done, len(faults), "; ".join(faults[:NOTED]))


def _text_faults(printed: str, index) -> Iterator[str]:
    """Lines that name no file, and sections of which a part is printed."""
    from capdisc_indexer.rendering.capability_text import detail_text

    lines = printed.splitlines()
    summaries = _DETAIL.sub("", printed).splitlines()
    above = lambda place: summaries[place - 1] if place else ""  # noqa: E731
    paths = [
        line[2:]
        for place, line in enumerate(summaries)
        if line.startswith("  ") and above(place).startswith("- ")
    ]
    if "Relevant capabilities:" in lines and not paths:
        yield "summaries without paths"
    for identifier, _, block in _DETAIL.findall(printed):
        labels = dict(line.split(": ", 1) for line in block.splitlines()[:4] if ": " in line)
        paths += [labels.get("File", "no path"), labels.get("Folder", "/")]
        if not identifier.startswith("guidance:"):
            yield from _cut_sections(detail_text(index.descriptor(identifier)), block)
    yield from (f"no file {path}" for path in paths if not Path(path).exists())


def _cut_sections(text: str, block: str) -> Iterator[str]:
    """The sections of the text of which the block holds some lines and not all."""
    units = [unit for unit in _own_texts(text) if unit.strip()]
    whole = [unit for unit in units if unit.strip("\n") in block]
    known = {line for unit in whole for line in unit.splitlines()}
    shown = set(block.splitlines())
    for unit in units:
        if unit not in whole:
            telling = [line for line in unit.splitlines() if len(line) >= _TELLING_CHARACTERS]
            if cut := [line for line in telling if line in shown and line not in known]:
                yield f"a part of a section: {cut[0][:60]!r}"


def _own_texts(text: str) -> Iterator[str]:
    """What stands between two headings, outside of fenced code."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if fence:
            fence = (
                ""
                if match and line.strip().strip(fence[0]) == "" and match[1].startswith(fence)
                else fence
            )
        elif match:
            fence = match[1]
        elif _HEADING.match(line):
            yield "".join(lines)
            lines = []
            continue
        lines.append(line)
    yield "".join(lines)
