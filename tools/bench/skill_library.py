"""A library of any number of SKILL.md files, recombined from real ones, the same for the same seed.

python tools/bench/skill_library.py ../shared/corpora/skills 80000 /tmp/library
python tools/bench/skill_library.py fixtures 500 /tmp/library --seed 7
python tools/bench/skill_library.py ../shared/corpora/skills 1000000 /tmp/library --body-tokens 200

A body is made of whole sections of several skills, up to the length of a real body; so size, links, comments, code and
hidden characters of a library are those of real collections. Names repeat as they do there, some files are copies,
and some are broken in the ways that real ones are.

With --body-tokens a body is made of single paragraphs, up to about that length; so a million skills fit on a disk.
They lie in groups of owners then, and no folder has more than some hundred entries.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FRONTMATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n(.*)\Z", re.DOTALL)
_DESCRIPTION = re.compile(r"^description:\s*(.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_MAX_DESCRIPTION = 900  # characters
_SKILLS_A_REPOSITORY = 40
_MAX_SECTIONS = 24
_OWNERS_A_GROUP = 200
_CHARACTERS_A_TOKEN = 4

# Of 84,231 published skills, 37 in 100 had the name of an earlier one, 5 were copies of it, and 0.75 were refused.
_SHARE_OF_REPEATED_NAMES = 0.37
_SHARE_OF_COPIES = 0.05
_SHARE_OF_BROKEN = 0.0075
# 77 in 100 lay in a folder of another name, and 73 had a comment that no reader sees.
_SHARE_OF_OTHER_FOLDERS = 0.77
_SHARE_OF_COMMENTS = 0.73
# How often a field beside name and description stands in 2,040 skills, with a value of its usual kind.
_FIELDS: Mapping[str, tuple[float, Sequence[str]]] = {
    "license": (0.21, ("MIT", "Apache-2.0", "Complete terms in LICENSE.txt")),
    "metadata": (
        0.21,
        ("\n  version: 1.0\n  author: a team", '\n  short-description: "Does one thing well"'),
    ),
    "source": (0.11, ("community", "self")),
    "author": (0.08, ("someone", "a team")),
    "allowed-tools": (0.08, ("Read, Grep, Glob", "Bash(git:*) Read", "\n  - Read\n  - Write")),
    "version": (0.08, ("1.0.0", "2.1")),
    "tags": (0.06, ("[data, reports]", "\n  - testing\n  - review")),
    "risk": (0.05, ("unknown", "low")),
    "user-invocable": (0.01, ("true", "false")),
}
# Slips of the pen that readers repair, and the share of files that have each.
_SLIPS: Sequence[tuple[float, str, str]] = (
    (0.04, "description: ", "description: Use when: "),
    (0.02, "\nlicense: ", "\nLicense: "),
    (0.02, "---\nname: ", "\ufeff---\nname: "),
    (0.02, "\n", "\r\n"),
)


@dataclass(frozen=True, slots=True)
class Material:
    """What real skills are made of: names, sentences of descriptions, openings and sections of bodies, how many
    characters their bodies have, and how few and many sentences a description has."""

    names: Sequence[str]
    sentences: Sequence[str]
    openings: Sequence[str]
    sections: Sequence[str]
    lengths: Sequence[int]
    sentence_counts: tuple[int, int] = (1, 4)
    is_grouped: bool = False


@dataclass(frozen=True, slots=True)
class GeneratedSkill:
    """The folder of one file below the library, and the bytes of its SKILL.md."""

    folder: str
    data: bytes


def read_material(corpus: Path) -> Material:
    """Names, sentences and sections of all SKILL.md files below the folder, each once, in the order of their paths."""
    names, sentences, openings, sections, lengths = [], [], [], [], []
    for path in sorted(corpus.rglob("SKILL.md")):
        match = _FRONTMATTER.match(
            path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        )
        if match is None:
            continue
        frontmatter, body = match.groups()
        names.append(re.sub(r"[^a-z0-9]+", "-", path.parent.name.lower()).strip("-") or "skill")
        sentences += _sentences_of(frontmatter)
        opening, *rest = _SECTION.split(body)
        openings.append(opening)
        sections += rest
        lengths.append(len(body))
    if not names:
        raise SystemExit(f"{corpus} holds no SKILL.md")
    return Material(*map(_without_repeats, (names, sentences, openings, sections)), lengths)


def shorten_bodies(material: Material, tokens: int) -> Material:
    """The same material for bodies of about so many tokens (three to five quarters of them), made of paragraphs.

    A description has two sentences at least: a million of one sentence would be copies of each other.
    """
    least, most = (quarters * tokens * _CHARACTERS_A_TOKEN // 4 for quarters in (3, 5))
    return replace(
        material,
        openings=_paragraphs_of(material.openings, most),
        sections=_paragraphs_of(material.sections, most),
        lengths=range(least, most),
        sentence_counts=(2, 4),
        is_grouped=True,
    )


def _paragraphs_of(texts: Sequence[str], most: int) -> list[str]:
    """The paragraphs that are short enough, each once and with an empty line behind it; none that opens a fence and
    leaves it open."""
    paragraphs = (part.strip("\n") for text in texts for part in text.split("\n\n"))
    whole = (part for part in paragraphs if len(part) < most and part.count("```") % 2 == 0)
    return [f"{part}\n" for part in _without_repeats(list(whole))]


def _sentences_of(frontmatter: str) -> list[str]:
    match = _DESCRIPTION.search(frontmatter)
    text = " ".join(match[1].strip("\"'|>- \n").split()) if match else ""
    return [sentence for sentence in _SENTENCE.split(text) if len(sentence) > 20]


def _without_repeats(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value.strip()))


def generate_skills(material: Material, seed: int = 1) -> Iterator[GeneratedSkill]:
    """Skills without end, each in a folder of its own; the first n are the same however many are taken."""
    choices = random.Random(seed)
    earlier: list[bytes] = []
    labels: set[str] = set()
    number = 0
    while True:
        name = _name(material, choices, number)
        repository, place = divmod(number, _SKILLS_A_REPOSITORY)
        label = f"skill-{number}" if choices.random() < _SHARE_OF_OTHER_FOLDERS else name
        folder = f"owner-{repository:05d}/skills/{place:02d}/{label}"
        if material.is_grouped:
            labels = labels if place else set()
            label = f"skill-{number}" if label in labels else label
            labels.add(label)
            group = repository // _OWNERS_A_GROUP
            folder = f"group-{group:03d}/owner-{repository:05d}/skills/{label}"
        chance = choices.random()
        if earlier and chance < _SHARE_OF_COPIES:
            data = choices.choice(earlier)
        elif chance < _SHARE_OF_COPIES + _SHARE_OF_BROKEN:
            data = choices.choice(_BREAKS)(_skill(material, choices, name).encode())
        else:
            data = _skill(material, choices, name).encode()
            earlier = [
                *earlier[-99:],
                data,
            ]  # a copy is of one of the last hundred, so that memory stays small
        yield GeneratedSkill(folder, data)
        number += 1


def _name(material: Material, choices: random.Random, number: int) -> str:
    first = choices.choice(material.names)
    if choices.random() < _SHARE_OF_REPEATED_NAMES:
        return first[:64]
    return re.sub("-+", "-", f"{first[:28]}-{choices.choice(material.names)[:20]}-{number}")


def _skill(material: Material, choices: random.Random, name: str) -> str:
    count = choices.randint(*material.sentence_counts)
    sentences = choices.choices(material.sentences, k=count)
    lines = [
        f"name: {name}",
        f"description: {_description(choices, ' '.join(sentences)[:_MAX_DESCRIPTION])}",
    ]
    lines += [
        f"{field}: {choices.choice(values)}"
        for field, (share, values) in _FIELDS.items()
        if choices.random() < share
    ]
    comment = (
        ["<!-- Collected from a public repository. -->"]
        if choices.random() < _SHARE_OF_COMMENTS
        else []
    )
    text = "\n".join(["---", *lines, "---", *comment, _body(material, choices)])
    for share, right, wrong in _SLIPS:
        text = text.replace(right, wrong) if choices.random() < share else text
    return text


def _description(choices: random.Random, text: str) -> str:
    """The text in one of the styles that authors use: quoted, folded, as a block, or plain."""
    style = choices.random()
    if style < 0.35 or ": " in text or " #" in text or text[0] in "\"'[{&*!|>%@`-?":
        return json.dumps(text, ensure_ascii=False)
    return f"{'>-' if style < 0.42 else '|'}\n  {text}" if style < 0.45 else text


def _body(material: Material, choices: random.Random) -> str:
    """An opening and sections up to the length of some real body; a section that is too long for the rest is passed
    over, and after a few of those the body ends."""
    room = choices.choice(material.lengths)
    parts: list[str] = []
    for sections in (material.openings, *repeat(material.sections, _MAX_SECTIONS)):
        section = choices.choice(sections) if sections else ""
        if len(section) <= room:
            parts.append(section)
            room -= len(section)
    return "\n".join(parts)


# Files that nobody can use, as collections have them.
_BREAKS: Sequence[Callable[[bytes], bytes]] = (
    lambda data: b"",
    lambda data: data.removeprefix(b"---\n"),
    lambda data: data.replace(b"\n---\n", b"\n", 1),
    lambda data: data.replace(b"\ndescription: ", b"\nsummary: ", 1),
    lambda data: data.replace(b"name: ", b"name: [", 1),
    lambda data: data.decode().encode("utf-16"),
    lambda data: data.replace(b"\n", b"\n\x00\x01\x02", 4),
)


def write_library(target: Path, skills: Iterator[GeneratedSkill]) -> None:
    """One SKILL.md for each skill, below a folder for each repository."""
    for skill in skills:
        folder = target / skill.folder
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_bytes(skill.data)


def main(argv: Sequence[str]) -> int:
    """Write the library."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "corpus",
        type=Path,
        help="a folder of SKILL.md files; fixtures are used where there is none",
    )
    parser.add_argument("count", type=int)
    parser.add_argument("target", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--body-tokens", type=int, help="the length of bodies, about")
    options = parser.parse_args(argv)
    corpus = options.corpus if options.corpus.is_dir() else FIXTURES
    material = read_material(corpus)
    if options.body_tokens:
        material = shorten_bodies(material, options.body_tokens)
    write_library(options.target, islice(generate_skills(material, options.seed), options.count))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
