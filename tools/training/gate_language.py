"""Turns for `fit_gate.py` that are composed: talk, commands, and talk with a request after it.

`gate_phrases.toml`, `gate_sentences.toml` and `gate_turns.toml` hold what people say, by language and by what they
mean with it. Talk is composed of it: alone, after a word like "well", before a second phrase, about
a thing, with the signs, letters and slips that people type. Commands are a verb and a noun, bare
or in a polite frame.

Phrases go into five folds, with all that is composed of them: a turn that the border is set by
has no phrase in common with one that weights are fitted to.
"""

from __future__ import annotations

import random
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from commands import read_verbs

FILES = tuple(
    Path(__file__).with_name(f"gate_{name}.toml") for name in ("phrases", "sentences", "turns")
)
SEPARATOR = " | "
NO_CHATTER = (
    "call", "nouns", "verbs", "objects", "things", "asks", "polite", "join", "places", "queries",
    "days", "people", "likes", "deeds",
)  # fmt: skip
"""Parts of a language that are no turns of talk."""
QUESTIONS = ("talk", "small", "trivia")
UNSPACED = ("zh", "ja")
VERB_LAST = ("ja", "ko", "tr")
FOLDS = 5

# How many turns are composed in each language.
COMPOSED, COMMANDS, MIXED = (
    {"en": 6_000},
    {"en": 2_500},
    {"en": 1_500},
)
MAIN_LANGUAGES = ("de", "fr", "es", "pt", "it", "zh", "ja")
COMPOSED |= dict.fromkeys(MAIN_LANGUAGES, 3_400)
COMMANDS |= dict.fromkeys(MAIN_LANGUAGES, 2_200)
MIXED |= dict.fromkeys(MAIN_LANGUAGES, 1_000)
COMPOSED_ELSEWHERE, COMMANDS_ELSEWHERE, MIXED_ELSEWHERE = 700, 400, 120
ABOUT = 0.25
"""The share of composed talk with a thing, a day or a person in it."""
QUERIES = 12
"""Requests made of each question that a tool answers."""
ASKS = 4
"""Requests made of each whole one, beside itself."""
SLIPS = 0.06
"""The share of turns with a typing error."""
POINTERS = 900
"""Turns that only point at something, or hold no words: a file's name, a number, signs."""

