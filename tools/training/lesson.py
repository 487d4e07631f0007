"""What a training run learns, made ready: texts cut into pieces, what each should come to, and where pieces start."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from commands import read_verbs
from export import Table
from fitting import Lesson
from numpy.typing import NDArray
from parallel import Pair
from safetensors.torch import load_file, save_file
from student import SIF, Student, Texts, mean_of_targets
from teacher import Teacher
from torch import Tensor
from torch.nn import functional
from vocabulary import encode, lookup_of

APART = 0.5
"""By this much of their difference the targets of opposites are moved apart: the teacher has them too close."""
FOREIGN_SHARE = 3.0
"""Weight of the other languages' counts, all together, against English."""


@dataclass(frozen=True, slots=True)
class Material:
    """All texts: English pairs (descriptions, then requests), other English, and parallel text."""

    descriptions: list[str]
    requests: list[str]
    others: list[str]
    parallel: list[Pair]

    @property
    def english(self) -> list[str]:
        """The English texts that the teacher reads, in the order of their targets."""
        return self.descriptions + self.requests + self.others

    @property
    def partners(self) -> list[str]:
        """The English side of the parallel text, each once."""
        return list(dict.fromkeys(pair.english for pair in self.parallel))


class Aims:
    """The teacher's and the reader's vectors brought into the table's space."""

    def __init__(self, directions: Tensor, common: Tensor | None, dim: int) -> None:
        self._directions, self._common, self._dim = directions, common, dim

    def of_teacher(self, vectors: Tensor) -> Tensor:
        """Unit vectors `(n, dim)` float16 for the teacher's."""
        return torch.cat(
            [self.of_reader(part.float() @ self._directions) for part in vectors.split(50_000)]
        )

    def of_reader(self, vectors: Tensor) -> Tensor:
        """The same for vectors along the directions: less what all texts have in common, cut to `dim`."""
        if self._common is not None:
            vectors = vectors - (vectors @ self._common) @ self._common.T
        return functional.normalize(vectors[:, : self._dim], dim=1).half()


def common_of(reader: Table, directions: int = 2) -> Tensor:
    """The directions that were taken out of every row of the reader, `(its dim, directions)`."""
    rows = torch.from_numpy(reader.vectors)
    return torch.linalg.eigh(rows.T @ rows)[1][:, :directions]


def make_lesson(pieces: Sequence[str], material: Material, targets: Tensor) -> Lesson:
    """Cut all texts; a text in another language has its partner's target. Texts without pieces are left out."""
    english, partners = material.english, material.partners
    texts = Texts(
        *encode(pieces, [*english, *partners, *(pair.text for pair in material.parallel)])
    )
    at = {text: number for number, text in enumerate(partners, len(english))}
    own = np.arange(len(english) + len(partners))
    meanings = np.concatenate(
        [own, np.array([at[pair.english] for pair in material.parallel], np.int64)]
    )
    count, first = len(material.descriptions), len(own)
    foreign = np.arange(first, len(meanings))
    filled = np.diff(texts.starts) > 0
    pairs = np.stack([np.arange(count), np.arange(count) + count], axis=1)
    singles = np.arange(2 * count, len(english))
    foreign = foreign[filled[foreign] & filled[meanings[foreign]]]
    return Lesson(
        texts, targets, meanings, pairs, singles, foreign, first + twins_of(material.parallel)
    )


def twins_of(parallel: Sequence[Pair]) -> NDArray[np.int64]:
    """Places of everyday commands that are followed by their opposite, and of those opposites."""
    verbs = read_verbs()
    found: list[int] = []
    for place, (one, other) in enumerate(pairwise(parallel)):
        follows = (
            one.source == other.source == "everyday"
            and _opposite(one.english, verbs) == other.english
        )
        if follows and (not found or found[-1] != place):
            found += [place, place + 1]
    return np.array(found, np.int64)


def move_opposites_apart(targets: Tensor, partners: Sequence[str], first: int) -> None:
    """Change, in place, the targets of everyday commands away from those of their opposites."""
    verbs = read_verbs()
    places = {text: place for place, text in enumerate(partners, first)}
    both = [(place, places.get(_opposite(text, verbs), -1)) for text, place in places.items()]
    rows = torch.tensor([pair for pair in both if pair[1] >= 0])
    if len(rows):
        own, others = targets[rows[:, 0]].float(), targets[rows[:, 1]].float()
        targets[rows[:, 0]] = functional.normalize(own + APART * (own - others), dim=1).half()


def make_student(
    lesson: Lesson, pieces: Sequence[str], known: Mapping[str, Tensor], english: int
) -> Student:
    """The table before training: what is known of a piece, else the mean of its texts' targets."""
    counts = counts_of(lesson, len(pieces), english)
    vectors = mean_of_targets(lesson.texts, lesson.targets, lesson.meanings, len(pieces))
    frequency = torch.from_numpy(counts / counts.sum()).float()
    vectors *= (SIF / (SIF + frequency))[:, None]
    places = lookup_of(pieces)
    rows = torch.tensor([places[piece] for piece in known if piece in places], dtype=torch.long)
    if len(rows):
        given = torch.stack([vector for piece, vector in known.items() if piece in places])
        vectors *= (given.norm(dim=1) / vectors[rows].norm(dim=1).clamp(min=1e-6)).median()
        vectors[rows] = given
    return Student(vectors)


def teacher_vectors(teacher: Teacher, texts: list[str], cache: Path | None) -> Tensor:
    """The teacher's vectors, read from the cache folder if these very texts were encoded before."""
    if cache is None:
        return teacher.encode(texts, "texts")
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    file = cache / f"{digest}.safetensors"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        save_file({"vectors": teacher.encode(texts, "texts")}, file)
    return load_file(file)["vectors"]


def _opposite(command: str, verbs: Mapping[str, Mapping[str, str]]) -> str:
    """The command with the opposite verb; empty if there is none.

    >>> _opposite("turn on the light", {"turn on": {"opposite": "turn off"}})
    'turn off the light'
    """
    for verb, row in verbs.items():
        if row["opposite"] and command.startswith(verb + " "):
            return row["opposite"] + command[len(verb) :]
    return ""


def counts_of(lesson: Lesson, pieces: int, english: int) -> NDArray[np.float64]:
    """How often each piece occurs, English and the other languages weighed against each other."""
    border = lesson.texts.starts[english]
    of_english = np.bincount(lesson.texts.ids[:border], minlength=pieces).astype(np.float64)
    of_others = np.bincount(lesson.texts.ids[border:], minlength=pieces).astype(np.float64)
    return of_english / max(of_english.sum(), 1) + FOREIGN_SHARE * of_others / max(
        of_others.sum(), 1
    )
