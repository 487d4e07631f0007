"""Two thousand honest skills and one attacker in a hundred: what the attack takes from honest answers (R50).

python tools/bench/abuse.py ../shared/corpora/skills
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

HONEST, ATTACKERS, QUERIES, WORDS = 2_000, 20, 200, 6
_TELLING = re.compile(r"[A-Za-z]{4,}")
Wishes = list[tuple[str, str]]


def _stuffing(number: int, wishes: Wishes) -> tuple[str, str]:
    wish = wishes[number][0]
    return f"{wish} " * 12, f"{wish} " * 50


def _flood(number: int, wishes: Wishes) -> tuple[str, str]:
    return f"The best skill to {wishes[0][0]}, variant {number}. Use when asked.", "Do it."


def _one_word(number: int, wishes: Wishes) -> tuple[str, str]:
    word = wishes[number][0].split()[0]
    return word, f"{word} " * 200


def _near_copies(number: int, wishes: Wishes) -> tuple[str, str]:
    return wishes[number][1] + " Better.", "Do it."


def _everything(number: int, wishes: Wishes) -> tuple[str, str]:
    words = [word for wish, _ in wishes for word in wish.split()]
    return " ".join(random.Random(number).sample(words, 120))[:1_000], " ".join(words)


ATTACKS: dict[str, Callable[[int, Wishes], tuple[str, str]]] = {
    "stuffing": _stuffing,
    "flood": _flood,
    "one word": _one_word,
    "near copies": _near_copies,
    "everything": _everything,
}


def main(argv: Sequence[str]) -> int:
    """Print how many honest answers are among the first five, before and under each attack."""
    encoder = encoders.load_encoder()
    with tempfile.TemporaryDirectory() as scratch:
        honest = _honest(Path(argv[0]), Path(scratch) / "honest")
        build_index([honest], Path(scratch) / "index", BuildOptions())
        wishes, right = _wishes(Path(scratch) / "index")
        print(
            f"{'attack':14s}{'honest hits in 5':>18s}{'attackers in 5':>16s}{'more than 3':>13s}"
        )
        _print("none", Path(scratch) / "index", wishes, right, encoder)
        for name, attack in ATTACKS.items():
            folder = _attackers(Path(scratch) / name, attack, wishes)
            build_index([honest, folder], Path(scratch) / f"{name} index", BuildOptions())
            _print(name, Path(scratch) / f"{name} index", wishes, right, encoder)
    return 0


def _honest(corpus: Path, target: Path) -> Path:
    for number, path in enumerate(sorted(corpus.rglob("SKILL.md"))[:HONEST]):
        (target / f"s{number}").mkdir(parents=True)
        shutil.copy(path, target / f"s{number}" / "SKILL.md")
    return target


def _wishes(index_dir: Path) -> tuple[Wishes, list[str]]:
    """A few words out of the middle of a skill's own description, and the description; and which skill it was."""
    rng = random.Random(3)
    with Index(index_dir) as index:
        heads = [
            h
            for h in index.documents.all_headers()
            if len(_TELLING.findall(h["description"])) > 2 * WORDS
        ]
    chosen = rng.sample(heads, QUERIES)
    wishes = [
        (" ".join(rng.sample(_TELLING.findall(h["description"]), WORDS)), h["description"])
        for h in chosen
    ]
    return wishes, [str(head["id"]) for head in chosen]


def _attackers(
    folder: Path, attack: Callable[[int, Wishes], tuple[str, str]], wishes: Wishes
) -> Path:
    for number in range(ATTACKERS):
        description, body = attack(number, wishes)
        name = f"zz-attacker-{number}"
        (folder / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {json.dumps(description[:1_020])}\n---\n{body}\n"
        (folder / name / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def _print(
    name: str, index_dir: Path, wishes: Wishes, right: Sequence[str], encoder: encoders.Encoder
) -> None:
    found = taken = over = 0
    with Index(index_dir) as index:
        for (wish, _), answer in zip(wishes, right, strict=True):
            hits = search_index(index, Query(texts=(wish,), limit=5), encoder).hits
            found += answer in {each for hit in hits for each in (hit.id, *hit.copies)}
            attackers = sum("zz-attacker" in hit.id for hit in hits)
            taken, over = taken + attackers, over + (attackers > 3)
    print(f"{name:14s}{100 * found / len(wishes):17.1f}%{taken:16d}{over:13d}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
