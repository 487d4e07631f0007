"""Fit the model of confidence: `capdisc_indexer/retrieval/calibration.json`.

    python fit_calibration.py --requests DIR

`--requests` is the folder of gathered requests (a source a folder: `catalogue.jsonl` and
`pairs.jsonl`). Each source becomes three catalogues of which a part is left out: some entries at
random, and twice a topic, which is what lies around one entry. A catalogue is asked for what it
has, for what was left out, for what other kinds of source have, and made-up words. The model learns
to tell right first hits from all answers to what a catalogue lacks (`fit_weights`); wrong first
hits of requests for what it has take no part in that, but in the last step, which makes a
probability of it (`scale_to_probability`).

The cohort (see `confidence.py`) are descriptions of all sources whose licence does not pass on.
Those of a request's own family of sources are never compared with it here, and those of half of the
requests for something else neither: a user's catalogue and most of what it lacks are not in it.

Prints, for sources of a family that was left out, what `report` says. Seeds are fixed. Needs
capdisc itself and nothing else; three minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
from gate_material import read_pairs
from gate_samples import Request, read_catalogues
from gate_text_model import sigmoid
from numpy.typing import NDArray

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query, RankingChoices
from capdisc_indexer.retrieval import confidence, pipeline
from capdisc_indexer.retrieval.confidence import (
    CALIBRATION_FILE,
    CALIBRATION_FORMAT,
    COHORT_SUFFIX,
    SIGNS,
    Calibration,
    load_calibration,
)
from capdisc_indexer.store.snapshot import Index

SEED = 20261122
OWN, TOPIC, RANDOM, FOREIGN, MADE_UP = KINDS = ("own", "topic", "random", "foreign", "made up")
# How many entries a catalogue is drawn from, what is left out of it, and how much of it.
CATALOGUES = ((120, RANDOM, 0.15), (120, TOPIC, 0.2), (1_500, TOPIC, 0.2))
ASKED = {OWN: 100, TOPIC: 60, RANDOM: 60, FOREIGN: 60, MADE_UP: 15}
# What a kind counts beside requests for what a catalogue has.
WEIGHTS = {OWN: 1.0, TOPIC: 0.25, RANDOM: 0.25, FOREIGN: 0.35, MADE_UP: 0.1}
# In the last step: most of what people ask for a catalogue has.
FINAL_WEIGHTS = {OWN: 1.0, TOPIC: 0.03, RANDOM: 0.03, FOREIGN: 0.05, MADE_UP: 0.01}
RIDGE, STEPS = 2.0, 30
# What the report counts as refused.
LEAST_CONFIDENCE = 0.1
COHORT_OF_SOURCE, COHORT_CHARACTERS = 60, 400
# Share-alike: their requests may be counted, their texts are not passed on.
NOT_IN_COHORT = frozenset({"sgd", "xsid", "skill_phrases", "skill_triggers"})
# Sources that ask for the same things; a family is left out as a whole.
FAMILIES = {
    "assistants": "hwu64_slurp ovos xsid snips botframework leon sgd tooltalk banking77",
    "commands": "cheatsheets cli_examples warp_workflows powershell gorilla_hub",
    "skills": "skill_phrases skill_triggers",
    "clouds": "aws_cli azure_mcp openapi mongodb_mcp",
}
FAMILY_OF_SOURCE = {
    source: family for family, sources in FAMILIES.items() for source in sources.split()
}

Array = NDArray[np.float64]
Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A request to a catalogue of a source, the signs of its answer, whether the first hit is
    right, and the family (or none) whose part of the cohort it may not see beside its own.
    """

    kind: str
    source: str
    catalogue: str
    text: str
    signs: Mapping[str, float]
    is_right: bool
    hidden_family: str

    @property
    def family(self) -> str:
        """The family of the catalogue's source."""
        return FAMILY_OF_SOURCE[self.source]


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights by sign, and the bias."""

    weights: Mapping[str, float]
    bias: float

    def score(self, samples: Sequence[Sample]) -> Array:
        """The probability of each sample."""
        values = read_columns(samples, list(self.weights)) @ np.array(list(self.weights.values()))
        return np.asarray(sigmoid(values + self.bias), float)


def main() -> None:
    """Fit, write, and print what sources give that were left out."""
    arguments = _arguments()
    encoder = load_shipped_encoder()
    entries = read_entries(arguments.requests)
    cohort, families = encode_cohort(encoder, entries)
    print(f"{len(families)} descriptions in the cohort", flush=True)
    samples = list(gather_samples(arguments.requests, entries, encoder))
    samples = compare_with_cohort(samples, encoder, cohort, families)
    left_out = np.zeros(len(samples))
    for family in FAMILIES:
        others = [sample for sample in samples if sample.family != family]
        places = [at for at, sample in enumerate(samples) if sample.family == family]
        left_out[places] = fit_model(others).score([samples[at] for at in places])
    report(samples, left_out)
    model = fit_model(samples)
    print(json.dumps({"weights": model.weights, "bias": model.bias}))
    write_calibration(arguments.out, encoder, model, cohort)


def read_entries(folder: Path) -> dict[str, dict[str, Entry]]:
    """The entries that are asked for, with all their fields, by source and key."""
    wanted, _ = read_catalogues(folder)
    entries: dict[str, dict[str, Entry]] = {}
    for source, keys in wanted.items():
        lines = (folder / source / "catalogue.jsonl").read_text(encoding="utf-8").splitlines()
        rows = {f"{source} {row['id']}": row for row in map(json.loads, lines)}
        entries[source] = {key: rows[key] for key in keys}
    return entries


def encode_cohort(
    encoder: StaticEncoder, entries: Mapping[str, Mapping[str, Entry]]
) -> tuple[bytes, list[str]]:
    """The rows of the cohort, and the family of each."""
    rows, families = [], []
    for source in sorted(entries.keys() - NOT_IN_COHORT):
        rng = random.Random(f"{SEED} cohort {source}")
        keys = sorted(entries[source])
        for key in rng.sample(keys, min(COHORT_OF_SOURCE, len(keys))):
            rows.append(encoder.encode_query(_text_of(entries[source][key])))
            families.append(FAMILY_OF_SOURCE[source])
    return b"".join(rows), families


def _text_of(entry: Entry) -> str:
    return f"{entry['name']}: {entry['description'][:COHORT_CHARACTERS]}"


def gather_samples(
    folder: Path, entries: Mapping[str, Mapping[str, Entry]], encoder: StaticEncoder
) -> Iterator[Sample]:
    """What every catalogue answers."""
    _, requests = read_catalogues(folder)
    languages = read_languages(folder, entries)
    for source in sorted(entries):
        for number, (size, kind, share) in enumerate(CATALOGUES):
            rng = random.Random(f"{SEED} {source} {number}")
            keys = sorted(entries[source])
            keys = rng.sample(keys, min(size, len(keys)))
            count = max(1, int(share * len(keys)))
            lacking = draw_lacking(rng, encoder, entries[source], keys, kind, count)
            present = {key: entries[source][key] for key in keys if key not in lacking}
            drawn = _draw_requests(rng, requests, languages, source, kind, set(present), lacking)
            yield from ask_catalogue(f"{source} {number}", source, present, drawn, encoder, rng)
            print(f"{source}: {len(present):,} entries, {len(drawn)} requests", flush=True)


def read_languages(folder: Path, sources: Iterable[str]) -> dict[tuple[str, str], str]:
    """The language of each request, by its source and text."""
    return {
        (source, pair.query): pair.language
        for source in sources
        for pair in read_pairs(folder / source)
    }


def draw_lacking(
    rng: random.Random,
    encoder: StaticEncoder,
    entries: Mapping[str, Entry],
    keys: Sequence[str],
    kind: str,
    count: int,
) -> set[str]:
    """So many entries to leave out of a catalogue: any (RANDOM), or those of one topic."""
    if kind == RANDOM:
        return set(rng.sample(keys, count))
    return set(_draw_topic(rng, encoder, entries, keys, count))


def _draw_topic(
    rng: random.Random,
    encoder: StaticEncoder,
    entries: Mapping[str, Entry],
    keys: Sequence[str],
    count: int,
) -> list[str]:
    """The entries nearest to a random one, itself included."""
    rows = _unit_rows(encoder, [_text_of(entries[key]) for key in keys])
    cosines = rows @ rows[rng.randrange(len(keys))]
    return [keys[at] for at in np.argsort(-cosines, kind="stable")[:count]]


def _unit_rows(encoder: StaticEncoder, texts: Sequence[str]) -> Array:
    vectors = b"".join(map(encoder.encode_query, texts))
    return _normalise(np.frombuffer(vectors, np.int8).reshape(-1, encoder.dim))


def _normalise(rows: NDArray[Any]) -> Array:
    values = rows.astype(np.float64)
    unit: Array = values / (np.linalg.norm(values, axis=1, keepdims=True) + 1e-9)
    return unit


def _draw_requests(
    rng: random.Random,
    requests: Sequence[Request],
    languages: Mapping[tuple[str, str], str],
    source: str,
    kind: str,
    present: set[str],
    lacking: set[str],
) -> list[tuple[str, Request]]:
    """What the catalogue is asked: languages alike of its own source, sources alike of others."""
    piles: dict[str, dict[str, list[Request]]] = {OWN: {}, kind: {}, FOREIGN: {}}
    for request in requests:
        language = languages[request.source, request.text]
        if request.source == source and request.entries & present:
            piles[OWN].setdefault(language, []).append(request)
        elif request.source == source and request.entries <= lacking:
            piles[kind].setdefault(language, []).append(request)
        elif FAMILY_OF_SOURCE[request.source] != FAMILY_OF_SOURCE[source]:
            piles[FOREIGN].setdefault(request.source, []).append(request)
    drawn = []
    for name, groups in piles.items():
        for group in groups.values():
            rng.shuffle(group)
        for turn in range(ASKED[name]):
            drawn += [(name, group[turn]) for group in groups.values() if turn < len(group)]
            if sum(kind_drawn == name for kind_drawn, _ in drawn) >= ASKED[name]:
                break
    made_up = [Request(make_up(rng), "", frozenset()) for _ in range(ASKED[MADE_UP])]
    return drawn + [(MADE_UP, request) for request in made_up]


def make_up(rng: random.Random) -> str:
    """One to four words of letters that say nothing."""
    return " ".join(
        "".join(
            rng.choice("bcdfghjklmnpqrstvwxz") + rng.choice("aeiou") + rng.choice(("", *"kmpxz"))
            for _ in range(rng.randint(2, 3))
        )
        for _ in range(rng.randint(1, 4))
    )


def ask_catalogue(
    catalogue: str,
    source: str,
    present: Mapping[str, Entry],
    drawn: Iterable[tuple[str, Request]],
    encoder: StaticEncoder,
    rng: random.Random,
) -> Iterator[Sample]:
    """What the catalogue of these entries answers to each request, a kind beside each."""
    ids = {key: f"tool:t{number}" for number, key in enumerate(present)}
    with tempfile.TemporaryDirectory() as scratch:
        root, index_dir = Path(scratch) / "catalogue", Path(scratch) / "index"
        root.mkdir()
        lines = [json.dumps(_record(ids[key], entry)) for key, entry in present.items()]
        (root / "capabilities.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        build_index([root], index_dir, BuildOptions())
        with Index(index_dir) as index:
            for kind, request in drawn:
                signs, first = _read_answer(index, request.text, encoder)
                right = {ids[key] for key in request.entries if key in ids}
                if signs:
                    hidden = FAMILY_OF_SOURCE.get(request.source, "")
                    yield Sample(
                        kind=kind,
                        source=source,
                        catalogue=catalogue,
                        text=request.text,
                        signs=signs,
                        is_right=first in right,
                        hidden_family=hidden if rng.random() < 0.5 else "",
                    )


def _record(identifier: str, entry: Entry) -> dict[str, Any]:
    fields = ("name", "description", "phrases", "parameters", "category")
    record = {key: entry[key] for key in fields if entry.get(key)}
    return {"id": identifier, "kind": "tool", **record}


def _read_answer(index: Index, text: str, encoder: StaticEncoder) -> tuple[dict[str, float], str]:
    """The signs of what the search finds for the text, and the first id; nothing without hits."""
    signs: dict[str, float] = {}

    def keep_signs(_: Calibration, values: Mapping[str, float]) -> float:
        signs.update(values)
        return 0.0

    # The cohort does not matter yet, and nothing may be refused.
    empty = Calibration(
        encoder=encoder.fingerprint,
        weights={},
        bias=0.0,
        phrase_weights={},
        phrase_bias=0.0,
        verdict_weights={},
        verdict_bias=0.0,
        cohort=bytes(encoder.dim - 1) + b"\x01",
    )
    with (
        patch.object(confidence, "load_calibration", lambda: empty),
        patch.object(confidence, "combine_signs", keep_signs),
    ):
        query = Query(texts=(text,), limit=20, choices=RankingChoices(refuses=False))
        ranking = pipeline.search_index(index, query, encoder)
    found = [hit.id for hit in ranking.hits if not hit.via]
    return signs, found[0] if found else ""


def compare_with_cohort(
    samples: Sequence[Sample], encoder: StaticEncoder, cohort: bytes, families: Sequence[str]
) -> list[Sample]:
    """The samples with the sign `elsewhere` as the parts of the cohort give it that they may see."""
    rows = _normalise(np.frombuffer(cohort, np.int8).reshape(-1, encoder.dim))
    cosines = _unit_rows(encoder, [sample.text for sample in samples]) @ rows.T
    columns = {name: np.array([family == name for family in families]) for name in FAMILIES}
    for at, sample in enumerate(samples):
        cosines[at, columns[sample.family]] = 0.0
        if sample.kind == FOREIGN and sample.hidden_family:
            cosines[at, columns[sample.hidden_family]] = 0.0
    nearest = cosines.max(axis=1)
    return [
        Sample(
            kind=sample.kind,
            source=sample.source,
            catalogue=sample.catalogue,
            text=sample.text,
            signs={**sample.signs, "elsewhere": float(value)},
            is_right=sample.is_right,
            hidden_family=sample.hidden_family,
        )
        for sample, value in zip(samples, nearest, strict=True)
    ]


def fit_model(
    samples: Sequence[Sample],
    names: Sequence[str] = SIGNS,
    kinds: Mapping[str, float] = MappingProxyType(WEIGHTS),
) -> Fit:
    """The weights, scaled to probabilities; `kinds` says what each kind counts."""
    return scale_to_probability(fit_weights(samples, names, kinds), samples)


def fit_weights(
    samples: Sequence[Sample], names: Sequence[str], kinds: Mapping[str, float]
) -> Fit:
    """Right first hits against answers to what a catalogue lacks."""
    chosen = [sample for sample in samples if sample.is_right or sample.kind != OWN]
    inputs = read_columns(chosen, names)
    means, deviations = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    weights = _fit_logistic(
        (inputs - means) / deviations, _labels(chosen), _balance(chosen, samples, kinds), RIDGE
    )
    values = weights[:-1] / deviations
    bias = float(weights[-1] - values @ means)
    return Fit(dict(zip(names, values.tolist(), strict=True)), bias)


def scale_to_probability(model: Fit, samples: Sequence[Sample]) -> Fit:
    """The same order of answers, with the probability that the first hit is right (Platt 1999)."""
    scores = model.score(samples)
    logits = np.log(scores / (1 - scores))[:, None]
    slope, bias = _fit_logistic(
        logits, _labels(samples), _balance(samples, samples, FINAL_WEIGHTS), 0.001
    )
    return Fit(
        {name: round(float(slope * weight), 5) for name, weight in model.weights.items()},
        round(float(slope * model.bias + bias), 5),
    )


def _fit_logistic(inputs: Array, labels: Array, balance: Array, ridge: float) -> Array:
    """Weights and last the bias: logistic regression by Newton's method."""
    inputs = np.hstack([inputs, np.ones((len(inputs), 1))])
    penalty = ridge * np.eye(inputs.shape[1])
    penalty[-1, -1] = 1e-3
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        probabilities = sigmoid(inputs @ weights)
        gradient = inputs.T @ (balance * (labels - probabilities)) - penalty @ weights
        curvature = balance * probabilities * (1 - probabilities) + 1e-9
        weights += np.linalg.solve((inputs.T * curvature) @ inputs + penalty, gradient)
    return weights


