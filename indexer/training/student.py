"""The table that is trained: a row and a weight for each vocabulary entry, and the losses that shape them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

SIF = 1e-3
"""Smooth inverse frequency (Arora et al. 2017): a token of relative frequency f starts at SIF / (SIF + f)."""
TEMPERATURE = 0.05
AGREEMENT, CONTRAST = 0.3, 0.1
"""Shares of the two in-batch losses; the cosine to the teacher counts 1."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Token ids of many texts in one row, with the start of each."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    def pick(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """The ids of the chosen texts in one row and their offsets, as an embedding bag takes them."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        places = np.repeat(self.starts[rows] - offsets, lengths) + np.arange(lengths.sum())
        return torch.from_numpy(self.ids[places].astype(np.int64)), torch.from_numpy(offsets)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learned: texts, their teacher vectors `(n, teacher dim)`, and rows of texts that mean the same."""

    texts: Texts
    targets: Tensor
    pairs: NDArray[np.int64]
    singles: NDArray[np.int64]


class Student(nn.Module):
    """Vector of a text: the sum of `exp(log_weight) * row` over its tokens, at unit length."""

    def __init__(self, rows: Tensor, counts: NDArray[np.int64]) -> None:
        super().__init__()
        frequency = torch.from_numpy(counts / max(int(counts.sum()), 1)).float()
        self.rows = nn.Parameter(rows.clone())
        self.log_weight = nn.Parameter(torch.log(SIF / (SIF + frequency)))

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        """`(texts, dim)` unit vectors."""
        weights = self.log_weight.exp()[ids]
        return functional.normalize(
            functional.embedding_bag(ids, self.rows, offsets, mode="sum", per_sample_weights=weights), dim=1
        )


@torch.no_grad()
def remove_common(student: Student, counts: NDArray[np.int64], directions: int = 2) -> None:
    """Take out of every row, in place, what all frequent tokens share: it says nothing about a text (Arora et al.)."""
    units = functional.normalize(student.rows, dim=1)
    frequency = torch.from_numpy(counts / counts.sum()).float()
    common = torch.linalg.eigh((units * frequency[:, None]).T @ units)[1][:, -directions:]
    student.rows -= (student.rows @ common) @ common.T


def fit(student: Student, lesson: Lesson, directions: Tensor, passes: int, batch: int, rate: float, seed: int) -> None:
    """Train in place: Adam, a straight line from `rate` down to a fiftieth of it."""
    rng = np.random.default_rng(seed)
    parameters = [{"params": [student.rows]}, {"params": [student.log_weight], "lr": rate * 5}]
    optimiser = torch.optim.Adam(parameters, lr=rate, fused=True)
    steps = passes * (len(lesson.pairs) // batch)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.02, total_iters=steps)
    start, total = time.monotonic(), torch.zeros(3)
    for step, (pairs, singles) in enumerate(_batches(lesson, passes, batch, rng), 1):
        losses = _losses(student, lesson, directions, pairs, singles)
        optimiser.zero_grad()
        (losses[0] + AGREEMENT * losses[1] + CONTRAST * losses[2]).backward()
        optimiser.step()
        schedule.step()
        total += losses.detach()
        if step % max(steps // 20, 1) == 0:
            means = ", ".join(f"{x:.4f}" for x in (total / max(steps // 20, 1)).tolist())
            print(f"step {step:,} of {steps:,}, {time.monotonic() - start:.0f} s: {means}", flush=True)
            total.zero_()


def _batches(
    lesson: Lesson, passes: int, batch: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows of pairs `(batch, 2)` and a proportional share of the single texts, every one once a pass."""
    steps = len(lesson.pairs) // batch
    share = len(lesson.singles) // steps
    for _ in range(passes):
        pairs, singles = rng.permutation(len(lesson.pairs)), rng.permutation(len(lesson.singles))
        for step in range(steps):
            of_pairs = pairs[step * batch : (step + 1) * batch]
            of_singles = singles[step * share : (step + 1) * share]
            yield lesson.pairs[of_pairs], lesson.singles[of_singles]


def _losses(
    student: Student, lesson: Lesson, directions: Tensor, pairs: NDArray[np.int64], singles: NDArray[np.int64]
) -> Tensor:
    """Distance to the teacher, disagreement about neighbours, and mistaken partners: three means."""
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], singles])
    vectors = student(*lesson.texts.pick(rows))
    targets = lesson.targets[torch.from_numpy(rows)].float()
    distance = 1 - (vectors * functional.normalize(targets @ directions, dim=1)).sum(1).mean()
    disagreement = _disagreement(vectors, functional.normalize(targets, dim=1))
    mistaken = _mistaken(vectors[: len(pairs)], vectors[len(pairs) : 2 * len(pairs)])
    return torch.stack([distance, disagreement, mistaken])


def _disagreement(vectors: Tensor, targets: Tensor) -> Tensor:
    """Kullback-Leibler distance of the student's from the teacher's softmax over the other texts of the batch."""
    diagonal = torch.eye(len(vectors), dtype=torch.bool)
    ours = (vectors @ vectors.T / TEMPERATURE).masked_fill(diagonal, -1e4).log_softmax(1)
    theirs = (targets @ targets.T / TEMPERATURE).masked_fill(diagonal, -1e4).log_softmax(1)
    return functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def _mistaken(left: Tensor, right: Tensor) -> Tensor:
    """Symmetric in-batch contrast: each text should be nearer to its partner than to the partners of others."""
    scores = left @ right.T / TEMPERATURE
    own = torch.arange(len(left))
    return (functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)) / 2
