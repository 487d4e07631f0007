"""Train the static embedding model that capdisc ships.

First English, from lists of packages and a sentence-transformers teacher:

    python train_static.py --packages pypi.tsv npm.tsv --teacher all-MiniLM-L6-v2 --dim 256 --vocabulary 32000 --out R

then all languages, from parallel text (`gather.py`), with the English model reading what the teacher has no time for:

    python train_static.py --packages … --teacher … --pairs pairs.tsv --reader R --out MODEL

and, if wanted, again with `--start MODEL` and another `--seed`. A list is a tab-separated file whose first line names
the columns; `name` and `summary` are read. The teacher is a folder with a WordPiece `tokenizer.json`. The steps: clean
the summaries, write a request for each, let the teacher read both; choose the vocabulary; start each piece from what
is known of it or from the texts that have it; pull the vectors of texts to the teacher's, those of other languages to
their English partner's. Needs torch, sentence-transformers, tokenizers, safetensors; half an hour on two cores.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from commands import everyday_pairs
from corpus import Package, join_random, read_packages
from export import Table, read_model, write_model
from fitting import fit
from lesson import (
    Aims,
    Material,
    common_of,
    counts_of,
    make_lesson,
    make_student,
    move_opposites_apart,
    teacher_vectors,
)
from parallel import Pair, balanced_words, draw, read_pairs
from phrasing import Verbs, everyday, request
from student import blend, remove_common
from teacher import Teacher, principal_directions
from torch import Tensor
from vocabulary import build_vocabulary, lookup_of, spelling, whole_words

LAYOUTS = (
    "{name}: {summary}",
    "{name}: {summary}",
    "{words}. {summary}",
    "{summary}",
    "{summary} {words}",
)
COMMON = 12_000
"""The teacher's vocabulary is sorted by frequency: its first words are the common English ones."""


def main() -> None:
    """Read the arguments, train, write the model."""
    arguments = _arguments()
    gc.disable()  # millions of small objects that all stay: looking for cycles among them takes minutes
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    packages = read_packages(arguments.packages)
    teacher = Teacher(arguments.teacher)
    known = json.loads(teacher.tokenizer_file.read_text(encoding="utf-8"))["model"]["vocab"]
    common = {word for word in whole_words(known) if known[word] < COMMON}
    parallel = prepare_parallel(arguments, common)
    material = prepare(packages, whole_words(known), parallel, arguments)
    texts = [package.summary for package in packages] + material.partners
    pieces = build_vocabulary(
        teacher.tokenizer_file, texts, balanced_words(parallel, common), arguments.vocabulary
    )
    reader = read_model(arguments.reader) if arguments.reader else None
    write_model(arguments.out, pieces, *train(pieces, material, teacher, reader, arguments))


def train(
    pieces: list[str],
    material: Material,
    teacher: Teacher,
    reader: Table | None,
    arguments: argparse.Namespace,
) -> tuple[np.ndarray, np.ndarray]:
    """The trained rows and weights."""
    of_teacher = teacher_vectors(teacher, material.english, arguments.cache)
    directions = principal_directions(
        of_teacher, reader.vectors.shape[1] if reader else arguments.dim
    )
    aims = Aims(directions, common_of(reader) if reader else None, arguments.dim)
    targets = aims.of_teacher(of_teacher)
    if reader:
        targets = torch.cat([targets, partner_targets(material, teacher, reader, aims, arguments)])
        move_opposites_apart(targets, material.partners, len(material.english))
    lesson = make_lesson(pieces, material, targets)
    anchors = _of_reader(reader, arguments.dim) if reader else _of_teacher(teacher, pieces, aims)
    known = _of_model(read_model(arguments.start)) if arguments.start else {}
    student = make_student(lesson, pieces, anchors | known, len(material.english))
    fit(student, lesson, arguments.steps, arguments.rate, arguments.seed)
    if reader is None:
        remove_common(student, counts_of(lesson, len(pieces), len(material.english)))
        return student.rows.detach().numpy(), student.log_weight.detach().exp().numpy()
    vectors = blend(student, lookup_of(pieces), anchors, arguments.blend)
    return vectors.numpy(), np.ones(len(vectors), np.float32)