def read_columns(samples: Sequence[Sample], names: Sequence[str]) -> Array:
    """The signs of these names, (samples, names)."""
    return np.array([[sample.signs[name] for name in names] for sample in samples])


def _labels(samples: Sequence[Sample]) -> Array:
    return np.array([sample.is_right for sample in samples], float)


def _balance(
    samples: Sequence[Sample], counted: Sequence[Sample], weights: Mapping[str, float]
) -> Array:
    """Sources alike, and kinds by their weights; of a kind with few samples in a catalogue less."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for sample in counted:
        counts[sample.catalogue, sample.kind] += 1
    return np.array(
        [
            100 * weights[sample.kind] / max(counts[sample.catalogue, sample.kind], 20)
            for sample in samples
        ]
    )


def report(samples: Sequence[Sample], scores: Array) -> None:
    """Print, by source: the share of each kind that has at least the confidence of 95 in a hundred
    of its own, that is refused, and the calibration error of its own.
    """
    print("percent of each kind as sure as 95 % of its own, and refused")
    print(f"{'':16s}" + "".join(f"{kind:>16s}" for kind in KINDS) + f"{'ECE':>8s}")
    for source in dict.fromkeys(sample.source for sample in samples):
        cells, error = "", 0.0
        of_kind = {
            kind: np.array(
                [
                    score
                    for sample, score in zip(samples, scores, strict=True)
                    if sample.source == source and sample.kind == kind
                ]
            )
            for kind in KINDS
        }
        level = np.quantile(of_kind[OWN], 0.05)
        for values in of_kind.values():
            above = 100 * float(np.mean(values >= level)) if len(values) else 0.0
            refused = 100 * float(np.mean(values < LEAST_CONFIDENCE)) if len(values) else 0.0
            cells += f"{above:10.1f}{refused:6.1f}"
        own = [sample.source == source and sample.kind == OWN for sample in samples]
        error = calibration_error(scores[own], _labels(samples)[own])
        print(f"{source:16s}{cells}{100 * error:8.1f}")


def calibration_error(scores: Array, labels: Array) -> float:
    """The mean difference between confidence and share of right hits, over ten bins (ECE)."""
    bins = np.minimum((10 * scores).astype(int), 9)
    return sum(
        abs(float(scores[bins == at].mean() - labels[bins == at].mean()))
        * float((bins == at).mean())
        for at in range(10)
        if (bins == at).any()
    )


def write_calibration(
    path: Path,
    encoder: StaticEncoder,
    model: Fit | Calibration,
    cohort: bytes,
    phrases: Fit | None = None,
) -> None:
    """The two files that are shipped; the model stands in for that of phrases until
    `fit_phrase_confidence.py` has fitted it. The numbers of the verdict stay as they are.
    """
    shipped = load_calibration()
    numbers = {
        "format": CALIBRATION_FORMAT,
        "encoder": encoder.fingerprint,
        "weights": model.weights,
        "bias": model.bias,
        "phrase_weights": (phrases or model).weights,
        "phrase_bias": (phrases or model).bias,
        "verdict_weights": shipped.verdict_weights,
        "verdict_bias": shipped.verdict_bias,
    }
    write_numbers(path, numbers)
    path.with_suffix(COHORT_SUFFIX).write_bytes(cohort)


def write_numbers(path: Path, numbers: Mapping[str, Any]) -> None:
    """A JSON file with each entry on a line of its own."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in numbers.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=Path, required=True, help="gathered requests")
    parser.add_argument("--out", type=Path, default=CALIBRATION_FILE, help="file to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
