"""The fitted numbers behind a suggestion: `suggestion.json`, and `suggestion.i8` with the vectors.

`tools/training/fit_suggestion.py` fits and writes both, and says how well they do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen

MODEL_FILE = Path(__file__).with_name("suggestion.json")
MODEL_FORMAT = 1
VECTOR_SUFFIX = ".i8"


@frozen
class Tree:
    """A decision tree. A number from 0 on in `left` and `right` is a split, any other one a leaf:
    -1 is the first value of `leaves`. A pair goes left where its feature is at most the threshold.
    """

    features: Sequence[int]
    thresholds: Sequence[float]
    left: Sequence[int]
    right: Sequence[int]
    leaves: Sequence[float]

    def score(self, values: Sequence[float]) -> float:
        """The value of the leaf that these values of the features lead to."""
        node = 0 if self.features else -1
        while node >= 0:
            is_left = values[self.features[node]] <= self.thresholds[node]
            node = self.left[node] if is_left else self.right[node]
        return self.leaves[-1 - node]


@frozen(kw_only=True)
class Ensemble:
    """Boosted trees over the features of these names: the sum of their values is a logit. From the
    probability `threshold` on a capability is offered.
    """

    features: Sequence[str]
    trees: Sequence[Tree]
    threshold: float

    def logit(self, values: Mapping[str, float]) -> float:
        """How sure the trees are that a capability with these values is wanted, in logits."""
        row = [values[name] for name in self.features]
        return sum(tree.score(row) for tree in self.trees)


@frozen
class LinearRows:
    """Linear models of the same vectors: the row of each is a direction, a length and a bias."""

    start: int
    scales: Sequence[float]
    biases: Sequence[float] = ()


@frozen(kw_only=True)
class SuggestionModel:
    """What was fitted, for vectors of the encoder with this fingerprint.

    `kinds` names the kinds of work, the last of which is none. A turn's logit of each kind, and
    behind these the one of a coding session, are sums over its first line (`of_head`), its text
    (`of_text`) and its counts (`of_marks`). `of_capability` says how far a capability is for each
    kind but the last. From `prototypes` on, `vectors` holds a typical description of each kind,
    and from `cohort` on ordinary turns.
    """

    encoder: str
    kinds: Sequence[str]
    of_head: LinearRows
    of_text: LinearRows
    of_marks: Sequence[Sequence[float]]
    of_capability: LinearRows
    prototypes: int
    cohort: int
    coding: Ensemble
    request: Ensemble
    vectors: bytes
    dim: int

    def rows(self, start: int, count: int) -> memoryview:
        """(count, dim) int8: these rows of the vectors."""
        return memoryview(self.vectors[start * self.dim : (start + count) * self.dim]).cast(
            "b", (count, self.dim)
        )

    @property
    def cohort_rows(self) -> memoryview:
        """(n, dim) int8: vectors of ordinary turns."""
        return self.rows(self.cohort, len(self.vectors) // self.dim - self.cohort)


def compare_rows(rows: memoryview, others: memoryview) -> list[list[float]]:
    """The cosine of each row with each of the others, both (n, dim) int8."""
    distances: Any = memoryview(lazy_imports.simsimd().cdist(rows, others, metric="cosine"))
    return [[1.0 - distance for distance in row] for row in distances.tolist()]


@lru_cache(maxsize=2)
def load_suggestion_model(path: Path = MODEL_FILE) -> SuggestionModel:
    """The model as `fit_suggestion.py` wrote it. Raises EncoderError for another file."""
    try:
        stored = json.loads(path.read_bytes())
        if stored.pop("format") != MODEL_FORMAT:
            raise ValueError("unknown format")
        for name in ("of_head", "of_text", "of_capability"):
            stored[name] = LinearRows(**stored[name])
        for name in ("coding", "request"):
            trees = tuple(Tree(*parts) for parts in stored[name].pop("trees"))
            stored[name] = Ensemble(trees=trees, **stored[name])
        return SuggestionModel(vectors=path.with_suffix(VECTOR_SUFFIX).read_bytes(), **stored)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(
            f"the model of suggestions is missing or damaged: {path}", "reinstall capdisc"
        ) from error