SLOTS = {
    "{day}": "days",
    "{person}": "people",
    "{like}": "likes",
    "{place}": "places",
    "{deed}": "deeds",
}
Parts = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a person; `group` is its source, or the language and meaning of its phrase."""

    text: str
    is_request: bool
    language: str
    group: str
    fold: int


@cache
def load_phrases() -> dict[str, Parts]:
    """The phrases of all files by language and meaning."""
    merged: dict[str, Parts] = {}
    for path in FILES:
        for language, parts in tomllib.loads(path.read_text(encoding="utf-8")).items():
            known = merged.setdefault(language, {})
            for name, text in parts.items():
                known[name] = known.get(name, []) + text.split(SEPARATOR)
    return merged


def fold_of(text: str) -> int:
    """The fold of a phrase, or of a request of the training data."""
    return zlib.crc32(text.lower().encode()) % FOLDS


# Talk.


def compose_chatter(seed: int) -> Iterator[Turn]:
    """Every phrase by itself, then compositions of each language, and what has no language."""
    for language, parts in load_phrases().items():
        phrases = [
            (name, phrase)
            for name, phrases in parts.items()
            if name not in NO_CHATTER
            for phrase in phrases
        ]
        for name, phrase in phrases:
            if "{" not in phrase:
                yield Turn(phrase, False, language, f"{language} {name}", fold_of(phrase))
        rng = random.Random(f"{seed} {language}")
        for fold in range(FOLDS):
            usable = [one for one in phrases if fold_of(one[1]) == fold]
            for _ in range(COMPOSED.get(language, COMPOSED_ELSEWHERE) // FOLDS):
                yield _compose_talk(rng, language, usable, parts, fold)
    yield from point_at_things(seed)


def _compose_talk(
    rng: random.Random, language: str, phrases: Sequence[tuple[str, str]], parts: Parts, fold: int
) -> Turn:
    name, frame = _draw_phrase(rng, phrases)
    phrase, calls = _fill(rng, frame, parts), parts.get("call", [])
    comma, blank = (",", "") if language in UNSPACED else (", ", " ")
    text = phrase + _closing_sign(rng, name, language)
    if calls and rng.random() < 0.3:
        text = rng.choice(calls) + rng.choice((comma, comma, blank)) + text
    if rng.random() < 0.35:
        second_name, second = _draw_phrase(rng, phrases)
        joint = "" if text[-1] in ".!?。!?" else rng.choice((comma, ".", ""))
        text = f"{text}{joint}{blank if joint != comma else ''}{_fill(rng, second, parts)}"
        text += _closing_sign(rng, second_name, language)
    elif calls and rng.random() < 0.12:
        text = text.rstrip(".") + comma + rng.choice(calls)
    return Turn(_type(rng, text), False, language, f"{language} {name}", fold)


def _draw_phrase(rng: random.Random, phrases: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """A phrase with its meaning. Talk about a thing is drawn more often than it has frames, since
    a thing makes it look like a request; questions of knowledge half as often, since an assistant
    may have a tool for them.
    """
    frames = [one for one in phrases if "{" in one[1]]
    if frames and rng.random() < ABOUT:
        return rng.choice(frames)
    name, phrase = rng.choice(phrases)
    return rng.choice(phrases) if name == "trivia" and rng.random() < 0.5 else (name, phrase)


def _fill(rng: random.Random, frame: str, parts: Parts) -> str:
    """The phrase with something in each of its braces."""
    if "{" not in frame:
        return frame
    thing = parts["things"] if rng.random() < 0.6 else parts["nouns"] + parts.get("objects", [])
    text = frame.replace("{}", rng.choice(thing)).replace("{thing}", rng.choice(thing))
    text = text.replace("{number}", str(rng.randint(2, 60)))
    for brace, name in SLOTS.items():
        if brace in text:
            text = text.replace(brace, rng.choice(parts[name]))
    return text


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


def _type(rng: random.Random, text: str) -> str:
    """The text as people type: with a capital or in capitals, and now and then with a slip."""
    shape = rng.random()
    text = text[0].upper() + text[1:] if shape < 0.4 else text.upper() if shape < 0.42 else text
    return misspell(rng, text) if rng.random() < SLIPS else text


def misspell(rng: random.Random, text: str) -> str:
    """The text with two letters of a longer word swapped, or one left out or doubled."""
    words = text.split(" ")
    longer = [number for number, word in enumerate(words) if len(word) > 3 and word.isalpha()]
    if not longer:
        return text
    number = rng.choice(longer)
    word, at = words[number], rng.randrange(1, len(words[number]) - 1)
    kind = rng.random()
    if kind < 0.45:
        word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    else:
        word = word[:at] + (word[at + 1 :] if kind < 0.75 else word[at] + word[at:])
    words[number] = word
    return " ".join(words)


_STEMS = (
    "report invoice main index utils config notes draft budget readme app test_login user model "
    "data sales photo scan contract slides server client parser setup Dockerfile package"
).split()
_ENDINGS = "pdf py ts js md json csv txt docx xlsx png jpg yaml toml sql html go rs log".split()
_FOLDERS = "src lib tests docs app data ~/Downloads /tmp ./build ../shared packages/core".split()
_SIGNS = (
    "? ?? ??? ! !!! ... . :) :-) ;) :D <3 👍 👍👍 🙏 🎉 😂 😂😂 ❤️ 👏 🤔 😅 🔥 ✅ 💯 😀 👎 🤷 ok👍 thx🙏 lol😂"
).split()
_SLASHED = "help clear compact exit quit status resume model cost login init memory undo".split()


def point_at_things(seed: int) -> Iterator[Turn]:
    """File names, paths, numbers, letters, signs and a client's own commands: an answer to a
    question, or nothing.
    """
    rng = random.Random(f"{seed} pointers")
    for _ in range(POINTERS):
        stem = rng.choice(_STEMS) + rng.choice(("", "", "", "2", "_v3", "-final", "_2024"))
        name = f"{stem}.{rng.choice(_ENDINGS)}"
        path = f"{rng.choice(_FOLDERS)}/{name}"
        line = f"{path}:{rng.randint(1, 900)}"
        number = str(rng.randint(0, 40))
        text = rng.choice(
            (name, name, path, line, f"it's in {path}", f"{name} and {rng.choice(_STEMS)}.md",
             number, f"{number}.", f"#{number}", f"{rng.choice('abcdxyn')})", rng.choice("abcdynx"),
             rng.choice(_SIGNS), rng.choice(_SIGNS), f"/{rng.choice(_SLASHED)}", f"@{name}")
        )  # fmt: skip
        yield Turn(text, False, "en", "en pointers", fold_of(text))


# Requests.


def make_commands(seed: int) -> Iterator[Turn]:
    """Whole requests, and a verb with a noun, in each language."""
    for language, parts in load_phrases().items():
        rng = random.Random(f"{seed} commands {language}")
        for text in parts.get("asks", []):
            yield Turn(text, True, language, "asks", fold_of(text))
            for _ in range(ASKS):
                yield Turn(_vary(rng, text, parts), True, language, "asks", fold_of(text))
        for query in parts.get("queries", []):
            for _ in range(QUERIES):
                text = query.replace("{place}", rng.choice(parts["places"]))
                text = _type(rng, text.replace("{number}", str(rng.randint(2, 150))))
                yield Turn(text, True, language, "queries", fold_of(query))
        if not (forms := _verb_forms(language, parts)):
            continue
        for _ in range(COMMANDS.get(language, COMMANDS_ELSEWHERE)):
            text = make_command(rng, language, parts, forms)
            yield Turn(_type(rng, text), True, language, "verbs", fold_of(text))


def _vary(rng: random.Random, text: str, parts: Parts) -> str:
    """The request as people type it, now and then after a word like "well"."""
    comma = "," if text[0] > "\u2e80" else ", "
    if parts.get("call") and rng.random() < 0.25:
        text = rng.choice(parts["call"]) + rng.choice((comma, comma.strip(","))) + text
    return _type(rng, text + rng.choice(("", "", ".", "!", "?")))


def _verb_forms(language: str, parts: Parts) -> list[str]:
    particle = "を" if language == "ja" else ""
    rows = [row[language] for row in read_verbs().values() if row.get(language)]
    return [particle + form for row in rows for form in row.split("/")] + parts.get("verbs", [])


def make_command(rng: random.Random, language: str, parts: Parts, forms: Sequence[str]) -> str:
    """A verb and a noun in the language's order, sometimes in a polite frame."""
    form, blank = rng.choice(forms), "" if language in UNSPACED else " "
    noun = rng.choice(parts["nouns"] + parts.get("objects", []))
    first, _, rest = form.partition(" ")
    if language in VERB_LAST:
        text = f"{noun}{blank}{form}"
    elif rest and rng.random() < 0.5:
        text = f"{first} {noun} {rest}"
    else:
        text = f"{form}{blank}{noun}"
    if rng.random() < 0.3:
        text = rng.choice(parts.get("polite", ["{}"])).replace("{}", text)
    if parts.get("call") and rng.random() < 0.07:
        text = f"{rng.choice(parts['call'])}{blank}{text}"
    return text


def mix_talk_with_requests(requests: Sequence[Turn], seed: int) -> Iterator[Turn]:
    """Talk with a request after it, which makes a request of the turn."""
    by_language: dict[str, list[Turn]] = {}
    for turn in requests:
        by_language.setdefault(turn.language, []).append(turn)
    for language, parts in load_phrases().items():
        asked = by_language.get(language)
        if not asked:
            continue
        rng = random.Random(f"{seed} mixed {language}")
        before = [*parts["thanks"], *parts["yes"], *parts.get("call", []), *parts["feel"]]
        blank = "" if language in UNSPACED else " "
        for _ in range(MIXED.get(language, MIXED_ELSEWHERE)):
            turn, joint = rng.choice(asked), rng.choice(parts.get("join", [""]))
            comma = rng.choice((",", ",", "!", ".", ""))
            text = f"{rng.choice(before)}{comma}{blank}{joint}{blank}{turn.text}"
            yield replace(turn, text=" ".join(text.split()), group="mixed")
