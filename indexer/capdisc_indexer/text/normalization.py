"""Pure text steps shared by the index and the query, so that both see the same words."""

from __future__ import annotations

import re
from unicodedata import category

# The lines that frame a capability in a printed context, for its printer and for whoever looks
# for imitations.

# How each line of a frame begins, to see first whether it is worth looking for whole ones.
FRAME_SIGNS = (">>> ", "<<< ", "--- D")
FRAME_LINE = re.compile(
    r"^(?:>>> \S+ \[[0-9a-f]{6,}\]|<<< end \[|--- Detailed Capability Reference ---)", re.MULTILINE
)


# The first words of a long text, which stand for it in lists.

# As long as a description may be before it counts as a text of its own.
MAX_SHORT_CHARACTERS = 500
MAX_LEAD_CHARACTERS = 1_000
_MIN_LEAD_CHARACTERS = 60  # a first paragraph below this is a heading or a greeting
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"[.!?](?=\s)")


def split_lead(text: str) -> tuple[str, str]:
    """What to list a text by, and the whole text where that is not all of it.

    >>> split_lead("Merges files.")
    ('Merges files.', '')
    """
    text = text.strip()
    if len(text) <= MAX_SHORT_CHARACTERS:
        return text, ""
    first = ""
    for paragraph in _PARAGRAPH.split(text):
        first = f"{first}\n{paragraph.strip()}".strip()
        if len(first) >= _MIN_LEAD_CHARACTERS:
            break
    return _cut_at_sentence(first), text


def _cut_at_sentence(text: str) -> str:
    """At most LONGEST characters, ending where a sentence does if one ends in the second half of
    them.
    """
    if len(text) <= MAX_LEAD_CHARACTERS:
        return text
    ends = [
        match.end()
        for match in _SENTENCE.finditer(text, MAX_LEAD_CHARACTERS // 2, MAX_LEAD_CHARACTERS)
    ]
    return text[: ends[-1]] if ends else text[:MAX_LEAD_CHARACTERS].rpartition(" ")[0] + " ..."


# An identifier worth splitting holds a change from lower to upper case, or letters next to digits.
_COMPOUND = re.compile(r"\b\w*(?:[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z])\w*\b")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_JOINT = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])"
)
# Scripts that put no blanks between words: kana, Han, Hangul syllables, Thai.
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]+"
)
# What steers a terminal, turns the direction of text, or hides in it: controls, marks of
# direction, zero widths, tags. Tab and line end are not among them, nor the two joiners, which are
# honest parts of Persian, Hindi and emoji.
UNSAFE_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
# Letters and symbols that are drawn as nothing: Hangul fillers, the empty Braille cell, joiners,
# variation selectors.
_BLANK = re.compile(
    "[\u115f\u1160\u3164\uffa0\u2800\u200c\u200d\u034f\u17b4\u17b5\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
# The stemmer keeps the s of "PDFs" and "csvs": to it, a word needs a vowel before it can have a
# plural.
_ACRONYM_PLURAL = re.compile(r"\b([b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{2,}|[A-Z]{2,})s\b")
# Passes by words that neither of these two looks for, which most are, to the next that may be one:
# trying both at every letter of a text takes five times as long.
_NEXT_ODD = re.compile(r"\W*+(?:[A-Z]?[b-df-hj-np-tv-xz]*+[aeiouy][a-z]*+\W++)*+(\w*)")
# What in ASCII stands between words, each to become a blank.
_SIGNS_TO_BLANKS = {
    code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"
}

# What is read of a query's words; a longer text has said by then what it is about.
MAX_QUERY_CHARACTERS = 4_096
# Words of a request that say nothing about what is asked for. Dropped from queries only: worth 2.8
# points of nDCG@10 on average over fourteen data sets.
STOP_WORDS = frozenset(
    """
    a about all am an and any anybody anyone are as at be been being but by can could did do does doing done for
    from get give had has have having he help her here hers him his how i i'd i'll i'm i've if in into is it its
    just kindly let let's like ll may me might mine must my need needs of off on one or our ours out over own
    please re s shall she should show so some somebody someone something such t tell than that the their theirs
    them then there these they thing things this those to too up us use using ve very want wants was way we were
    what when where which while who whom whose why will with would you your yours
    """.split()
)


def visible_text(text: str) -> str:
    """The text without blanks and without what shows nothing; empty when a reader sees nothing."""
    return "".join(_BLANK.sub("", UNSAFE_CHARACTERS.sub("", text)).split())


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line, without control characters, cut on a word to `limit` characters (0:
    not cut).
    """
    # Nothing that is printable is unsafe, and this look is much the faster one.
    line = " ".join((text if text.isprintable() else UNSAFE_CHARACTERS.sub("", text)).split())
    if not limit or len(line) <= limit:
        return line
    cut = line[: limit - 1]
    beginning, blank, _ = cut.rpartition(" ")
    return (beginning if blank and len(beginning) > limit // 2 else cut).rstrip(" ,;:.") + "…"


def strip_controls(text: str) -> str:
    """The text with its line breaks, tabs and nothing else that controls a terminal or hides from
    a reader.
    """
    return UNSAFE_CHARACTERS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def split_identifiers(text: str) -> str:
    """The parts of every compound identifier in the text.

    >>> split_identifiers("call getPetById or parseHTML5 now")
    'get Pet By Id parse HTML 5'
    """
    return " ".join(part for word in _COMPOUND.findall(text) for part in _PART.findall(word))


def space_identifiers(text: str) -> str:
    """The text with a blank at every joint of its compound identifiers.

    >>> space_identifiers("getPetById in HTMLParser2 store")
    'get Pet By Id in HTML Parser 2 store'
    """
    return _JOINT.sub(" ", text)


def singular_acronyms(text: str) -> str:
    """The acronyms that the text has in the plural.

    >>> singular_acronyms("merge PDFs into csvs, not buses")
    'PDF csv'
    """
    return " ".join(_ACRONYM_PLURAL.findall(text))


def bigrams(text: str) -> str:
    """The text with every run of an unspaced script replaced by its overlapping pairs.

    >>> bigrams("搜索文件 now")
    '搜索 索文 文件 now'
    """
    return text if text.isascii() else _UNSPACED.sub(lambda run: _pairs(run.group()), text)


def _pairs(run: str) -> str:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return " ".join(pairs)


def lexical_text(text: str) -> str:
    """What is given to the tokenizer of the text index, for documents and queries alike."""
    odd = " ".join(_NEXT_ODD.findall(text))
    return bigrams(f"{text} {split_identifiers(odd)} {singular_acronyms(odd)}".strip())


def simple_words(text: str) -> list[str]:
    """The words of a text, apostrophes and the marks that many scripts write vowels with among
    their letters.
    """
    if text.isascii():
        return text.translate(_SIGNS_TO_BLANKS).split()
    return "".join(
        char if char.isalnum() or char == "'" or category(char)[0] == "M" else " " for char in text
    ).split()


def unique_words(text: str) -> list[str]:
    """The words of the text as a person would list them, in order, each once, lower case."""
    return list(dict.fromkeys(word.lower() for word in simple_words(bigrams(text))))


def without_stop_words(tokens: list[str]) -> list[str]:
    """The tokens that carry meaning; all of them when none does ("how are you" stays as it is)."""
    return [token for token in tokens if token.lower() not in STOP_WORDS] or tokens


def readable_title(name: str) -> str:
    """A readable title for a machine name.

    >>> readable_title("issue-triage")
    'Issue Triage'
    """
    parts = re.split(r"[-_\s]+", name.strip())
    return " ".join(part[:1].upper() + part[1:] for part in parts if part)
