"""Turns for `fit_gate.py`: requests in many languages, and what people say between requests.

Requests are those of the gathered training data, a sample of each source; names of its entries,
which people type as they are ("list open issues"); and commands that `gate_language.py` composes,
as it does talk. A few intents of the training data ("general_praise") are no requests either.
Some requests stand after talk, some below or above a long text that was pasted.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gate_language import (
    SLIPS,
    Turn,
    compose_chatter,
    fold_of,
    make_commands,
    misspell,
    mix_talk_with_requests,
)

NAMES = 400
"""Names of entries that are drawn from each source."""
PASTED = 900
"""Requests with a long text above or below them."""
# How many requests of a source are drawn, spread over its languages; 800 of any other.
MOST = {
    "banking77": 1_500,
    "botframework": 7_000,
    "hwu64_slurp": 4_500,
    "jupyter_i18n": 800,
    "ovos": 4_000,
    "sgd": 2_500,
    "skill_phrases": 2_182,
    "skill_triggers": 1_991,
    "snips": 1_500,
    "xsid": 5_000,
}
MOST_OTHERS = 800
# Intents whose turns ask for nothing: thanks, yes, no, once more, the next one.
CHATTER_INTENTS = frozenset(
    f"general_{name}"
    for name in "affirm commandstop confirm dontcare explain greet negate praise repeat".split()
) | frozenset(
    "skills/leon/good_bye skills/leon/greeting skills/leon/welcome skills/leon/age "
    "skills/leon/introduction skills/leon/meaning_of_life skills/leon/help general::Cancel "
    "general::Goodbye general::Greeting general::Help general::Repeat general::Restart "
    "general::ShowNext general::ShowPrevious general::Stop calendarskill::RejectCalendar "
    "personal::WhatAreYou personal::WhenWereYouBorn personal::WhereWereYouBorn "
    "personal::WhoAreYou personal::WhoMadeYou parrot::did.you.hear.me parrot::repeat.tts".split()
)
# Neither the one nor the other: an assistant may have a skill for them, and mostly has none; or
# their turns are of both kinds.
UNCLEAR_INTENTS = frozenset(
    "general_quirky general_joke qa_factoid cooking_query music_likeness music_dislikeness "
    "bingsearchskill::QueryQna bingsearchskill::GetCelebrityInfo emailskill::AddMore "
    "emailskill::CancelMessages emailskill::ConfirmMessages emailskill::ShowNext "
    "emailskill::ShowPrevious calendarskill::AcceptEventEntry calendarskill::CancelCalendar "
    "calendarskill::ShowNextCalendar calendarskill::ShowPreviousCalendar todoskill::ShowNextPage "
    "todoskill::ShowPreviousPage phoneskill::ContactSelection phoneskill::PhoneNumberSelection "
    "automotiveskill::VEHICLE_SETTINGS_DECLARATIVE musicskill::Exclude musicskill::Pause "
    "hospitalityskill::RoomService hospitalityskill::CheckOut general::Escalate general::Logout "
    "parrot personal naptime icanhazdadjokes".split()
)
_JOINTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")
# A turn of a dialogue that accepts an offer is labelled with what was offered ("Yes, do it please").
_ACCEPTANCE = re.compile(
    r"(?:yes|yeah|ye[ap]h?|yup|sure|ok|okay|great|sounds|that|this|it|perfect|thanks?|no|nope|cool|"
    r"alright|all right|awesome|right|fine|good|excellent|absolutely|definitely|of course|please do|"
    r"nice|i like)\b",
    re.IGNORECASE,
)
MAX_ACCEPTANCE_WORDS = 12
MIN_MESSAGE_WORDS = 3
"""Messages of programs below this ("Cancel", "Next page") are what people say between requests."""


def load_names(folder: Path, seed: int) -> Iterator[Turn]:
    """Names of the training data's entries as words, where they have two to five."""
    for source in sorted(folder.glob("*/catalogue.jsonl")):
        entries = map(json.loads, source.read_text(encoding="utf-8").splitlines())
        names = {
            words_of_name(entry["name"])
            for entry in entries
            if not {entry["id"], entry["id"].split("::")[0]} & (UNCLEAR_INTENTS | CHATTER_INTENTS)
        }
        usable = sorted(name for name in names if 1 <= len(name.split()) <= 5)
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
        piles: dict[tuple[bool, str], list[Turn]] = defaultdict(list)
        for turn in _read_turns(source):
            piles[turn.is_request, turn.language].append(turn)
        rng, most = random.Random(f"{seed} {source.name}"), MOST.get(source.name, MOST_OTHERS)
        for is_request in (True, False):
            left, some = most, [pile for key, pile in piles.items() if key[0] == is_request]
            # The smallest first: what a language has too few of goes to the larger ones.
            for number, pile in enumerate(sorted(some, key=len)):
                drawn = rng.sample(pile, min(left // (len(some) - number), len(pile)))
                left -= len(drawn)
                for turn in drawn:
                    slips = rng.random() < SLIPS
                    yield replace(turn, text=misspell(rng, turn.text)) if slips else turn


def _read_turns(source: Path) -> Iterator[Turn]:
    for pair in read_pairs(source):
        intents = set(pair.ids)
        is_request = not intents & CHATTER_INTENTS
        if is_request and (
            intents & UNCLEAR_INTENTS
            or {name.split("::")[0] for name in intents} & UNCLEAR_INTENTS
        ):
            continue
        if source.name == "jupyter_i18n" and len(pair.query.split()) < MIN_MESSAGE_WORDS:
            continue
        if source.name == "sgd" and _is_acceptance(pair.query):
            continue
        yield Turn(pair.query, is_request, pair.language, source.name, fold_of(pair.query))


def _is_acceptance(text: str) -> bool:
    return len(text.split()) < MAX_ACCEPTANCE_WORDS and bool(_ACCEPTANCE.match(text))


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


def paste_texts(requests: Sequence[Turn], folder: Path, seed: int) -> Iterator[Turn]:
    """Requests with a long text above or below them, as people paste mails and notes."""
    rng, lines = random.Random(f"{seed} pasted"), []
    for source in sorted(folder.glob("*/catalogue.jsonl")):
        entries = map(json.loads, source.read_text(encoding="utf-8").splitlines())
        texts = sorted({entry["description"] for entry in entries if entry.get("description")})
        lines += rng.sample(texts, min(300, len(texts)))
    for turn in rng.sample(requests, PASTED):
        pasted = rng.choice(("\n", " ")).join(rng.sample(lines, rng.randint(2, 8)))
        parts = [pasted, turn.text] if rng.random() < 0.6 else [f"{turn.text}:", pasted]
        yield replace(turn, text="\n\n".join(parts), group="pasted")


def all_turns(folder: Path, seed: int) -> list[Turn]:
    """All of it, every text once."""
    asked = [*load_requests(folder, seed), *make_commands(seed)]
    requests = [turn for turn in asked if turn.is_request]
    sources: tuple[Iterable[Turn], ...] = (
        compose_chatter(seed),
        asked,
        load_names(folder, seed),
        mix_talk_with_requests(requests, seed),
        paste_texts(requests, folder, seed),
    )
    unique: dict[str, Turn] = {}
    for source in sources:
        for turn in source:
            unique.setdefault(turn.text.lower(), turn)
    return list(unique.values())
