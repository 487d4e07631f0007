"""What a build derives from the texts of a capability: the texts that are searched by words, the
texts that become vectors, and a signature that shows near duplicates among hits.

The signature is a one-permutation min-hash (Li, Owen and Zhang 2012) over pairs of neighbouring
words: each pair falls into one of 32 bins by its hash, each bin keeps its smallest hash. The share
of equal bins estimates the share of pairs in common.
"""

from __future__ import annotations

import math
from array import array
from binascii import crc32  # as zlib has it; the gate of requests needs this module anyway
from collections import Counter
from itertools import pairwise
from operator import eq

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.exclusions import split_exclusions
from capdisc_indexer.text.normalization import (
    STOP_WORDS,
    bigrams,
    compile_late,
    lexical_text,
    one_line,
    space_identifiers,
)

# Words of other languages than English are truncated to their first letters, in place of a stemmer
# for each language. Measured on package descriptions (the first sentence of the long one as a
# query for the short one, words alone, mean reciprocal rank) against the English stemmer and the
# language's own: Russian 48.9, 53.9, truncated 53.9; German 50.2, 52.0, 52.4; French 58.0, 58.9,
# 59.3; Spanish 55.2, 57.4, 56.9; Italian 62.4, 62.5, 63.5; and where there is no stemmer: Polish
# 47.5 → 53.9, Czech 55.0 → 60.6, Ukrainian 47.4 → 52.4.
STEM_LETTERS = 6
_LONG = compile_late(rf"\w{{{STEM_LETTERS + 1},}}")
# Characters that are enough to recognise a language.
_SAMPLE_CHARACTERS = 600
_WORD = compile_late(r"[^\W\d_]+")
_ASCII_WORD = compile_late("[a-z]+")
_ENGLISH_WORDS = frozenset(
    "a an and are as at be by can for from in is it its of on or that the this to use when with you your".split()
)
# Small words of a dozen languages that are not English; other languages show by letters beyond
# ASCII.
OTHER_LANGUAGE_WORDS = frozenset(
    """
    der das den dem des ein eine einen einer und oder für mit von vom zu zum zur auf aus nach bei ist im werden wird
    le la les du une et ou pour avec dans sur est au aux qui vos votre el los las una para con del al por su sus
    il lo gli di che dei della nel os da dos um uma em ao het een voor naar bij uit van
    na dla lub oraz jest od po ze se nebo je och att med till og til af sekä bir ile az egy vagy sau cu pe pentru
    """.split()
)

# The first part of a SKILL.md body says what it is about; 1,200 to 2,000 characters were worth
# 11.6 points.
BODY_CHARACTERS = 2_000
# The words of a longer body are scaled down to a text of this many: of 4,000, a word that occurs
# 20 times counts twice. BM25 over these words equals BM25 over whole bodies with k1 of 4 to 8 and
# b of 1, which tantivy does not offer: nDCG@10 64.6 where its own (1.2 and 0.75) over whole bodies
# had 57. Of 100, 200, 300, 400 and 600 words, 400 and 600 gave the same; stop words lost 1 point.
TOPIC_WORDS = 400
_MIN_TOPIC_LETTERS = 3
# A text of n words has some multiple of the root of n different ones (Heaps' law). Of 1,345 skills
# the least is 5.4, the middle 11.6; 36 keywords 60 times, with 0.8, came first for long prompts.
_LEAST_VARIETY = 2.0
# Turns each ASCII byte that is not a letter into a blank: a third of the time that it takes on
# characters, where it was a tenth of a build. A sign beyond ASCII stays; a word with one is
# dropped.
_NON_LETTERS_TO_BLANKS = bytes(
    code if code >= 128 or chr(code).isalpha() else ord(" ") for code in range(256)
)
EMBEDDING_CHARACTERS = 2_000
MAX_PHRASES = 64
# A list of uses, as in a cheat sheet: short lines, each of which may end with its command.
_MIN_USES, _MAX_USES, _MAX_USE_CHARACTERS = 2, 16, 300
_NO_USE = compile_late(r"#|```|~~~|\|")
_LIST_MARK = compile_late(r"(?:[-*+•]|\d{1,3}[.)])\s+")
# Behind fewer than three words stands an explanation ("Best for: small files"), not a command.
_USE_WITH_COMMAND = compile_late(
    r"(\S+(?:\s+\S+){2,}?):\s+(?=`|\S*[\[\]{}<>|$=/\\~]|[a-z0-9_.+-]+(?:\s|$)).*"
)

