"""Bilingual dictionaries: DICT servers' word lists (FreeDict), the German word list of Ding, and EDICT for Japanese."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from catalogues import Found

CODES = {
    "ara": "ar", "bul": "bg", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "fin": "fi", "fra": "fr", "hin": "hi",
    "hrv": "hr", "hun": "hu", "ind": "id", "ita": "it", "jpn": "ja", "nld": "nl", "nor": "nb", "pol": "pl", "por": "pt",
    "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es", "srp": "sr", "swe": "sv", "tur": "tr",
}  # fmt: skip
DIGITS = {
    c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}
NOTE = re.compile(r"/+[^/]*/+|<[^>]*>|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)")
SENSE = re.compile(r"^\s*\d+\.\s+")
EXAMPLE = re.compile(r'^\s+"(.+?)"\s+-\s+(.+)$')
EDICT_LINE = re.compile(r"^(\S+)(?: \[(\S+)\])? /(.+)/$")
MOST_SENSES, MOST_WORDS = 3, 2


def from_dict(index: Path) -> Iterator[Found]:
    """The pairs of `freedict-AAA-BBB.index` and its `.dict.dz`, one of the two being English."""
    left, right = index.stem.removeprefix("freedict-").split("-")
    language = CODES.get(left if right == "eng" else right)
    if language is None:
        return
    text = gzip.decompress(index.with_suffix(".dict.dz").read_bytes())
    for line in index.read_text(encoding="utf-8").splitlines():
        headword, start, length = line.split("\t")[:3]
        if not headword.startswith("00"):
            entry = text[_number(start) : _number(start) + _number(length)].decode(
                "utf-8", "replace"
            )
            for one, other in _entry(entry):
                yield (language, other, one) if right == "eng" else (language, one, other)


def from_ding(file: Path) -> Iterator[Found]:
    """The pairs of a Ding word list: `Wort {n}; … | Wörter {pl} :: word; … | words`."""
    for line in file.read_text(encoding="utf-8").splitlines():
        german, _, english = line.partition(" :: ")
        for one, other in zip(german.split(" | "), english.split(" | "), strict=False):
            yield "de", _plain(other.split(";")[0]), _plain(one.split(";")[0])


def from_edict(file: Path) -> Iterator[Found]:
    """The pairs of EDICT: each word with its first meaning, in Han and in kana."""
    for line in file.read_text(encoding="euc_jp", errors="replace").splitlines():
        if match := EDICT_LINE.match(line):
            meaning = _plain(match[3].split("/")[0])
            for word in match.groups()[:2]:
                if word:
                    yield "ja", meaning, word


def _entry(text: str) -> Iterator[tuple[str, str]]:
    """Headword and translation, a few for each sense, and the examples."""
    lines = text.splitlines()
    headword = _plain(lines[0]) if lines else ""
    senses = [line for line in lines[1:] if SENSE.match(line)] or lines[1:2]
    for sense in senses[:MOST_SENSES]:
        for word in _plain(SENSE.sub("", sense)).split(",")[:MOST_WORDS]:
            if word.strip():
                yield headword, word.strip()
    for line in lines[1:]:
        if match := EXAMPLE.match(line):
            yield _plain(match[1]), _plain(match[2])


def _plain(text: str) -> str:
    """Without pronunciation, word class and notes."""
    return " ".join(NOTE.sub(" ", text).split())


def _number(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 64 + DIGITS[digit]
    return value
