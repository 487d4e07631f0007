"""Train the static embedding model that capdisc ships, from lists of packages and a sentence-transformers teacher.

    python train_static.py --packages pypi.tsv npm.tsv --teacher all-MiniLM-L6-v2 --out DIR

A list is a tab-separated file whose first line names the columns; `name` and `summary` are read. The teacher is a
sentence-transformers folder with a WordPiece `tokenizer.json`. The steps: clean the summaries, write a request for
each, let the teacher read a sample of both, some longer texts and sentences of random words, start every row of the
table from the teacher's vector of that vocabulary entry, then pull the table's sentence vectors to the teacher's.
Needs torch, sentence-transformers, tokenizers, safetensors; takes about twenty minutes on two cores, most of it the
teacher's.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from corpus import Package, join_random, read_packages
from export import write_model
from phrasing import Verbs, everyday, request
from safetensors.torch import load_file, save_file
from student import Lesson, Student, Texts, fit, remove_common
from teacher import Teacher, principal_directions
from tokenizers import Tokenizer
from torch import Tensor
from vocabulary import UNKNOWN, build_tokenizer, count_tokens, encode, spelling, whole_words

LAYOUTS = ("{name}: {summary}", "{name}: {summary}", "{words}. {summary}", "{summary}", "{summary} {words}")


@dataclass(frozen=True, slots=True)
class Material:
    """The texts of one training: descriptions and requests pair up, the others stand alone."""

    descriptions: list[str]
    requests: list[str]
    longer: list[str]
    everyday: list[str]

    @property
    def groups(self) -> tuple[list[str], ...]:
        """The four lists; descriptions and requests are in the same order."""
        return self.descriptions, self.requests, self.longer, self.everyday

    @property
    def all(self) -> list[str]:
        """Every text, group after group."""
        return [text for group in self.groups for text in group]


def main() -> None:
    """Read the arguments, train, write the model."""
    arguments = _arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    packages = read_packages(arguments.packages)
    print(f"{len(packages):,} informative packages", flush=True)
    summaries = [package.summary for package in packages]
    teacher = Teacher(arguments.teacher)
    tokenizer = build_tokenizer(teacher.tokenizer_file, summaries, arguments.vocabulary)
    material = prepare(packages, whole_words(tokenizer), arguments)
    student, lesson, directions = prepare_student(teacher, tokenizer, material, arguments)
    if arguments.passes:
        fit(student, lesson, directions, arguments.passes, arguments.batch, arguments.rate, arguments.seed)
    remove_common(student, count_tokens(tokenizer, material.all))
    save(arguments.out, tokenizer, student)


def prepare(packages: list[Package], words: list[str], arguments: argparse.Namespace) -> Material:
    """A description and a request for a random sample of the packages, longer texts, and everyday sentences."""
    rng = random.Random(arguments.seed)
    verbs = Verbs(package.summary for package in packages)
    chosen = rng.sample(packages, min(arguments.pairs, len(packages)))
    requests = [request(package.summary, verbs, rng) for package in chosen]
    longer = join_random([package.summary for package in packages], arguments.longer // 2, rng)
    longer += join_random(requests, arguments.longer // 2, rng)
    descriptions = [_description(package, rng) for package in chosen]
    return Material(descriptions, requests, longer, everyday(words, arguments.everyday, rng))


def prepare_student(
    teacher: Teacher, tokenizer: Tokenizer, material: Material, arguments: argparse.Namespace
) -> tuple[Student, Lesson, Tensor]:
    """The untrained table, what it shall learn, and the directions that the teacher is projected on."""
    spellings = [spelling(entry) for entry in _entries(tokenizer)]
    of_entries = teacher.encode(spellings, "vocabulary")
    targets = torch.cat([_teacher_vectors(teacher, group, arguments.cache) for group in material.groups])
    directions = principal_directions(targets, arguments.dim)
    counts = count_tokens(tokenizer, material.all)
    count = len(material.descriptions)
    pairs = np.stack([np.arange(count), np.arange(count) + count], axis=1)
    lesson = Lesson(Texts(*encode(tokenizer, material.all)), targets, pairs, np.arange(2 * count, len(targets)))
    return Student(of_entries.float() @ directions, counts), lesson, directions


def save(out: Path, tokenizer: Tokenizer, student: Student) -> None:
    """Write the model files; the unknown token gets no weight."""
    weights = student.log_weight.detach().exp().numpy()
    weights[tokenizer.token_to_id(UNKNOWN)] = 0.0
    write_model(out, tokenizer, student.rows.detach().numpy(), weights)


def _description(package: Package, rng: random.Random) -> str:
    """The summary with the name before it, after it, or without it."""
    return rng.choice(LAYOUTS).format(name=package.name, words=package.words, summary=package.summary)


def _entries(tokenizer: Tokenizer) -> list[str]:
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _teacher_vectors(teacher: Teacher, texts: list[str], cache: Path | None) -> Tensor:
    """The teacher's vectors, read from the cache folder if these very texts were encoded before."""
    if cache is None:
        return teacher.encode(texts, "texts")
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    file = cache / f"{digest}.safetensors"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        save_file({"vectors": teacher.encode(texts, "texts")}, file)
    return load_file(file)["vectors"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, nargs="+", required=True, help="lists with name and summary columns")
    parser.add_argument("--teacher", type=Path, required=True, help="folder of a sentence-transformers model")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model files")
    parser.add_argument("--cache", type=Path, help="folder that keeps the teacher's vectors for another run")
    parser.add_argument("--dim", type=int, default=256, help="columns of the table")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="most entries of the vocabulary")
    parser.add_argument("--pairs", type=int, default=230_000, help="packages whose description and request are read")
    parser.add_argument("--longer", type=int, default=30_000, help="texts of two to four summaries or requests")
    parser.add_argument("--everyday", type=int, default=100_000, help="sentences of random vocabulary words")
    parser.add_argument("--passes", type=int, default=5, help="0 writes the distilled table untrained")
    parser.add_argument("--batch", type=int, default=512, help="pairs in a batch")
    parser.add_argument("--rate", type=float, default=2e-3, help="learning rate at the start")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