BINS = 32
_EMPTY_BIN = 0xFFFF
# Numbers that stand alone ("copy 7") are not words; those in names (MP3, SHA256, C++) are part of
# them.
_COMPARED_WORD = compile_late(r"[^\W\d_][\w+#]*")
# Two texts that fill fewer bins are duplicates only if they are equal: short texts that differ in
# one word may differ in meaning ("turns on a light", "turns off a light").
_MIN_FILLED_BINS = 24
MIN_SIMILARITY = 0.75


def truncate_stem(text: str) -> str:
    """The long words of the text, each cut to its first letters and marked with a digit, so that
    none of them equals an English stem and "internet" does not match "internal".

    >>> truncate_stem("Rechnungen an Kunden versenden")
    'Rechnu6 versen6'
    """
    return " ".join(f"{word[:STEM_LETTERS]}{STEM_LETTERS}" for word in _LONG.findall(text))


def is_english(text: str) -> bool:
    """Whether the small words and letters of the text show no other language than English."""
    text = text[:_SAMPLE_CHARACTERS]
    if text.isascii():  # as most texts are: the same in half the time
        words = _ASCII_WORD.findall(text.lower())
        foreign = sum(map(OTHER_LANGUAGE_WORDS.__contains__, words))
    else:
        words = [word.lower() for word in _WORD.findall(text)]
        foreign = sum(map(_is_other_language, words))
    english = sum(map(_ENGLISH_WORDS.__contains__, words))
    return foreign <= english or foreign < max(2, 0.08 * len(words))


def _is_other_language(word: str) -> bool:
    return word in OTHER_LANGUAGE_WORDS or not word.isascii()


def lexical_document(descriptor: Descriptor) -> str:
    """All indexed fields of the capability in one text for the text index, without what it says
    that it is not for.
    """
    d = descriptor
    parameters = [f"{p.name} {p.description}" for p in d.parameters]
    parts = [
        d.name,
        d.title,
        split_exclusions(d.description).text,
        d.category,
        *d.tags,
        *parameters,
        *d.phrases,
        split_exclusions(d.usage_hint).text,
        # What an overlay replaced is found by its words, too.
        d.overlay.get("before", {}).get("description", ""),
    ]
    text = lexical_text("\n".join([*parts, d.content[:BODY_CHARACTERS]]))
    if is_english(f"{d.description} {d.content[:BODY_CHARACTERS]}"):
        return text
    # The words themselves stay: names are the same in every language.
    return f"{text}\n{truncate_stem(text)}"


def topic_words(descriptor: Descriptor) -> str:
    """The words of name, description and whole body of a capability with a body, each as often as
    it would occur in a text of TOPIC_WORDS; "" without a body, and for repeated keywords.
    """
    d = descriptor
    if not d.content:
        return ""
    text = bigrams(f"{d.name} {d.description} {d.content}".lower())
    words = text.encode("utf-8", "replace").translate(_NON_LETTERS_TO_BLANKS).decode().split()
    counts = {
        word: count
        for word, count in Counter(words).items()
        if (len(word) >= _MIN_TOPIC_LETTERS or not word.isascii())
        and word not in STOP_WORDS
        and word.isalpha()
    }
    total = sum(counts.values())
    if len(counts) < _LEAST_VARIETY * math.sqrt(total) and total > TOPIC_WORDS:
        return ""
    share = min(1.0, TOPIC_WORDS / max(1, total))
    return "".join(
        [
            f"{word} " * times
            for word, count in counts.items()
            if (times := int(share * count + 0.5))
        ]
    )


