"""The table that is trained: a row and a weight for each piece, and the losses that shape them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

SIF = 1e-3
"""Smooth inverse frequency (Arora et al. 2017): a piece of relative frequency f starts at SIF / (SIF + f)."""
TEMPERATURE = 0.05
AGREEMENT, CONTRAST, TRANSLATION = 0.3, 0.1, 0.2
"""Shares of the in-batch losses; the cosine to the teacher counts 1."""
MOST_COMPARED = 1_536
"""Texts of a batch that are compared with each other: the cost grows with the square."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Piece ids of many texts in one row, with the start of each."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    def pick(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """The ids of the chosen texts in one row and their offsets, as an embedding bag takes them."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        places = np.repeat(self.starts[rows] - offsets, lengths) + np.arange(lengths.sum())
        return torch.from_numpy(self.ids[places].astype(np.int64)), torch.from_numpy(offsets)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of descriptions and of requests for them, of English texts alone, and of texts in other languages."""

    pairs: NDArray[np.int64]
    singles: NDArray[np.int64]
    foreign: NDArray[np.int64]


class Student(nn.Module):
    """Vector of a text: the sum of `exp(log_weight) * row` over its pieces, at unit length."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        lengths = vectors.norm(dim=1).clamp(min=1e-6)
        self.rows = nn.Parameter(vectors / lengths[:, None])
        self.log_weight = nn.Parameter(lengths.log())

    @torch.no_grad()
    def vectors(self) -> Tensor:
        """What each piece adds to a text, `(pieces, dim)`."""
        return self.rows * self.log_weight.exp()[:, None]

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        """`(texts, dim)` unit vectors."""
        weights = self.log_weight.exp()[ids]
        return functional.normalize(
            functional.embedding_bag(
                ids, self.rows, offsets, mode="sum", per_sample_weights=weights
            ),
            dim=1,
        )


@torch.no_grad()
def mean_of_targets(
    texts: Texts, targets: Tensor, meanings: NDArray[np.int64], pieces: int
) -> Tensor:
    """For each piece the mean teacher vector of the texts that have it, less what all have in common, at unit length.

    Where a piece can start: short texts say more about it than long ones, so a text's vector is shared out.
    """
    sums = torch.zeros(pieces, targets.shape[1])
    common = targets[:200_000].float().mean(0)
    for first in range(0, len(meanings), 50_000):
        rows = np.arange(first, min(first + 50_000, len(meanings)))
        lengths = torch.from_numpy(texts.starts[rows + 1] - texts.starts[rows])
        vectors = (targets[torch.from_numpy(meanings[rows])].float() - common) / lengths.clamp(
            min=1
        )[:, None]
        ids = torch.from_numpy(
            texts.ids[texts.starts[rows[0]] : texts.starts[rows[-1] + 1]].astype(np.int64)
        )
        sums.index_add_(0, ids, vectors.repeat_interleave(lengths, dim=0))
    return functional.normalize(sums, dim=1)


@torch.no_grad()
def remove_common(student: Student, counts: NDArray[np.float64], directions: int = 2) -> None:
    """Take out of every row, in place, what all frequent pieces share: it says nothing about a text (Arora et al.)."""
    shares = torch.from_numpy(counts / counts.sum()).float() * student.log_weight.exp()
    weighted = student.rows * shares.sqrt()[:, None]
    _, found = torch.linalg.eigh(weighted.T @ weighted)
    common = found[:, -directions:]
    student.rows -= (student.rows @ common) @ common.T


@torch.no_grad()
def blend(
    student: Student, places: Mapping[str, int], anchors: Mapping[str, Tensor], share: float
) -> Tensor:
    """The table's vectors, those of the anchored pieces brought back towards their anchors: half-way forgets least."""
    vectors = student.vectors()
    known = [piece for piece in anchors if piece in places]
    rows = torch.tensor([places[piece] for piece in known])
    vectors[rows] += share * (torch.stack([anchors[piece] for piece in known]) - vectors[rows])
    return vectors


def losses(
    student: Student, texts: Texts, targets: Tensor, meanings: NDArray[np.int64], batch: Batch
) -> Tensor:
    """Distance to the teacher, disagreement about neighbours, mistaken partners, mistaken translations: four means."""
    pairs = len(batch.pairs)
    rows = np.concatenate([batch.pairs[:, 0], batch.pairs[:, 1], batch.singles, batch.foreign])
    origins = meanings[batch.foreign]
    vectors = student(*texts.pick(np.concatenate([rows, origins])))
    aims = targets[torch.from_numpy(meanings[np.concatenate([rows, origins])])].float()
    distance = 1 - (vectors * aims).sum(1).mean()
    compared = np.random.default_rng(int(rows[0])).permutation(len(rows))[:MOST_COMPARED]
    disagreement = _disagreement(vectors[compared], aims[compared])
    mistaken = _mistaken(vectors[:pairs], vectors[pairs : 2 * pairs], np.arange(pairs))
    if not len(origins):
        return torch.stack([distance, disagreement, mistaken, torch.zeros(())])
    translated = _mistaken(
        vectors[len(rows) - len(origins) : len(rows)], vectors[len(rows) :], origins
    )
    return torch.stack([distance, disagreement, mistaken, translated])


def total(parts: Tensor) -> Tensor:
    """The four losses weighed into the one that is brought down."""
    return parts[0] + AGREEMENT * parts[1] + CONTRAST * parts[2] + TRANSLATION * parts[3]


def _disagreement(vectors: Tensor, targets: Tensor) -> Tensor:
    """Kullback-Leibler distance of the student's from the teacher's softmax over the other texts of the batch."""
    diagonal = torch.eye(len(vectors), dtype=torch.bool)
    ours = (vectors @ vectors.T / TEMPERATURE).masked_fill(diagonal, -1e4).log_softmax(1)
    theirs = (targets @ targets.T / TEMPERATURE).masked_fill(diagonal, -1e4).log_softmax(1)
    return functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def _mistaken(left: Tensor, right: Tensor, meanings: NDArray[np.int64]) -> Tensor:
    """Symmetric in-batch contrast: each text should be nearer to its partner than to texts of other meanings."""
    own = torch.arange(len(left))
    same = torch.from_numpy(meanings[:, None] == meanings[None, :]) & ~torch.eye(
        len(left), dtype=torch.bool
    )
    scores = (left @ right.T / TEMPERATURE).masked_fill(same, -1e4)
    return (functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)) / 2
