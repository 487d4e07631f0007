"""What grows how: time, memory and disk over libraries of several sizes, and the exponent of each.

python tests/bench/growth.py --corpus ../shared/corpora/skills --sizes 10000 100000 --json build/growth.json
python tests/bench/growth.py --sizes 1000000 --folder /tmp/million --json build/growth.json

Skills have bodies of --body-tokens tokens. Figures of other sizes that the JSON file holds already count for the
exponents: the slope of the line through the logarithms, 1 for what doubles with the number of skills. Times are
processor time of a command and all that it started, cold ones as multiples of `python -c pass`. The LanceDB table,
which follows aside, is made last and counts apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import skill_library
from figure import Figure
from memory import Run, measure
from real_bodies import QUERY
from timing import in_turn, surroundings

_PARTS = ("text", "vectors", "matrix", "meta", "passages")
_ASKED = {
    "search": ["search", QUERY],
    "render --budget 1850": ["render", QUERY, "--budget", "1850"],
}
_SETTLED_S = 3.0  # until stamps of files are old enough to be trusted
_SEED_OF_ADDED = 77


def main(argv: Sequence[str]) -> int:
    """Print the figures of each size, then what grows how; write them where --json says."""
    asked = _parser().parse_args(argv)
    found = _earlier(asked.json, asked.sizes)
    with tempfile.TemporaryDirectory(prefix="capdisc-growth-") as scratch:
        for size in asked.sizes:
            for figure in _figures(asked, (asked.folder or Path(scratch)) / str(size), size):
                print(figure.line(), flush=True)
                found.append(figure)
                _write(asked.json, found)
    _print_growth(found)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus", type=Path, default=skill_library.FIXTURES, help="SKILL.md files to recombine"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 4_000])
    parser.add_argument("--body-tokens", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where libraries lie, and stay; there or made")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--changes", type=int, default=3)
    parser.add_argument(
        "--capdisc", default=str(Path(sys.executable).with_name("capdisc")), help="the program"
    )
    parser.add_argument("--json", type=Path)
    return parser


def _earlier(path: Path | None, sizes: Sequence[int]) -> list[Figure]:
    if path is None or not path.exists():
        return []
    found = (Figure(**values) for values in json.loads(path.read_text(encoding="utf-8")))
    return [figure for figure in found if figure.size not in sizes]


def _write(path: Path | None, found: Sequence[Figure]) -> None:
    if path is not None:
        path.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", "utf-8")


def _figures(asked: argparse.Namespace, folder: Path, size: int) -> Iterator[Figure]:
    library, index = folder / "library", folder / "index"
    if not library.is_dir():
        material = skill_library.read_material(asked.corpus)
        short = skill_library.shorten_bodies(material, asked.body_tokens)
        skill_library.write_library(library, islice(skill_library.generate_skills(short), size))
    env = surroundings(
        {
            "CAPDISC_INDEX_DIR": str(index),
            "CAPDISC_TABLE": "off",
            "HOME": str(folder),
            "PWD": str(folder),
        }
    )
    build = [asked.capdisc, "index", str(library), "-q"]
    yield from _built("from nothing", size, [measure(build, env)])
    yield from _disk(index, size)
    time.sleep(_SETTLED_S)
    yield from _built("nothing changed", size, [measure(build, env) for _ in range(asked.changes)])
    group = min(library.iterdir())
    one = max(group.glob("*/skills/*/SKILL.md"))
    yield from _built(
        "one file changed", size, [_change(one, build, env) for _ in range(asked.changes)]
    )
    yield from _built(
        "one file added",
        size,
        [_add(asked, group, number, build, env) for number in range(asked.changes)],
    )
    time.sleep(_SETTLED_S)
    yield from _cold(asked, size, env)
    table = measure([*build, "--wait"], env | {"CAPDISC_TABLE": "wait"})
    yield from _built("the LanceDB table", size, [table])
    yield _figure("disk", "table", size, _mebibytes(index / "table"), "MiB")


def _figure(group: str, name: str, size: int, value: float, unit: str) -> Figure:
    return Figure(group=group, name=name, size=size, value=round(value, 3), unit=unit)


def _built(name: str, size: int, runs: Sequence[Run]) -> Iterator[Figure]:
    """Medians of time, and the greatest peaks."""
    yield _figure("cpu", name, size, statistics.median(run.cpu_s for run in runs), "s")
    yield _figure("wall", name, size, statistics.median(run.seconds for run in runs), "s")
    yield _figure("peak", name, size, max(run.peak_mib for run in runs), "MiB")
    yield _figure("all", name, size, max(run.together_mib for run in runs), "MiB")


def _disk(index: Path, size: int) -> Iterator[Figure]:
    """The one generation by its folders, and what lies beside it."""
    (generation,) = (index / "gens").glob("0*")
    for part in _PARTS:
        yield _figure("disk", part, size, _mebibytes(generation / part), "MiB")
    beside = _mebibytes(index) - _mebibytes(index / "gens")
    yield _figure("disk", "beside the generation", size, beside, "MiB")
    yield _figure("disk", "index", size, _mebibytes(index), "MiB")


def _mebibytes(folder: Path) -> float:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 2**20


def _change(path: Path, build: Sequence[str], env: Mapping[str, str]) -> Run:
    time.sleep(1)
    path.write_bytes(path.read_bytes() + b"\nOne more line.\n")
    return measure(build, env)


def _add(
    asked: argparse.Namespace,
    group: Path,
    number: int,
    build: Sequence[str],
    env: Mapping[str, str],
) -> Run:
    """One skill more, in the first group; the same ones every time."""
    material = skill_library.shorten_bodies(
        skill_library.read_material(asked.corpus), asked.body_tokens
    )
    made = skill_library.generate_skills(material, _SEED_OF_ADDED)
    skill = next(islice(made, number, None))
    folder = group / "owner-added" / "skills" / f"added-{number}-{os.getpid()}"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill.data)
    time.sleep(1)
    return measure(build, env)


def _cold(asked: argparse.Namespace, size: int, env: Mapping[str, str]) -> Iterator[Figure]:
    """Fresh processes in turn, and what the largest of them holds."""
    python = str(Path(asked.capdisc).with_name("python"))
    commands = {name: [asked.capdisc, *words] for name, words in _ASKED.items()}
    taken = in_turn({"pass": [python, "-c", "pass"], **commands}, asked.rounds, env)
    base = taken["pass"]
    for name, words in commands.items():
        cpu = taken[name].median_cpu
        yield Figure(
            group="cold",
            name=name,
            size=size,
            value=round(1000 * cpu, 2),
            ratio=round(cpu / base.median_cpu, 2),
        )
        yield _figure("peak", name, size, measure(words, env).peak_mib, "MiB")


def _print_growth(found: Sequence[Figure]) -> None:
    """A line for each figure that was taken at two sizes at least."""
    lines: dict[tuple[str, str], dict[int, float]] = {}
    for figure in found:
        value = figure.value if figure.ratio is None else figure.ratio
        lines.setdefault((figure.group, figure.name), {})[figure.size] = value
    for (group, name), values in lines.items():
        points = sorted(values.items())
        if len(points) > 1 and all(value > 0 for _, value in points):
            shown = "".join(f"{value:12,.2f}" for _, value in points)
            print(f"{group:6s} {name:32s}{shown}   n^{exponent(values):.2f}")


def exponent(values: Mapping[int, float]) -> float:
    """The slope of the least-squares line through the logarithms of sizes and values."""
    slope = statistics.linear_regression(
        [math.log(size) for size in values], [math.log(value) for value in values.values()]
    )
    return slope.slope


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