def description_text(descriptor: Descriptor) -> str:
    """The text that is encoded for the capability itself: title and name, description, category,
    tags and parameter names, at most EMBEDDING_CHARACTERS.
    """
    d = descriptor
    labels = [d.category, *d.tags, *(p.name for p in d.parameters)]
    name, title = readable_name(d.name), readable_name(d.title)
    # Next to titles that say something else, names are worth 2.8 points on one set and 0.3 on
    # another. The names of what is required cost 0.8 on the set that has them.
    is_in_title = name.lower() in title.lower()
    heading = title if is_in_title else f"{title} ({name})" if title else name
    return one_line(
        f"{heading}: {split_exclusions(d.description).text} {' '.join(readable_name(label) for label in labels)}"
    )[:EMBEDDING_CHARACTERS]


def readable_name(name: str) -> str:
    """The name with blanks between its parts, since an encoder does not know the pieces of a
    compound.
    """
    return space_identifiers(name.replace("_", " ").replace("-", " ").replace("/", " "))


def embedding_texts(descriptor: Descriptor) -> tuple[str, ...]:
    """The texts that become vectors: the description, then by itself each example request and each
    line of a text that is a list of uses.

    Matched one by one, example requests gave 92 points where the same words in one text gave 83;
    the uses of 6,193 commands gave 41.8 instead of 33.1, in other languages than theirs 36 instead
    of 26.
    """
    phrases = dict.fromkeys(
        one_line(phrase)[:EMBEDDING_CHARACTERS] for phrase in descriptor.phrases
    )
    texts = dict.fromkeys([phrase for phrase in phrases if phrase][:MAX_PHRASES])
    texts |= dict.fromkeys(list_uses(descriptor.content))
    return (description_text(descriptor), *texts)


def list_uses(content: str) -> list[str]:
    """What each line of the text says that can be done, without the command at its end; nothing
    for prose, for Markdown with headings or code blocks, and for a text that is longer than
    BODY_CHARACTERS, whose passages have vectors.

    >>> list_uses("Pack a folder: tar -cf {{file}} {{folder}}\\nList what is inside: `tar -tf a.tar`")
    ['Pack a folder', 'List what is inside']
    """
    lines = [line.strip() for line in content[: BODY_CHARACTERS + 1].splitlines()]
    lines = [line for line in lines if line]
    is_list = len(content) <= BODY_CHARACTERS and len(lines) >= _MIN_USES
    if not is_list or any(map(_NO_USE.match, lines)) or max(map(len, lines)) > _MAX_USE_CHARACTERS:
        return []
    uses = [_USE_WITH_COMMAND.sub(r"\1", _LIST_MARK.sub("", line)) for line in lines]
    return [use for use in uses if " " in use][:_MAX_USES]


def signature(text: str) -> str:
    """The signature as 128 hexadecimal digits, without lone numbers and punctuation; "" for fewer
    than two words.
    """
    words = " ".join(_COMPARED_WORD.findall(text.lower())).encode("utf-8", "replace").split()
    bins = [_EMPTY_BIN] * BINS
    for value in {*map(crc32, map(b" ".join, pairwise(words)))}:
        bin_index, bin_value = value % BINS, (value >> 8) % _EMPTY_BIN
        if bin_value < bins[bin_index]:  # noqa: PLR1730, a call of min takes twice as long
            bins[bin_index] = bin_value
    return array("H", bins).tobytes().hex() if any(value != _EMPTY_BIN for value in bins) else ""


def are_near_duplicates(left: array[int], right: array[int]) -> bool:
    """Whether two texts, by their decoded signatures, are versions of one text."""
    filled_bins = BINS - min(left.count(_EMPTY_BIN), right.count(_EMPTY_BIN))
    if filled_bins < _MIN_FILLED_BINS:
        return left == right
    equal_bins: int = sum(map(eq, left, right))
    both_empty = BINS - filled_bins
    return equal_bins - both_empty >= filled_bins * MIN_SIMILARITY


def shared_part(left: array[int], right: array[int]) -> float:
    """The estimated share of word pairs that two texts have in common, 0..1, from their decoded
    signatures; its standard error is 0.09 for long texts.
    """
    filled_bins = equal_bins = 0
    for left_value, right_value in zip(left, right, strict=True):
        filled_bins += left_value != _EMPTY_BIN or right_value != _EMPTY_BIN
        equal_bins += left_value == right_value != _EMPTY_BIN
    return equal_bins / filled_bins if filled_bins else 0.0


def decode_signature(digits: str) -> array[int]:
    """The bins of a signature."""
    return array("H", bytes.fromhex(digits))
