"""Turns for `fit_gate.py`: requests in many languages, and what people say between requests.

Requests are those of the gathered training data, a sample of each source; names of its entries,
which people type as they are ("list open issues"); and verbs of `verbs.tsv` with nouns of
`gate_phrases.toml`. What is no request is composed of the phrases of that file:
alone, after a word like "well", before a second phrase, with the signs and letters that people
type. A few intents of the training data ("general_praise") are no requests either.

Phrases go into five folds, with all that is composed of them: a turn that the border is set by
has no phrase in common with one that weights are fitted to.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from commands import read_verbs

PHRASES = Path(__file__).with_name("gate_phrases.toml")
SEPARATOR = " | "
NO_CHATTER = ("call", "nouns", "verbs")
"""Parts of a language that are no turns by themselves."""
QUESTIONS = ("talk", "small")
UNSPACED = ("zh", "ja")
FOLDS = 5
COMPOSED = {"en": 2_600}
COMPOSED_ELSEWHERE = 550
COMMANDS = {"en": 1_500}
COMMANDS_ELSEWHERE = 160
"""Requests made of verbs and nouns in each language."""
NAMES = 400
"""Names of entries that are drawn from each source."""

# How many requests of a source are drawn, spread over its languages; 600 of any other.
MOST = {
    "banking77": 1_200,
    "botframework": 1_800,
    "hwu64_slurp": 2_500,
    "jupyter_i18n": 1_500,
    "ovos": 1_800,
    "sgd": 800,
    "skill_phrases": 2_182,
    "skill_triggers": 1_991,
    "xsid": 3_000,
}
MOST_OTHERS = 600
# Intents whose turns ask for nothing.
CHATTER_INTENTS = frozenset(
    f"general_{name}"
    for name in "affirm commandstop confirm dontcare explain greet negate praise repeat".split()
) | {f"skills/leon/{name}" for name in "good_bye greeting welcome".split()}
# Neither the one nor the other: an assistant may have a skill for them, and mostly has none.
UNCLEAR_INTENTS = frozenset(
    "general_quirky general_joke qa_factoid cooking_query music_likeness music_dislikeness "
    "bingsearchskill::QueryQna bingsearchskill::GetCelebrityInfo emailskill::AddMore "
    "calendarskill::CancelCalendar parrot personal naptime icanhazdadjokes".split()
)
_JOINTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")
MIN_MESSAGE_WORDS = 3
"""Messages of programs below this ("Cancel", "Next page") are what people say between requests."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a person; `group` is its source, or the language and meaning of its phrase."""

    text: str
    is_request: bool
    language: str
    group: str
    fold: int


