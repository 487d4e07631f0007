"""Fit the verdict "does anything here answer this text": `verdict_weights` and `verdict_bias`
of `capdisc_indexer/retrieval/calibration.json`.

    python fit_verdict.py --requests DIR --skills DIR --sessions DIR…

`--requests` is the folder of gathered requests (a source a folder: `catalogue.jsonl` and
`pairs.jsonl`), `--sessions` folders with a `catalogue.tsv` of skills in the folder `--skills`.
Catalogues of one source and of several, of 7 to 2,000 capabilities, are asked for what they have,
and what sources of another world ask for: a logistic model tells these apart. Worlds that overlap,
such as commands and clouds, are never asked for each other's things. Skills with bodies hear
strangers alone: what a turn of a session wants, its text does not say. Requests are compared with
the cohort as in `fit_calibration.py`, run before this.

The border is where of own requests, sources alike, REFUSED_SHARE are refused. Prints, with whole
worlds left out, which strangers are answered where 2, 3 and 5 in a hundred of their own are
refused. Seeds are fixed. Needs capdisc itself and nothing else; eight minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from fit_calibration import (
    FAMILY_OF_SOURCE,
    _fit_logistic,
    _normalise,
    _record,
    _unit_rows,
    encode_cohort,
    read_entries,
    write_numbers,
)
from gate_material import read_pairs
from gate_samples import Request, _draw_entries, _take_in_turn, read_catalogues
from numpy.typing import NDArray
from suggestion_material import _build

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval import verdict
from capdisc_indexer.retrieval.confidence import CALIBRATION_FILE
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

SEED = 20261127
# What the verdict is read from (`verdict.judge`).
NAMES = (
    "cosine", "elsewhere", "cosine_lead", "coverage", "meets_query_lead", "meets_name_lead",
    "clauses", "nearest", "best_description", "rarest", "request", "unknown_english", "catalogue",
)  # fmt: skip
OWN, STRANGER = "own", "stranger"
SIZES, MIXED_SIZES = (16, 50, 150, 500, 2_000), (16, 24, 40, 120, 200, 600, 1_200, 2_000)
MIXED_SOURCES = (2, 3, 4)
# Requests of each kind that a catalogue is asked.
ASKED = 120
# Own requests count so much beside strangers, and so many of them are refused.
OWN_WEIGHT, REFUSED_SHARE, RIDGE = 3.0, 0.032, 30.0
# Sources by world, and worlds that overlap.
INTERFACE = "jupyter_i18n"
WORLDS = {
    "assistants": "hwu64_slurp ovos xsid snips botframework leon",
    "bank": "banking77",
    "services": "sgd tooltalk",
    "commands": "cheatsheets cli_examples warp_workflows powershell",
    "models": "gorilla_hub",
    "skills": "skill_phrases skill_triggers",
    "clouds": "aws_cli azure_mcp openapi mongodb_mcp",
    "interfaces": INTERFACE,
}
WORLD_OF_SOURCE = {source: world for world, names in WORLDS.items() for source in names.split()}
OVERLAPPING = (
    {"commands", "clouds", "skills", "models", "interfaces"}, {"assistants", "services", "clouds"},
    {"services", "bank"}, {"assistants", "interfaces"},
)  # fmt: skip
APART = ({"commands", "models"}, {"clouds", "models"}, {"assistants", "clouds"})
LEFT_OUT = (
    {"assistants"}, {"bank", "services"}, {"commands"}, {"models", "skills"}, {"clouds"}, {"interfaces"},
)  # fmt: skip
MIN_COHORT = 60

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """A request of `source` to a catalogue, and what the verdict is read from."""

    kind: str
    catalogue: str
    worlds: frozenset[str]
    source: str
    text: str
    values: Mapping[str, float]


def main() -> None:
    """Fit, write, and print what worlds give that were left out."""
    arguments = _arguments()
    encoder = load_shipped_encoder()
    cohort, families = encode_cohort(encoder, read_entries(arguments.requests))
    samples = [
        *ask_requests(arguments.requests, encoder),
        *ask_skills(arguments.requests, arguments.skills, arguments.sessions, encoder),
    ]
    samples = compare_with_cohort(samples, encoder, cohort, families)
    report(samples)
    weights, bias = fit_samples(samples)
    stored = json.loads(arguments.out.read_bytes())
    stored |= {"verdict_weights": weights, "verdict_bias": bias}
    write_numbers(arguments.out, stored)


def is_strange(world: str, other: str) -> bool:
    """Whether nothing of the one world answers a request of the other."""
    pair = {world, other}
    return len(pair) == 2 and (pair in APART or not any(pair <= group for group in OVERLAPPING))


def read_sources(folder: Path) -> tuple[dict[str, dict[str, Any]], list[Request], dict[Any, str]]:
    """The entries by source and key, all requests, and the language of each."""
    entries: dict[str, dict[str, Any]] = {**read_entries(folder)}  # type: ignore[dict-item]
    _, requests = read_catalogues(folder)
    lines = (folder / INTERFACE / "catalogue.jsonl").read_text(encoding="utf-8").splitlines()
    entries[INTERFACE] = {f"{INTERFACE} {row['id']}": row for row in map(json.loads, lines)}
    languages = {}
    for source in entries:
        for pair in read_pairs(folder / source):
            languages[source, pair.query] = pair.language
            if source == INTERFACE and len(pair.query) >= 10:
                keys = frozenset(f"{source} {name}" for name in pair.ids)
                requests.append(Request(pair.query, source, keys))
    return entries, requests, languages


def ask_requests(folder: Path, encoder: StaticEncoder) -> Iterator[Sample]:
    """What catalogues of the gathered sources answer."""
    entries, requests, languages = read_sources(folder)
    drawn: list[tuple[list[str], int]] = []
    for source in sorted(entries):
        sizes = [size for size in SIZES if size < 0.9 * len(entries[source])]
        whole = [len(entries[source])] if len(entries[source]) <= SIZES[-1] else []
        drawn += [([source], size) for size in sizes + whole]
    rng = random.Random(f"{SEED} mixed")
    for count in MIXED_SOURCES:
        drawn += [(rng.sample(sorted(entries), count), size) for size in MIXED_SIZES]
    for number, (sources, size) in enumerate(drawn):
        rng = random.Random(f"{SEED} {number}")
        present = _draw_entries(rng, entries, sources, size)
        worlds = frozenset(WORLD_OF_SOURCE[key.partition(" ")[0]] for key in present)
        asked = draw_requests(rng, requests, languages, worlds, present.keys())
        with tempfile.TemporaryDirectory() as scratch:
            root, index_dir = Path(scratch) / "catalogue", Path(scratch) / "index"
            root.mkdir()
            lines = [
                json.dumps(_record(f"tool:t{at}", entry))
                for at, entry in enumerate(present.values())
            ]
            (root / "capabilities.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
            build_index([root], index_dir, BuildOptions())
            with Index(index_dir) as index:
                name = sources[0] if len(sources) == 1 else "several"
                yield from ask_catalogue(index, name, worlds, asked, encoder)
        print(f"{number + 1} of {len(drawn)}: {', '.join(sources)}, {size:,}", flush=True)


def ask_skills(
    folder: Path, skills: Path, sessions: Sequence[Path], encoder: StaticEncoder
) -> Iterator[Sample]:
    """What catalogues of skills with bodies answer to strangers, whole and in part."""
    _, requests, languages = read_sources(folder)
    worlds = frozenset({"skills"})
    for session in sessions:
        rows = [line.split("\t") for line in (session / "catalogue.tsv").read_text().splitlines()]
        for size in (28, 60, len(rows)):
            rng = random.Random(f"{SEED} {session.name} {size}")
            chosen = {name: skills / path for name, path in rng.sample(rows, min(size, len(rows)))}
            asked = draw_requests(rng, requests, languages, worlds, set())
            with (
                tempfile.TemporaryDirectory() as scratch,
                _build(Path(scratch) / session.name, chosen) as index,
            ):
                yield from ask_catalogue(index, "bodies", worlds, asked, encoder)


def draw_requests(
    rng: random.Random,
    requests: Iterable[Request],
    languages: Mapping[Any, str],
    worlds: Iterable[str],
    present: Iterable[str],
) -> list[tuple[str, Request]]:
    """What a catalogue is asked: sources and languages alike, with the kind of each request."""
    keys = frozenset(present)
    piles: dict[str, dict[str, list[Request]]] = {OWN: {}, STRANGER: {}}
    for request in requests:
        language = languages[request.source, request.text]
        if request.entries & keys:
            piles[OWN].setdefault(f"{request.source} {language}", []).append(request)
        elif request.source != INTERFACE and all(
            is_strange(world, WORLD_OF_SOURCE[request.source]) for world in worlds
        ):
            piles[STRANGER].setdefault(f"{request.source} {language}", []).append(request)
    for groups in piles.values():
        for group in groups.values():
            rng.shuffle(group)
    strangers = _join_languages(rng, piles[STRANGER])
    return [
        *((OWN, request) for _, request in _take_in_turn(piles[OWN], ASKED)),
        *((STRANGER, request) for _, request in _take_in_turn(strangers, ASKED)),
    ]


def _join_languages(
    rng: random.Random, groups: Mapping[str, Sequence[Request]]
) -> dict[str, list[Request]]:
    """Some of each language by source, so that sources count alike."""
    joined: dict[str, list[Request]] = {}
    for name, group in groups.items():
        joined.setdefault(name.partition(" ")[0], []).extend(group[:40])
    for group in joined.values():
        rng.shuffle(group)
    return joined


def ask_catalogue(
    index: Index,
    name: str,
    worlds: frozenset[str],
    asked: Iterable[tuple[str, Request]],
    encoder: StaticEncoder,
) -> Iterator[Sample]:
    """What the verdict on each request is read from."""
    kept: dict[str, float] = {}

    def keep_values(values: Mapping[str, float]) -> float:
        kept.update(values)
        return 0.0

    with patch.object(verdict, "rate_answer", keep_values):
        for kind, request in asked:
            kept.clear()
            search_index(index, Query(texts=(request.text,), limit=20), encoder)
            if kept:
                yield Sample(kind, name, worlds, request.source, request.text, dict(kept))


def compare_with_cohort(
    samples: Sequence[Sample], encoder: StaticEncoder, cohort: bytes, families: Sequence[str]
) -> list[Sample]:
    """The samples as the parts of the cohort give them that are of other families than the
    catalogue, and, of every second stranger, of another one than the request.
    """
    rows = _normalise(np.frombuffer(cohort, np.int8).reshape(-1, encoder.dim))
    cosines = _unit_rows(encoder, [sample.text for sample in samples]) @ rows.T
    names, rng, compared = np.array(families), random.Random(SEED), []
    for sample, row in zip(samples, cosines, strict=True):
        sources = [name for name, world in WORLD_OF_SOURCE.items() if world in sample.worlds]
        if sample.kind == STRANGER and rng.random() < 0.5:
            sources.append(sample.source)
        seen = ~np.isin(names, [FAMILY_OF_SOURCE.get(source, "") for source in sources])
        seen |= seen.sum() < MIN_COHORT
        values = {**sample.values, "elsewhere": float(row[seen].max())}
        compared.append(replace(sample, values=values))
    return compared


def fit_samples(samples: Sequence[Sample]) -> tuple[dict[str, float], float]:
    """Weights by name and the bias: catalogues weighed alike, and sources of own requests."""
    inputs = np.array([[sample.values[name] for name in NAMES] for sample in samples], float)
    means, deviations = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    is_own = np.array([sample.kind == OWN for sample in samples])
    groups = [
        (sample.kind, sample.source if sample.kind == OWN else "", sample.catalogue)
        for sample in samples
    ]
    counts = Counter(groups)
    balance = np.array([1 / counts[group] for group in groups])
    for kind, weight in ((is_own, OWN_WEIGHT), (~is_own, 1.0)):
        balance[kind] *= weight * len(samples) / 2 / balance[kind].sum()
    fitted = _fit_logistic((inputs - means) / deviations, is_own.astype(float), balance, RIDGE)
    weights = fitted[:-1] / deviations
    border = find_border(samples, inputs @ weights, REFUSED_SHARE)
    rounded = {name: round(float(value), 4) for name, value in zip(NAMES, weights, strict=True)}
    return rounded, round(-border, 4)


def find_border(samples: Sequence[Sample], scores: Array, share: float) -> float:
    """The score that this share of own requests stays below, sources alike."""
    own = [at for at, sample in enumerate(samples) if sample.kind == OWN]
    counts = Counter(samples[at].source for at in own)
    order = sorted(own, key=lambda at: float(scores[at]))
    shares = np.cumsum([1 / counts[samples[at].source] / len(counts) for at in order])
    return float(scores[order[int(np.searchsorted(shares, share))]])


def report(samples: Sequence[Sample]) -> None:
    """Print the strangers that are answered where worlds were left out."""
    scores = np.full(len(samples), np.nan)
    for worlds in LEFT_OUT:
        others = [
            one for one in samples if not worlds & {*one.worlds, WORLD_OF_SOURCE[one.source]}
        ]
        weights, bias = fit_samples(others)
        for at, one in enumerate(samples):
            if one.worlds <= worlds:
                scores[at] = bias + sum(weights[name] * one.values[name] for name in NAMES)
    kept = [at for at in range(len(samples)) if not np.isnan(scores[at])]
    some, scores = [samples[at] for at in kept], scores[kept]
    for share in (0.02, 0.03, 0.05):
        border, answered = find_border(some, scores, share), {}
        for one, score in zip(some, scores, strict=True):
            if one.kind == STRANGER:
                answered.setdefault((one.catalogue, one.source), []).append(score >= border)
        mean = np.mean([np.mean(pair) for pair in answered.values()])
        print(f"own refused {100 * share:.0f} %, strangers answered {100 * mean:.1f} %")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=Path, required=True, help="gathered requests")
    parser.add_argument("--skills", type=Path, required=True, help="folder of SKILL.md files")
    parser.add_argument("--sessions", type=Path, nargs="+", required=True, help="their catalogues")
    parser.add_argument("--out", type=Path, default=CALIBRATION_FILE, help="file to change")
    return parser.parse_args()


if __name__ == "__main__":
    main()
