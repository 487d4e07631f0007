"""Everyday commands and questions in many languages: the verbs of `verbs.tsv` with nouns from the dictionaries.

Programs' messages seldom order anybody to turn on a light. Word order does not matter to a sum of word vectors, nor
does inflection much, so a verb beside a noun is sentence enough. Verbs with an opposite come as twins, one right
after the other, with the same noun: what tells them apart is all that differs.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from parallel import Pair

VERBS = Path(__file__).with_name("verbs.tsv")
NOT_VERBS = ("en", "opposite")
KNOWN_IN = 10
"""A noun must be known in so many of the languages."""
SECOND_NOUN = 0.4

Forms = Mapping[str, Mapping[str, str]]
Nouns = Mapping[str, Mapping[str, list[str]]]


def read_verbs(file: Path = VERBS) -> dict[str, dict[str, str]]:
    """Rows of the verb list by the English verb: `opposite` and each language's forms with slashes between."""
    with file.open(encoding="utf-8", newline="") as lines:
        return {
            row["en"]: row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        }


def everyday_pairs(
    pairs: Iterable[Pair], common: set[str], count: int, rng: random.Random
) -> list[Pair]:
    """About `count` commands in each language of the verb list, more where twins come."""
    verbs = read_verbs()
    languages = [name for name in next(iter(verbs.values())) if name not in NOT_VERBS]
    nouns = nouns_of(pairs, languages, common)
    known = Counter(english for found in nouns.values() for english in found)
    usual = {
        name: [noun for noun in found if known[noun] >= KNOWN_IN] for name, found in nouns.items()
    }
    return [
        pair
        for language in languages
        for _ in range(count)
        for pair in _twins(language, verbs, rng.sample(usual[language], 2), nouns, rng)
    ]


def nouns_of(pairs: Iterable[Pair], languages: list[str], common: set[str]) -> Nouns:
    """Translations of single common English words by language and word."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in languages}
    for pair in pairs:
        english = pair.english.lower()
        if pair.language in found and english in common and pair.text.count(" ") <= 1:
            found[pair.language].setdefault(english, []).append(pair.text)
    return found


def _twins(
    language: str, verbs: Forms, words: list[str], nouns: Nouns, rng: random.Random
) -> Iterator[Pair]:
    verb = rng.choice(list(verbs))
    used = words if rng.random() < SECOND_NOUN else words[:1]
    rest = " ".join(rng.choice(nouns[language][word]) for word in used)
    article = rng.choice(("", "the ", "my "))
    for one in filter(None, (verb, verbs[verb]["opposite"])):
        form = rng.choice(verbs[one][language].split("/"))
        yield Pair(language, f"{one} {article}{' '.join(used)}", f"{form} {rest}", "everyday")
