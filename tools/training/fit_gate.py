"""Fit the model that tells requests from talk: `capdisc_indexer/retrieval/request_gate.json`.

    python fit_gate.py --requests DIR --skills DIR

`--requests` is the folder of gathered requests (a source a folder: `catalogue.jsonl` and
`pairs.jsonl`), `--skills` one of SKILL.md files, which stand in catalogues as what nobody asks
for. The steps: gather turns (`gate_material.py`); fit the text model to three folds of them
(`gate_text_model.py`); build catalogues of 18, 120 and 2,500 capabilities and ask them for what
they have and what they lack, and say to them what is no request, all of a fourth fold
(`gate_samples.py`); fit the second model to the evidence that the searches found; move its border,
0.5, to where some four in a hundred turns of talk of the fifth fold pass, to which nothing was
fitted. Prints what the fifth fold gives. Last, the text model is
fitted once more, to all five folds: that one is shipped, and knows more phrases than was measured.

Needs capdisc itself and nothing else. Seeds are fixed: the same input gives the same file. Eight
minutes on two cores, most of it fitting and searching.
"""

from __future__ import annotations

import argparse
import math
import time
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from fit_calibration import write_numbers
from gate_language import compose_chatter
from gate_material import all_turns
from gate_samples import KINDS, LACKING, OWN, TALK, Sample, gather_samples
from gate_text_model import fit_text, sigmoid

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.retrieval.request_gate import (
    MODEL_FILE,
    MODEL_FORMAT,
    GateModel,
    combine,
)
from capdisc_indexer.retrieval.verdict import BORDER

SEED = 20261122
BORDER_FOLD, EVIDENCE_FOLD = 0, 1
# What the second model reads; a name of two parts is a product.
EVIDENCE = (
    "text", "cosine", "coverage", "meets_query", "meets_name", "meets_description", "unmatched",
    "information", "catalogue", "text*cosine", "text*catalogue", "bias",
)  # fmt: skip
LEXICAL_EVIDENCE = (
    "text", "coverage", "confidence", "lead", "best_score", "unmatched", "information", "catalogue",
    "text*coverage", "coverage*catalogue", "bias",
)  # fmt: skip
# A request for what the catalogue lacks is silenced where that costs little, and no more.
WEIGHTS = {OWN: 1.0, LACKING: 0.03, TALK: 1.0}
RIDGE, STEPS = 3.0, 30
# The share of held-out talk that may pass, by size of catalogue. That talk is harder than what
# people say: a sixth of it is about a thing that a catalogue may have ("thanks for the booking").
PASSING_SHARES = {18: 0.035, 120: 0.04, 2_500: 0.05}
REFUSED_SCORE = 1e-6


def main() -> None:
    """Fit, write, and print what the fold of the border gives."""
    arguments = _arguments()
    started, encoder = time.monotonic(), load_shipped_encoder()
    turns = all_turns(arguments.requests, SEED)
    requests = sum(turn.is_request for turn in turns)
    print(f"{requests:,} requests, {len(turns) - requests:,} other turns")
    kept_back = (BORDER_FOLD, EVIDENCE_FOLD)
    model = fit_text([turn for turn in turns if turn.fold not in kept_back], encoder, SEED)
    print(f"text model after {time.monotonic() - started:.0f} s", flush=True)
    samples = list(
        gather_samples(
            model,
            encoder,
            list(compose_chatter(SEED)),
            arguments.requests,
            arguments.skills,
            kept_back,
            SEED,
        )
    )
    full = [one for one in samples if not one.is_lexical]
    lexical = [one for one in samples if one.is_lexical]
    weights = move_border(full, fit_evidence(full, EVIDENCE))
    lexical_weights = move_border(lexical, fit_evidence(lexical, LEXICAL_EVIDENCE))
    report("words and vectors", full, weights)
    report("words alone", lexical, lexical_weights)
    write_model(arguments.out, fit_text(turns, encoder, SEED), weights, lexical_weights)
    print(f"{arguments.out.stat().st_size:,} bytes after {time.monotonic() - started:.0f} s")


