"""Catalogues of any size out of real skills, the same every time: what a large index is measured on.

python tools/bench/catalogue.py ../shared/corpora/skills 10000 /tmp/catalogue          one folder a skill
python tools/bench/catalogue.py ../shared/corpora/skills 100000 /tmp/catalogue --lines  one capabilities.jsonl

A skill of the catalogue has a name of two names, a description of two descriptions' sentences, and a body of one to
six paragraphs, each from another skill: words, lengths and the spread of topics are those of real texts.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*\n(.*)\Z", re.DOTALL)
_BYTES_A_FILE = 8_000_000  # of lines; a catalogue file may not be larger than its format allows
_PHRASES = 3


@dataclass(frozen=True, slots=True)
class Texts:
    """What real skills are made of: names, sentences of descriptions, paragraphs of bodies."""

    names: Sequence[str]
    sentences: Sequence[str]
    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Made:
    """One capability that does not exist."""

    name: str
    description: str
    phrases: Sequence[str]
    body: str


def texts(corpus: Path) -> Texts:
    """Everything in the SKILL.md files below the folder, each once."""
    names, sentences, paragraphs = [], [], []
    for path in sorted(corpus.rglob("SKILL.md")):
        if found := _FRONT.match(path.read_text(encoding="utf-8", errors="replace")):
            head, body = found.groups()
            names.append(
                re.sub(r"[^a-z0-9]+", "-", path.parent.name.lower()).strip("-") or "skill"
            )
            sentences += _SENTENCE.split(_described(head))
            paragraphs += [each for each in body.split("\n\n") if 60 < len(each) < 1_500]
    return Texts(_each(names), _each(s for s in sentences if len(s) > 25), _each(paragraphs))


def _described(head: str) -> str:
    found = re.search(r"^description:\s*(.*?)(?=^\S|\Z)", head, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].strip("\"'|>- \n").split()) if found else ""


def _each(values: Sequence[str] | Iterator[str]) -> list[str]:
    return list(dict.fromkeys(values))


def made(real: Texts, count: int, seed: int = 1) -> Iterator[Made]:
    """`count` capabilities, each with a name of its own."""
    rng = random.Random(seed)
    for number in range(count):
        name = f"{rng.choice(real.names)[:28]}-{rng.choice(real.names)[:20]}".strip("-")
        yield Made(
            name=re.sub("-+", "-", f"{name}-{number}"),
            description=" ".join(rng.choices(real.sentences, k=2))[:900],
            phrases=[rng.choice(real.sentences)[:160] for _ in range(_PHRASES)],
            body="\n\n".join(rng.choices(real.paragraphs, k=rng.randint(1, 6))),
        )


def write_folders(target: Path, catalogue: Iterator[Made]) -> None:
    """One SKILL.md a capability, a thousand of them in each folder."""
    for number, each in enumerate(catalogue):
        folder = target / f"part-{number // 1000:04d}" / each.name
        folder.mkdir(parents=True)
        head = f"---\nname: {each.name}\ndescription: {json.dumps(each.description, ensure_ascii=False)}\n---\n"
        (folder / "SKILL.md").write_text(f"{head}{each.body}\n", encoding="utf-8")


def write_lines(target: Path, catalogue: Iterator[Made]) -> None:
    """Files of many capabilities, one a line, with example requests: four vectors each."""
    target.mkdir(parents=True)
    lines: list[str] = []
    size = written = 0
    for each in catalogue:
        value = {
            "kind": "tool",
            "name": each.name,
            "description": each.description,
            "trigger_phrases": each.phrases,
        }
        line = json.dumps(value, ensure_ascii=False)
        if size + len(line.encode()) > _BYTES_A_FILE:
            _write(target, written, lines)
            lines, size, written = [], 0, written + 1
        lines.append(line)
        size += len(line.encode()) + 1
    _write(target, written, lines)


def _write(target: Path, number: int, lines: Sequence[str]) -> None:
    folder = target / f"part-{number:04d}"
    folder.mkdir()
    (folder / "capabilities.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(argv: Sequence[str]) -> int:
    """Write the catalogue."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("target", type=Path)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(argv)
    write = write_lines if asked.lines else write_folders
    write(asked.target, made(texts(asked.corpus), asked.count, asked.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
