"""Translations by others than a program's own: Debian's package descriptions, CLDR's names, voice assistants' lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from catalogues import Found
from cleaning import language_of

SENTENCE = re.compile(r"(?<=[.!?。])\s+")
CLDR_FILES = {
    "annotations.json": ("annotations", "annotations"),
    "territories.json": ("main", "*", "localeDisplayNames", "territories"),
    "languages.json": ("main", "*", "localeDisplayNames", "languages"),
    "units.json": ("main", "*", "units", "long"),
    "ca-gregorian.json": ("main", "*", "dates", "calendars", "gregorian"),
    "dateFields.json": ("main", "*", "dates", "fields"),
}
MOST_KEYWORDS = 5


def from_descriptions(folder: Path) -> Iterator[Found]:
    """Titles, title with first sentence, and first sentences of the unpacked `…Translation-LANGUAGE` files."""
    english: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*Translation-en")):
        english |= dict(_descriptions(file))
    for file in sorted(folder.glob("*Translation-*")):
        language = language_of(file.name.rpartition("Translation-")[2].replace("%5f", "_"))
        if language is not None:
            for digest, texts in _descriptions(file):
                for one, other in zip(english.get(digest, []), texts, strict=False):
                    yield language, one, other


def from_cldr(folder: Path) -> Iterator[Found]:
    """Names of emoji with their keywords, of countries, languages, units, months and days."""
    for name, path in CLDR_FILES.items():
        texts = {file.parent.name: _cldr_texts(file, path) for file in sorted(folder.rglob(name))}
        english = texts.get("en", {})
        for tag, found in texts.items():
            language = language_of(tag)
            if language is not None:
                yield from (
                    (language, english[key], text) for key, text in found.items() if key in english
                )


def _descriptions(file: Path) -> Iterator[tuple[str, list[str]]]:
    for block in file.read_text(encoding="utf-8").split("\n\n"):
        head, _, rest = block.partition("\nDescription-md5: ")
        digest, _, body = rest.partition("\n")
        title, _, text = body.partition("\n")
        if head and title:
            first = SENTENCE.split(" ".join(text.split("\n .")[0].split()))[0]
            title = title.partition(": ")[2]
            yield digest, [title, first]


def _cldr_texts(file: Path, path: tuple[str, ...]) -> dict[str, str]:
    """Every text below the path by its key; keywords joined."""
    node = json.loads(file.read_text(encoding="utf-8"))
    for step in path:
        node = next(iter(node.values())) if step == "*" else node.get(step, {})
    return dict(_leaves(node, ""))


def _leaves(node: object, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for name, below in node.items():
            yield from _leaves(below, f"{key}/{name}")
    elif isinstance(node, list):
        yield key, ", ".join(map(str, node[:MOST_KEYWORDS]))
    elif isinstance(node, str) and "Formats" not in key and "alt-" not in key:
        yield key, node
