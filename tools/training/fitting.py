"""The training loop: batches of every kind of text, Adam, and a rate that falls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from student import Batch, Student, Texts, losses, total
from torch import Tensor

WARM_UP, LOWEST = 50, 0.02


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learned: texts, targets `(English texts, dim)`, and which texts are of which kind.

    `meanings` is the row of each text's target; `pairs` and `singles` are English, `foreign` is not, and `twins` are
    texts in other languages whose neighbours say the opposite.
    """

    texts: Texts
    targets: Tensor
    meanings: NDArray[np.int64]
    pairs: NDArray[np.int64]
    singles: NDArray[np.int64]
    foreign: NDArray[np.int64]
    twins: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Texts of each kind in a batch."""

    pairs: int = 224
    singles: int = 128
    foreign: int = 896
    twins: int = 128


def fit(
    student: Student,
    lesson: Lesson,
    steps: int,
    rate: float,
    seed: int,
    sizes: Sizes | None = None,
) -> None:
    """Train in place: Adam, after a short start a straight line from `rate` down to a fiftieth of it."""
    parameters = [{"params": [student.rows]}, {"params": [student.log_weight], "lr": rate * 5}]
    optimiser = torch.optim.Adam(parameters, lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / WARM_UP, max(LOWEST, 1 - step / steps))
    )
    start, sums = time.monotonic(), torch.zeros(4)
    for step, batch in enumerate(
        batches(lesson, steps, sizes or Sizes(), np.random.default_rng(seed)), 1
    ):
        parts = losses(student, lesson.texts, lesson.targets, lesson.meanings, batch)
        optimiser.zero_grad()
        total(parts).backward()
        optimiser.step()
        schedule.step()
        sums += parts.detach()
        if step % 100 == 0:
            means = ", ".join(f"{x:.4f}" for x in (sums / 100).tolist())
            print(
                f"step {step:,} of {steps:,}, {time.monotonic() - start:.0f} s: {means}",
                flush=True,
            )
            sums.zero_()


def batches(lesson: Lesson, steps: int, sizes: Sizes, rng: np.random.Generator) -> Iterator[Batch]:
    """`steps` batches; the texts in other languages come in turn, the rest by chance."""
    foreign = _in_turn(lesson.foreign, sizes.foreign, rng)
    for _ in range(steps):
        first = (
            rng.integers(0, len(lesson.twins) // 2, sizes.twins // 2) * 2
            if len(lesson.twins)
            else np.zeros(0, int)
        )
        twins = lesson.twins[np.concatenate([first, first + 1])]
        yield Batch(
            lesson.pairs[rng.integers(0, len(lesson.pairs), sizes.pairs)],
            rng.choice(lesson.singles, sizes.singles),
            np.concatenate([next(foreign), twins]),
        )


def _in_turn(
    rows: NDArray[np.int64], count: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    while True:
        shuffled = rng.permutation(rows)
        if len(rows) < count:
            yield shuffled
        for first in range(0, len(rows) - count + 1, count):
            yield shuffled[first : first + count]
