"""The part of `fit_gate.py` that reads the text alone: one hidden layer, fitted with Adam."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gate_material import Turn
from numpy.typing import NDArray

from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.retrieval.request_gate import (
    MAX_CHARACTERS,
    GateModel,
    text_features,
    text_views,
)

Array = NDArray[np.float64]

HIDDEN, EPOCHS, BATCH, RATE, DECAY, DROPOUT = 24, 14, 256, 2e-3, 2e-4, 0.2
# A weight's first size: a unit vector has small values, a feature has deviation 1.
VECTOR_SPREAD, FEATURE_SPREAD = 0.15, 0.1


def fit_text(turns: Sequence[Turn], encoder: StaticEncoder, seed: int) -> GateModel:
    """The model of the text alone, its vector weights rounded as they are shipped."""
    vectors, features = read_texts([turn.text for turn in turns], encoder)
    means, deviations = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = np.concatenate([vectors, (features - means) / deviations], axis=1)
    labels = np.array([turn.is_request for turn in turns], float)
    hidden, biases, outputs, output_bias = _train(inputs, labels, features.shape[1], seed)
    width = vectors.shape[1]
    scales = np.abs(hidden[:width]).max(axis=0) / 127
    rows = np.round(hidden[:width] / scales).T.astype(np.int8)
    return GateModel(
        encoder=encoder.fingerprint,
        vectors=rows.tobytes(),
        scales=round_all(scales, 8),
        features=tuple(round_all(row, 5) for row in hidden[width:].T),
        means=round_all(means, 5),
        deviations=round_all(deviations, 5),
        biases=round_all(biases, 5),
        outputs=round_all(outputs, 5),
        output_bias=round(float(output_bias[0]), 5),
        evidence={},
        lexical_evidence={},
    )


def read_texts(texts: Sequence[str], encoder: StaticEncoder) -> tuple[Array, Array]:
    """The vectors of each text's three views side by side, and its features."""
    read = [text[:MAX_CHARACTERS] for text in texts]
    views = zip(*map(text_views, read), strict=True)
    vectors = np.concatenate([encoder.encode(list(view)) for view in views], axis=1)
    features = [list(text_features(encoder, text).values()) for text in read]
    return vectors.astype(float), np.array(features)


def round_all(values: Array, places: int) -> list[float]:
    """The values as they are written."""
    return [round(float(value), places) for value in values]


def sigmoid(values: Array) -> Array:
    """Logits as probabilities."""
    probabilities: Array = 1 / (1 + np.exp(-np.clip(values, -30, 30)))
    return probabilities


def _train(
    inputs: Array, labels: Array, features: int, seed: int
) -> tuple[Array, Array, Array, Array]:
    """Weights of the hidden layer (columns) and of the output, both kinds of turn weighed alike."""
    rng, (count, width) = np.random.default_rng(seed), inputs.shape
    balance = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    spread = np.full(width, VECTOR_SPREAD)
    spread[-features:] = FEATURE_SPREAD
    state = [
        rng.normal(0, 1, (width, HIDDEN)) * spread[:, None],
        np.zeros(HIDDEN),
        rng.normal(0, HIDDEN**-0.5, HIDDEN),
        np.zeros(1),
    ]
    first, second, step = [0.0 * one for one in state], [0.0 * one for one in state], 0
    for epoch in range(EPOCHS):
        order = rng.permutation(count)
        for start in range(0, count, BATCH):
            rows = order[start : start + BATCH]
            gradients = _gradients(state, inputs[rows], labels[rows], balance[rows], rng)
            step, rate = step + 1, RATE * (1 - epoch / EPOCHS) + 1e-5
            for at, gradient in enumerate(gradients):
                first[at] = 0.9 * first[at] + 0.1 * gradient
                second[at] = 0.999 * second[at] + 0.001 * gradient**2
                size = np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8
                state[at] = state[at] - rate * first[at] / (1 - 0.9**step) / size
    return state[0], state[1], state[2], state[3]


def _gradients(
    state: Sequence[Array], inputs: Array, labels: Array, balance: Array, rng: np.random.Generator
) -> list[Array]:
    hidden, biases, outputs, output_bias = state
    before = inputs @ hidden + biases
    mask = (rng.random(before.shape) > DROPOUT) / (1 - DROPOUT)
    active = np.maximum(before, 0) * mask
    errors = (sigmoid(active @ outputs + output_bias) - labels) * balance / len(labels)
    back = np.outer(errors, outputs) * mask * (before > 0)
    return [
        inputs.T @ back + DECAY * hidden,
        back.sum(axis=0),
        active.T @ errors + DECAY * outputs,
        np.array([errors.sum()]),
    ]