def fit_evidence(samples: Sequence[Sample], names: Sequence[str]) -> dict[str, float]:
    """Weights by name: logistic regression with a small ridge, by Newton's method, each size of
    catalogue and each kind of utterance weighed alike.
    """
    used = [one for one in samples if one.utterance.fold == EVIDENCE_FOLD]
    inputs = np.array([_terms(one, names) for one in used])
    labels = np.array([one.utterance.kind == OWN for one in used], float)
    groups = [(one.utterance.kind, one.size) for one in used]
    counts = {group: groups.count(group) for group in set(groups)}
    balance = np.array([1000 * WEIGHTS[group[0]] / counts[group] for group in groups])
    weights, ridge = np.zeros(len(names)), RIDGE * np.eye(len(names))
    for _ in range(STEPS):
        probabilities = sigmoid(inputs @ weights)
        gradient = inputs.T @ (balance * (labels - probabilities)) - ridge @ weights
        curvature = balance * probabilities * (1 - probabilities) + 1e-9
        weights += np.linalg.solve((inputs.T * curvature) @ inputs + ridge, gradient)
    return {name: round(float(weight), 5) for name, weight in zip(names, weights, strict=True)}


def _terms(sample: Sample, names: Sequence[str]) -> list[float]:
    values = {"text": sample.logit, "bias": 1.0, **sample.evidence}
    return [math.prod(values[part] for part in name.split("*")) for name in names]


def move_border(samples: Sequence[Sample], weights: Mapping[str, float]) -> dict[str, float]:
    """The weights with another bias and another weight of the catalogue's size, so that of the talk
    in its own fold the passing shares have a score of 0.5 or more, at each size as nearly as a
    straight line over the logarithm of the size allows.
    """
    talk = [
        one for one in samples if one.utterance.fold == BORDER_FOLD and one.utterance.kind == TALK
    ]
    sizes = sorted({one.size for one in talk})
    borders = []
    for size in sizes:
        logits = [
            _logit(score) for score in score_samples([o for o in talk if o.size == size], weights)
        ]
        borders.append(float(np.quantile(logits, 1 - PASSING_SHARES[size])))
    slope, constant = np.polyfit(np.log10(sizes), borders, 1)
    return {
        **weights,
        "catalogue": round(weights["catalogue"] - float(slope), 5),
        "bias": round(weights["bias"] - float(constant), 5),
    }


def score_samples(samples: Sequence[Sample], weights: Mapping[str, float]) -> list[float]:
    """The scores as the product gives them, next to nothing for what the search refuses."""
    return [
        REFUSED_SCORE if one.is_refused else combine(weights, one.logit, one.evidence)
        for one in samples
    ]


def write_model(
    path: Path,
    model: GateModel,
    weights: Mapping[str, float],
    lexical_weights: Mapping[str, float],
) -> None:
    """The file that is shipped."""
    stored = {
        "format": MODEL_FORMAT,
        "encoder": model.encoder,
        "evidence": weights,
        "lexical_evidence": lexical_weights,
        "means": model.means,
        "deviations": model.deviations,
        "scales": model.scales,
        "edges": model.edges,
        "biases": model.biases,
        "hidden": model.hidden,
        "hidden_biases": model.hidden_biases,
        "outputs": model.outputs,
        "output_bias": model.output_bias,
        "vectors": b2a_base64(model.vectors, newline=False).decode(),
    }
    write_numbers(path, stored)


def report(title: str, samples: Sequence[Sample], weights: Mapping[str, float]) -> None:
    """Print the share that passes in the fold of the border, by size and kind."""
    used = [one for one in samples if one.utterance.fold == BORDER_FOLD]
    passing = [score >= BORDER for score in score_samples(used, weights)]
    print(f"{title}, passing in percent:")
    for size in sorted({one.size for one in used}):
        shares = []
        for kind in KINDS:
            of_kind = [
                passed
                for one, passed in zip(used, passing, strict=True)
                if one.utterance.kind == kind and one.size == size
            ]
            shares.append(f"{kind} {100 * sum(of_kind) / max(len(of_kind), 1):.1f}")
        print(f"  {size:,} capabilities: " + ", ".join(shares))


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=Path, required=True, help="gathered requests")
    parser.add_argument("--skills", type=Path, required=True, help="folder of SKILL.md files")
    parser.add_argument("--out", type=Path, default=MODEL_FILE, help="file to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