def partner_targets(
    material: Material, teacher: Teacher, reader: Table, aims: Aims, arguments: argparse.Namespace
) -> Tensor:
    """Targets of the parallel text's English side: the reader's, for those with most translations the teacher's."""
    partners = material.partners
    targets = aims.of_reader(torch.from_numpy(reader.encode(partners)))
    uses = Counter(pair.english for pair in material.parallel if pair.source != "everyday")
    often = [text for text, _ in uses.most_common(arguments.partners)]
    if often:
        places = {text: place for place, text in enumerate(partners)}
        targets[[places[text] for text in often]] = aims.of_teacher(
            teacher_vectors(teacher, often, arguments.cache)
        )
    return targets


def prepare_parallel(arguments: argparse.Namespace, common: set[str]) -> list[Pair]:
    """A balanced sample of the gathered pairs, and everyday commands made of their words."""
    if not arguments.pairs:
        return []
    pairs = read_pairs(arguments.pairs)
    drawn = draw(pairs, arguments.translations, np.random.default_rng(arguments.seed))
    return drawn + everyday_pairs(pairs, common, arguments.commands, random.Random(arguments.seed))


def prepare(
    packages: list[Package], words: list[str], parallel: list[Pair], arguments: argparse.Namespace
) -> Material:
    """A description and a request for a random sample of the packages, longer texts, and everyday sentences."""
    rng = random.Random(20)
    verbs = Verbs(package.summary for package in packages)
    chosen = rng.sample(packages, min(arguments.requests, len(packages)))
    requests = [request(package.summary, verbs, rng) for package in chosen]
    longer = join_random([package.summary for package in packages], arguments.longer // 2, rng)
    longer += join_random(requests, arguments.longer // 2, rng)
    descriptions = [_description(package, rng) for package in chosen]
    return Material(
        descriptions, requests, longer + everyday(words, arguments.everyday, rng), parallel
    )


def _description(package: Package, rng: random.Random) -> str:
    """The summary with the name before it, after it, or without it."""
    return rng.choice(LAYOUTS).format(
        name=package.name, words=package.words, summary=package.summary
    )


def _of_model(table: Table) -> dict[str, Tensor]:
    return dict(zip(table.lookup, torch.from_numpy(table.vectors), strict=True))


def _of_reader(reader: Table, dim: int) -> dict[str, Tensor]:
    """The reader's English pieces; its other letters are learned anew."""
    return {piece: vector[:dim] for piece, vector in _of_model(reader).items() if piece.isascii()}


def _of_teacher(teacher: Teacher, pieces: list[str], aims: Aims) -> dict[str, Tensor]:
    vectors = aims.of_teacher(
        teacher.encode([spelling(piece) for piece in pieces], "vocabulary")
    ).float()
    return dict(zip(pieces, vectors, strict=True))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--packages",
        type=Path,
        nargs="+",
        required=True,
        help="lists with name and summary columns",
    )
    parser.add_argument(
        "--teacher", type=Path, required=True, help="folder of a sentence-transformers model"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the model files")
    parser.add_argument(
        "--pairs", type=Path, nargs="*", help="parallel text, as gather.py writes it"
    )
    parser.add_argument(
        "--reader", type=Path, help="English model that reads the English side of the pairs"
    )
    parser.add_argument("--start", type=Path, help="model of an earlier run to go on from")
    parser.add_argument(
        "--cache", type=Path, help="folder that keeps the teacher's vectors for another run"
    )
    parser.add_argument("--dim", type=int, default=192, help="columns of the table")
    parser.add_argument(
        "--vocabulary", type=int, default=94_000, help="most pieces of the vocabulary"
    )
    parser.add_argument(
        "--requests",
        type=int,
        default=230_000,
        help="packages whose description and request are read",
    )
    parser.add_argument(
        "--longer", type=int, default=30_000, help="texts of two to four summaries or requests"
    )
    parser.add_argument(
        "--everyday", type=int, default=100_000, help="sentences of random vocabulary words"
    )
    parser.add_argument(
        "--translations", type=int, default=2_600_000, help="pairs that are learned"
    )
    parser.add_argument(
        "--partners",
        type=int,
        default=60_000,
        help="English sides of pairs that the teacher reads",
    )
    parser.add_argument(
        "--commands", type=int, default=3_500, help="everyday commands made in each language"
    )
    parser.add_argument("--steps", type=int, default=5_000, help="batches")
    parser.add_argument("--rate", type=float, default=2e-3, help="learning rate at the start")
    parser.add_argument(
        "--blend",
        type=float,
        default=0.5,
        help="share of the reader in the English pieces at the end",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
