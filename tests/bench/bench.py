"""Figures of speed in one run, as multiples of `python -c pass`.

python tests/bench/bench.py --corpus ../shared/corpora/skills --sizes 1000 10000      skills with whole bodies, asked by
                                                                a plain installation that is made for it
python tests/bench/bench.py --short-texts --sizes 10000 100000                        the figures of earlier releases:
                                                                short texts, this environment, peers

Fresh processes take turns, so that noise meets all alike; medians count. The machine should do nothing else.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import building
import catalogue
import cold
import machine
import peers
import real_bodies
from figure import Figure
from plain_install import make_install

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def main(argv: Sequence[str]) -> int:
    """Print the figures; write them where --json says."""
    asked = _parser().parse_args(argv)
    before = machine.facts()
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="capdisc-bench-") as folder:
        for figure in _figures(asked, Path(folder)):
            found.append(figure)
            print(figure.line(), flush=True)
    if asked.json:
        when = datetime.now(UTC).strftime("%Y-%m-%d")
        document = {"date": when, "machine": before, "figures": [asdict(one) for one in found]}
        asked.json.write_text(
            json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus", type=Path, default=_FIXTURES, help="SKILL.md files that catalogues are made of"
    )
    parser.add_argument(
        "--short-texts", action="store_true", help="the figures of earlier releases"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", type=Path, help="a bin folder with other tools")
    parser.add_argument("--json", type=Path)
    return parser


def _figures(asked: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    if not asked.short_texts:
        install = make_install(folder / "environment")
        for size in asked.sizes:
            yield from real_bodies.figures(
                install, asked.corpus, folder / str(size), size, asked.rounds
            )
        return
    real = catalogue.texts(asked.corpus)
    for size in asked.sizes:
        place = building.Place(folder / str(size), size)
        catalogue.write_folders(place.catalogue, catalogue.made(real, size))
        yield from building.figures(place)
        yield from cold.figures(place, asked.rounds)
        if size == min(asked.sizes):
            yield from peers.figures(place, asked.peers, max(asked.rounds // 3, 3))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
