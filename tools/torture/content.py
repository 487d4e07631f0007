"""R38 to R46: hostile files, names, queries and content, by the thousand."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from adopting import adopt
from figure import Figure

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from apart import apart
from hostile_queries import TABLE, answered, faults
from random_files import FIXTURES, FOLDERS, round_of_files, seeds
from random_prompts import over_budget
from swapped_files import leaks

from hostile.batch import verdicts
from hostile.groups import CASES, GROUPS
from hostile.limits import LIMITED, costs
from hostile.make import write
from hostile.together import one_scan
from hostile.verdict import Verdict
from properties.framing import attack

NOTED = 5  # faults in a note
R39_SECONDS = 30


@lru_cache(maxsize=1)
def _verdicts() -> dict[str, Verdict]:
    """On every case, tried once for all figures."""
    with tempfile.TemporaryDirectory(prefix="capdisc-hostile-") as base:
        return verdicts(list(CASES), Path(base))


def _figure(
    requirement: str, promise: str, done: int, found: Iterable[str], note: str = ""
) -> Figure:
    told = [text for text in found if text]
    return Figure(
        requirement,
        promise,
        done,
        len(told),
        "; ".join(part for part in (note, *told[:NOTED]) if part),
    )


def r38(work: Path, rng: random.Random, scale: float) -> Figure:
    """Every hostile folder once, at any scale."""
    found = _verdicts()
    skipped = [f"{each.name}: {each.skipped}" for each in found.values() if each.skipped]
    told = [f"{each.name}: {'; '.join(each.faults[:3])}" for each in found.values() if each.faults]
    promise = "hostile folders come out as they deserve"
    return _figure(
        "R38",
        promise,
        len(found) - len(skipped),
        told,
        f"skipped {', '.join(skipped)}" if skipped else "",
    )


def r39(work: Path, rng: random.Random, scale: float) -> Figure:
    """All hostile folders in one scan, once."""
    found = one_scan(work / "together")
    alone = {each.name for each in _verdicts().values() if not each.faults and not each.skipped}
    told = [
        f"the neighbour of {name} is missing"
        for name in found.cases
        if name not in found.neighbours
    ]
    told += [
        f"no error names {name}"
        for name in sorted(alone - found.named)
        if CASES[name].kind == "rejected"
    ]
    told += [f"took {found.seconds:.0f} s"] if found.seconds > R39_SECONDS else []
    promise = "a bad folder is named and costs no other"
    return _figure("R39", promise, len(found.cases), told, f"{found.seconds:.1f} s")


def r40(work: Path, rng: random.Random, scale: float) -> Figure:
    """YAML and schemas that grow, each read in a thread with a stack of 512 KiB, in a process of its own."""
    names = [case.name for group in LIMITED for case in GROUPS[group]]
    found = apart(costs, work / "limits", names)
    if isinstance(found, str):
        return _figure("R40", "limits come before work, in a small stack", len(names), [found])
    told = [
        f"{name}: {cost.seconds * 1000:.0f} ms, {cost.mebibytes:.0f} MiB"
        for name, cost in found.items()
        if cost.is_over
    ]
    slowest = max(found.values(), key=lambda cost: cost.seconds)
    promise = "limits come before work, in a small stack"
    return _figure("R40", promise, len(found), told, f"slowest {slowest.seconds * 1000:.0f} ms")


def r41(work: Path, rng: random.Random, scale: float) -> Figure:
    """30,000 files changed by chance."""
    rounds, originals = max(1, round(30_000 * scale / FOLDERS)), _seeds(work)
    index = work / "fuzz-index"
    told = (
        fault
        for number in range(rounds)
        for fault in round_of_files(
            rng, originals, work / "fuzz", index if number % 10 == 0 else None
        )
    )
    return _figure("R41", "changed files bring findings only", rounds * FOLDERS, told)


def _seeds(work: Path) -> list[bytes]:
    for case in CASES.values():
        with suppress(OSError):  # where the system has no such files
            write(case, work)
    return seeds((FIXTURES, work / "cases"))


def r42(work: Path, rng: random.Random, scale: float) -> Figure:
    """The table of hostile queries, and 30,000 made by chance, in a process of its own."""
    wanted = round(30_000 * scale)
    found = apart(_asked, work / "asked", rng.randrange(2**32), wanted)
    told = [found] if isinstance(found, str) else found
    return _figure("R42", "queries are answered or refused in words", len(TABLE) + wanted, told)


def _asked(work: Path, seed: int, wanted: int) -> list[str]:
    from capdisc_indexer import encoders
    from capdisc_indexer.indexing.pipeline import build_index
    from capdisc_indexer.model.types import BuildOptions
    from capdisc_indexer.store.snapshot import Index

    build_index([FIXTURES / "small"], work / "index", BuildOptions())
    adopt(work / "index")
    rng, encoder = random.Random(seed), encoders.load_encoder()
    told = [f"{asked.name}: {fault}" for asked in TABLE for fault in faults(asked, work / "index")]
    with Index(work / "index") as index:
        return told + [fault for _ in range(wanted) if (fault := answered(rng, index, encoder))]


def r43(work: Path, rng: random.Random, scale: float) -> Figure:
    """10,000 swaps of files and folders for links while they are read."""
    swaps, met, found = leaks(work / "swaps", max(100, round(10_000 * scale)))
    return _figure("R43", "what becomes a link is not followed", swaps, found, f"met {met} links")


def r44(work: Path, rng: random.Random, scale: float) -> Figure:
    """Every hostile folder on a pseudo-terminal, with our colours and without, once."""
    found = _verdicts()
    told = [
        f"{each.name}: {fault}"
        for each in found.values()
        for fault in each.faults
        if ": says U+" in fault
    ]
    return _figure("R44", "no output steers a terminal", len(found), told)


def r45(work: Path, rng: random.Random, scale: float) -> Figure:
    """50,000 contents that want to leave their frames."""
    return _each("R45", "frames give each content unchanged", 50_000 * scale, lambda: attack(rng))


def r46(work: Path, rng: random.Random, scale: float) -> Figure:
    """10,000 prompts over the fixtures and the hostile folders, counted by the tokenizer itself."""
    from capdisc_indexer.indexing.pipeline import build_index
    from capdisc_indexer.model.types import BuildOptions

    indexes = [work / "budgets" / name for name in ("small", "office", "messy")]
    for index in indexes:
        build_index([FIXTURES / index.name], index, BuildOptions())
        adopt(index)
    one_scan(work / "together")
    indexes.append(work / "together" / "index")
    return _each(
        "R46", "no prompt is over its budget", 10_000 * scale, lambda: over_budget(rng, indexes)
    )


def _each(requirement: str, promise: str, wanted: float, one: Callable[[], str]) -> Figure:
    done, started = max(1, round(wanted)), time.monotonic()
    told = [fault for _ in range(done) if (fault := one())]
    return _figure(requirement, promise, done, told, f"{time.monotonic() - started:.0f} s")
