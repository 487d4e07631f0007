"""The part of `fit_gate.py` that reads the text alone: a small convolution, fitted with Adam.

The layers are those of `request_gate.text_logit`: filters over three neighbouring tokens, the
largest and the mean value of each over the text, the features, one hidden layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from gate_language import Turn
from numpy.typing import NDArray

from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.retrieval.request_gate import (
    WINDOW,
    GateModel,
    shorten_tokens,
    shorten_turn,
    text_features,
)

Array = NDArray[np.float32]

FILTERS, HIDDEN, EPOCHS, BATCH, RATE, DECAY = 64, 24, 12, 256, 3e-3, 1e-3
DROPOUT, TOKEN_DROPOUT = 0.2, 0.1
FIRST_SPREAD = 0.1
# The value of the channel that marks the places before the first token and after the last one.
EDGE = 0.5
LEAST_SCALE = 1e-6


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts as they are read: tokens of the encoder's vocabulary, and features by row."""

    token_ids: Sequence[Sequence[int]]
    features: Array


def fit_text(turns: Sequence[Turn], encoder: StaticEncoder, seed: int) -> GateModel:
    """The model of the text alone, its vectors rounded as they are shipped."""
    texts = read_texts([turn.text for turn in turns], encoder)
    means, deviations = texts.features.mean(axis=0), texts.features.std(axis=0) + 1e-6
    scaled = Texts(texts.token_ids, ((texts.features - means) / deviations).astype(np.float32))
    labels = np.array([turn.is_request for turn in turns], np.float32)
    table = token_table(encoder)
    state = _train(scaled, labels, table, seed)
    filters, biases, hidden, hidden_biases, outputs, output_bias = state
    # (filters, window, dim + 1): the rows of one filter stand together.
    vectors = filters.reshape(WINDOW, table.shape[1], FILTERS).transpose(2, 0, 1)
    peaks = np.abs(vectors[..., :-1]).max(axis=2, keepdims=True) / 127
    # A row that the fit does not use is all zeros.
    peaks = np.maximum(peaks, LEAST_SCALE)
    rounded = np.round(vectors[..., :-1] / peaks).astype(np.int8)
    scales = peaks[..., 0] * np.maximum(np.linalg.norm(rounded.astype(float), axis=2), 1)
    return GateModel(
        encoder=encoder.fingerprint,
        vectors=rounded.tobytes(),
        scales=[round_all(row, 8) for row in scales],
        edges=[round_all(EDGE * row[[0, -1], -1], 5) for row in vectors],
        biases=round_all(biases, 5),
        hidden=[round_all(row, 4) for row in hidden.T],
        hidden_biases=round_all(hidden_biases, 5),
        outputs=round_all(outputs, 5),
        output_bias=round(float(output_bias[0]), 5),
        means=round_all(means, 5),
        deviations=round_all(deviations, 5),
        evidence={},
        lexical_evidence={},
    )


def read_texts(texts: Sequence[str], encoder: StaticEncoder) -> Texts:
    """The tokens and the features of each text; a text without a known word has one that says
    nothing.
    """
    read, weights = [shorten_turn(text) for text in texts], encoder.token_weights
    token_ids = [shorten_tokens(encoder.bulk_token_ids(text)) for text in read]
    features = [
        list(text_features(text, [weights[token_id] for token_id in ids]).values())
        for text, ids in zip(read, token_ids, strict=True)
    ]
    return Texts(token_ids, np.array(features, np.float32))


def token_table(encoder: StaticEncoder) -> Array:
    """Each token's unit vector and a 0; in the last row the place beside the text, zeros and
    `EDGE`.
    """
    vectors = encoder.table.astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), LEAST_SCALE)
    table = np.zeros((len(vectors) + 1, encoder.dim + 1), np.float32)
    table[:-1, :-1] = vectors
    table[-1, -1] = EDGE
    return table


def round_all(values: NDArray[np.floating], places: int) -> list[float]:
    """The values as they are written."""
    return [round(float(value), places) for value in values]