def load_phrases(path: Path = PHRASES) -> dict[str, dict[str, list[str]]]:
    """The phrases by language and meaning."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        language: {name: text.split(SEPARATOR) for name, text in parts.items()}
        for language, parts in content.items()
    }


def fold_of(text: str) -> int:
    """The fold of a phrase, or of a request of the training data."""
    return zlib.crc32(text.lower().encode()) % FOLDS


def compose_chatter(seed: int) -> Iterator[Turn]:
    """Every phrase by itself, then compositions of each language."""
    for language, parts in load_phrases().items():
        phrases = [
            (name, phrase)
            for name, phrases in parts.items()
            if name not in NO_CHATTER
            for phrase in phrases
        ]
        for name, phrase in phrases:
            yield Turn(phrase, False, language, f"{language} {name}", fold_of(phrase))
        rng = random.Random(f"{seed} {language}")
        for fold in range(FOLDS):
            usable = [one for one in phrases if fold_of(one[1]) == fold]
            for _ in range(COMPOSED.get(language, COMPOSED_ELSEWHERE) // FOLDS):
                yield _compose(rng, language, usable, parts.get("call", []), fold)


def _compose(
    rng: random.Random,
    language: str,
    phrases: list[tuple[str, str]],
    calls: list[str],
    fold: int,
) -> Turn:
    name, phrase = rng.choice(phrases)
    comma, blank = (",", "") if language in UNSPACED else (", ", " ")
    text = phrase + _closing_sign(rng, name, language)
    if calls and rng.random() < 0.3:
        text = rng.choice(calls) + rng.choice((comma, comma, blank)) + text
    if rng.random() < 0.35:
        second_name, second = rng.choice(phrases)
        joint = "" if text[-1] in ".!?。!?" else rng.choice((comma, ".", ""))
        text = f"{text}{joint}{blank if joint != comma else ''}{second}"
        text += _closing_sign(rng, second_name, language)
    elif calls and rng.random() < 0.12:
        text = text.rstrip(".") + comma + rng.choice(calls)
    shape = rng.random()
    text = text[0].upper() + text[1:] if shape < 0.4 else text.upper() if shape < 0.42 else text
    return Turn(text, False, language, f"{language} {name}", fold)


def _closing_sign(rng: random.Random, name: str, language: str) -> str:
    if name in QUESTIONS and rng.random() < 0.65:
        return rng.choice("??") if language in UNSPACED else "?"
    if rng.random() < 0.45:
        return ""
    return (
        "。"
        if language in UNSPACED and rng.random() < 0.7
        else rng.choice((".", ".", "!", "...", "!!"))
    )


def make_commands(seed: int) -> Iterator[Turn]:
    """Requests of a verb and a noun in each language of the verb list."""
    verbs, languages = read_verbs(), load_phrases()
    for language, parts in languages.items():
        rng = random.Random(f"{seed} commands {language}")
        forms = [row[language] for row in verbs.values() if row.get(language)]
        forms += parts.get("verbs", [])
        if not forms:
            continue
        for _ in range(COMMANDS.get(language, COMMANDS_ELSEWHERE)):
            form = rng.choice(rng.choice(forms).split("/"))
            noun, blank = rng.choice(parts["nouns"]), "" if language in UNSPACED else " "
            call = rng.choice(parts.get("call", [""])) if rng.random() < 0.1 else ""
            text = f"{call}{blank}{form}{blank}{noun}".strip()
            yield Turn(text, True, language, "verbs", fold_of(text))


def load_names(folder: Path, seed: int) -> Iterator[Turn]:
    """Names of the training data's entries as words, where they have two to five."""
    for source in sorted(folder.glob("*/catalogue.jsonl")):
        entries = map(json.loads, source.read_text(encoding="utf-8").splitlines())
        names = {
            words_of_name(entry["name"])
            for entry in entries
            if not {entry["id"], entry["id"].split("::")[0]} & (UNCLEAR_INTENTS | CHATTER_INTENTS)
        }
        usable = sorted(name for name in names if 2 <= len(name.split()) <= 5)
        rng = random.Random(f"{seed} names {source.parent.name}")
        for name in rng.sample(usable, min(NAMES, len(usable))):
            yield Turn(name, True, "en", "names", fold_of(name))


def words_of_name(name: str) -> str:
    """The words of a name, in small letters.

    >>> words_of_name("getUserById")
    'get user by id'
    """
    return " ".join(_JOINTS.sub(" ", name).lower().split())


def load_requests(folder: Path, seed: int) -> Iterator[Turn]:
    """A sample of each source of the training data, and its turns that ask for nothing."""
    for source in sorted(path.parent for path in folder.glob("*/pairs.jsonl")):
        by_language: dict[str, list[Turn]] = defaultdict(list)
        for turn in _read_turns(source):
            by_language[turn.language if turn.is_request else "no request"].append(turn)
        rng, most = random.Random(f"{seed} {source.name}"), MOST.get(source.name, MOST_OTHERS)
        for turns in by_language.values():
            share = max(most // len(by_language), 20) if turns[0].is_request else most
            yield from rng.sample(turns, min(share, len(turns)))


def _read_turns(source: Path) -> Iterator[Turn]:
    for pair in read_pairs(source):
        intents = set(pair.ids)
        if (
            intents & UNCLEAR_INTENTS
            or {name.split("::")[0] for name in intents} & UNCLEAR_INTENTS
        ):
            continue
        if source.name == "jupyter_i18n" and len(pair.query.split()) < MIN_MESSAGE_WORDS:
            continue
        is_request = not intents & CHATTER_INTENTS
        yield Turn(pair.query, is_request, pair.language, source.name, fold_of(pair.query))


@dataclass(frozen=True, slots=True)
class Pair:
    """A request of one source, and the entries of its catalogue that answer it."""

    query: str
    ids: tuple[str, ...]
    language: str


def read_pairs(source: Path) -> list[Pair]:
    """The pairs of one source; what has no language is English."""
    lines = (source / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Pair(pair["query"], tuple(pair["ids"]), pair.get("language") or "en")
        for pair in map(json.loads, lines)
    ]


def all_turns(folder: Path, seed: int) -> list[Turn]:
    """All of it, every text once."""
    sources: tuple[Iterable[Turn], ...] = (
        compose_chatter(seed),
        load_requests(folder, seed),
        make_commands(seed),
        load_names(folder, seed),
    )
    unique: dict[str, Turn] = {}
    for source in sources:
        for turn in source:
            unique.setdefault(turn.text.lower(), turn)
    return list(unique.values())