def sigmoid(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Logits as probabilities."""
    probabilities: NDArray[np.floating] = 1 / (1 + np.exp(-np.clip(values, -30, 30)))
    return probabilities


def _train(texts: Texts, labels: Array, table: Array, seed: int) -> list[Array]:
    """Weights of filters (columns), of the hidden layer (columns) and of the output, each with its
    biases; both kinds of turn weighed alike.
    """
    rng, width = np.random.default_rng(seed), WINDOW * table.shape[1]
    inputs = 2 * FILTERS + texts.features.shape[1]
    balance = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    sizes = ((width, FILTERS), (FILTERS,), (inputs, HIDDEN), (HIDDEN,), (HIDDEN,), (1,))
    spreads = (FIRST_SPREAD, 0.0, inputs**-0.5, 0.0, HIDDEN**-0.5, 0.0)
    state = [
        (rng.normal(0, 1, size) * spread).astype(np.float32)
        for size, spread in zip(sizes, spreads, strict=True)
    ]
    first, second, step = [0 * one for one in state], [0 * one for one in state], 0
    steps = EPOCHS * -(-len(labels) // BATCH)
    for _ in range(EPOCHS):
        for rows in _batches(texts, rng):
            gradients = _gradients(state, texts, rows, labels[rows], balance[rows], table, rng)
            step, rate = step + 1, RATE * (1 - step / steps) + 1e-5
            for at, gradient in enumerate(gradients):
                first[at] = 0.9 * first[at] + 0.1 * gradient
                second[at] = 0.999 * second[at] + 0.001 * gradient**2
                size = np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8
                change = rate * first[at] / (1 - 0.9**step) / size
                state[at] = (state[at] - change).astype(np.float32)
    return state


def _batches(texts: Texts, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """All rows in batches of about the same length, in a new order each time."""
    lengths = np.array([len(ids) for ids in texts.token_ids])
    order = np.argsort(lengths + 3 * rng.random(len(lengths)))
    starts = rng.permutation(range(0, len(order), BATCH))
    for start in starts:
        yield order[start : start + BATCH]


def _gradients(
    state: Sequence[Array],
    texts: Texts,
    rows: NDArray[np.int64],
    labels: Array,
    balance: NDArray[np.floating],
    table: Array,
    rng: np.random.Generator,
) -> list[Array]:
    filters, biases, hidden, hidden_biases, outputs, output_bias = state
    windows, mask = _read_windows([texts.token_ids[row] for row in rows], table, rng)
    count, length, width = windows.shape
    flat, lengths = windows.reshape(count * length, width), mask.sum(axis=1, keepdims=True)
    before = (flat @ filters).reshape(count, length, FILTERS) + biases
    values = np.maximum(before, 0) * mask[..., None]
    best = values.argmax(axis=1)[:, None]
    largest = np.take_along_axis(values, best, axis=1)[:, 0]
    pooled = np.concatenate([largest, values.sum(axis=1) / lengths, texts.features[rows]], axis=1)
    kept = ((rng.random(pooled.shape) > DROPOUT) / (1 - DROPOUT)).astype(np.float32)
    kept[:, 2 * FILTERS :] = 1
    inputs = pooled * kept
    hidden_before = inputs @ hidden + hidden_biases
    hidden_active = np.maximum(hidden_before, 0)
    probabilities = sigmoid(hidden_active @ outputs + output_bias)
    errors = ((probabilities - labels) * balance / len(labels)).astype(np.float32)
    back = np.outer(errors, outputs) * (hidden_before > 0)
    back_inputs = (back @ hidden.T) * kept
    back_means = (back_inputs[:, FILTERS : 2 * FILTERS] / lengths)[:, None]
    back_filters = np.repeat(back_means, length, axis=1) * mask[..., None]
    with_best = np.take_along_axis(back_filters, best, axis=1) + back_inputs[:, None, :FILTERS]
    np.put_along_axis(back_filters, best, with_best, axis=1)
    back_filters *= before > 0
    return [
        flat.T @ back_filters.reshape(count * length, FILTERS) + DECAY * filters,
        back_filters.sum(axis=(0, 1)),
        inputs.T @ back + DECAY * hidden,
        back.sum(axis=0),
        hidden_active.T @ errors + DECAY * outputs,
        np.array([errors.sum()]),
    ]


def _read_windows(
    token_ids: Sequence[Sequence[int]], table: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Neighbouring tokens side by side, (texts, tokens, window x width), some tokens left blank;
    and which of them are there, (texts, tokens).
    """
    length = max(1, *map(len, token_ids))
    places = np.full((len(token_ids), length + 2), len(table) - 1)
    mask = np.zeros((len(token_ids), length), np.float32)
    for row, ids in enumerate(token_ids):
        places[row, 1 : 1 + len(ids)] = ids
        mask[row, : max(1, len(ids))] = 1
    rows = table[places]
    rows[..., :-1] *= (rng.random(places.shape) > TOKEN_DROPOUT)[..., None]
    return np.concatenate([rows[:, :-2], rows[:, 1:-1], rows[:, 2:]], axis=2), mask
