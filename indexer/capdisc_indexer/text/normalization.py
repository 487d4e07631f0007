"""Steps from text to text: words as both the index and a query see them, and safe, short lines for
lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, AnyStr, cast
from unicodedata import category


class _LatePattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method

    @classmethod
    def compile(cls, pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """The pattern, for those that not every command uses: most take 0.1 ms to compile, and a
        class of characters beyond ASCII 0.3 to 2.5 ms.
        """
        return cast("re.Pattern[AnyStr]", cls(pattern, flags))


compile_late = _LatePattern.compile

# An identifier worth splitting holds a change from lower to upper case, or letters next to digits.
_COMPOUND = re.compile(r"\b\w*(?:[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z])\w*\b")
_PART = compile_late(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_JOINT = compile_late(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])"
)
# Scripts that put no blanks between words: kana, Han, Hangul syllables, Thai.
_UNSPACED = compile_late(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]+"
)
# The bytes of UTF-8 without those that such a letter begins with: to look for these takes a third
# of the time of the expression.
_SPACED_BYTES = bytes(range(0xE0)) + b"\xe1\xe2\xee" + bytes(range(0xF0, 0x100))
# Characters that control a terminal, change the direction of text, or are invisible: controls,
# direction marks, zero widths, tags. Tab and line end are not among them, nor the two joiners,
# which Persian, Hindi and emoji need.
UNSAFE_CHARACTERS = compile_late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
# Letters and symbols that are drawn as nothing: Hangul fillers, the empty Braille cell, joiners,
# variation selectors.
_BLANK = compile_late(
    "[\u115f\u1160\u3164\uffa0\u2800\u200c\u200d\u034f\u17b4\u17b5\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
# The stemmer keeps the s of "PDFs" and "csvs": to it, a word needs a vowel before it can have a
# plural.
_ACRONYM_PLURAL = re.compile(r"\b([b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{2,}|[A-Z]{2,})s\b")
# Skips the words that neither _COMPOUND nor _ACRONYM_PLURAL can match, which most are, to the next
# candidate: trying both at every letter of a text takes five times as long. The group is atomic
# and not possessive: before 3.11.5, Python matches a possessive group beyond its end.
_NEXT_CANDIDATE = re.compile(r"\W*+(?>(?:[A-Z]?[b-df-hj-np-tv-xz]*+[aeiouy][a-z]*+\W++)*)(\w*)")
# Turns each ASCII character between words into a blank.
_SIGNS_TO_BLANKS = {
    code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"
}

# Of a longer query only this much is read; its topic is clear by then.
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
# Words of the descriptions that clients list, which tell no skill from another.
BOILERPLATE_WORDS = frozenset(
    """
    agent ask asks asked claude comprehensive expert guide help helps including mention mentions need needs request
    requests should skill skills specialist task tasks toolkit trigger triggers use used user users using want wants
    whenever work working
    """.split()
)
# As long as a description may be before it counts as a text of its own.
MAX_SHORT_CHARACTERS = 500
MAX_LEAD_CHARACTERS = 1_000
_MIN_LEAD_CHARACTERS = 60  # a first paragraph below this is a heading or a greeting
_PARAGRAPH = compile_late(r"\n\s*\n")
_SENTENCE = compile_late(r"[.!?](?=\s)")
# The lines that frame a capability in a printed context, for the code that prints them and for the
# rule that looks for imitations. The signs are how such lines begin, for a quick first look.
FRAME_SIGNS = (">>> ", "<<< ", "--- D")
FRAME_LINE = compile_late(
    r"^(?:>>> \S+ \[[0-9a-f]{6,}\]|<<< end \[|--- Detailed Capability Reference ---)", re.MULTILINE
)


def visible_text(text: str) -> str:
    """The text without blanks and invisible characters; empty if a reader sees nothing."""
    return "".join(_BLANK.sub("", UNSAFE_CHARACTERS.sub("", text)).split())


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line, without control characters, cut on a word to `limit` characters (0:
    not cut).
    """
    # No printable character is unsafe, and `isprintable` is much faster than the expression.
    line = " ".join((text if text.isprintable() else UNSAFE_CHARACTERS.sub("", text)).split())
    if not limit or len(line) <= limit:
        return line
    cut = line[: limit - 1]
    beginning, blank, _ = cut.rpartition(" ")
    return (beginning if blank and len(beginning) > limit // 2 else cut).rstrip(" ,;:.") + "…"


def name_first(names: Sequence[str], limit: int, separator: str = ", ", unnamed: int = 0) -> str:
    """The first `limit` names, and how many more there are; `unnamed` of those are not in `names`.

    >>> name_first(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = max(len(names) - limit, 0) + unnamed
    return separator.join(names[:limit]) + (f" and {more:,} more" if more else "")


def end_sentence(text: str) -> str:
    """The text with a full stop, unless it is empty or a sentence ends there, also within quotes or
    brackets.

    >>> end_sentence('Says "hello!"')
    'Says "hello!"'
    """
    is_ended = text.rstrip("\"'”’»)]").endswith((".", "!", "?", "…", "。"))
    return text if is_ended or not text else f"{text}."


def strip_controls(text: str) -> str:
    """The text with line breaks and tabs, but without other characters that control a terminal or
    are invisible.
    """
    return UNSAFE_CHARACTERS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def split_lead(text: str) -> tuple[str, str]:
    """The beginning of a text for lists, and the whole text; the latter is "" if the beginning is
    all of it.

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
    """At most MAX_LEAD_CHARACTERS, cut at the end of a sentence if one ends in their second
    half.
    """
    if len(text) <= MAX_LEAD_CHARACTERS:
        return text
    ends = [
        match.end()
        for match in _SENTENCE.finditer(text, MAX_LEAD_CHARACTERS // 2, MAX_LEAD_CHARACTERS)
    ]
    return text[: ends[-1]] if ends else text[:MAX_LEAD_CHARACTERS].rpartition(" ")[0] + " ..."


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
    if text.isascii() or not text.encode("utf-8", "replace").translate(None, _SPACED_BYTES):
        return text
    return _UNSPACED.sub(lambda run: _pairs(run.group()), text)


def _pairs(run: str) -> str:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return " ".join(pairs)


def lexical_text(text: str) -> str:
    """The text for the tokenizer of the text index, the same for documents and queries: itself,
    then the parts of identifiers and the singulars of acronyms.
    """
    candidates = " ".join(_NEXT_CANDIDATE.findall(text))
    return bigrams(
        f"{text} {split_identifiers(candidates)} {singular_acronyms(candidates)}".strip()
    )


def simple_words(text: str) -> list[str]:
    """The words of a text. Apostrophes count as letters, and so do the marks that many scripts
    write vowels with.
    """
    if text.isascii():
        return text.translate(_SIGNS_TO_BLANKS).split()
    return "".join(
        char if char.isalnum() or char == "'" or category(char)[0] == "M" else " " for char in text
    ).split()


def unique_words(text: str) -> list[str]:
    """The words of the text in lower case, in order, without repetition."""
    return list(dict.fromkeys(word.lower() for word in simple_words(bigrams(text))))


def without_stop_words(tokens: list[str]) -> list[str]:
    """The tokens without stop words; all of them if nothing else is there ("how are you")."""
    return [token for token in tokens if token.lower() not in STOP_WORDS] or tokens


def content_words(texts: Iterable[str]) -> list[str]:
    """The words of a query's texts as far as it is read, each once, without stop words.

    >>> content_words(["Please merge the PDF files", "merge them"])
    ['merge', 'pdf', 'files']
    """
    words = [word for text in texts for word in unique_words(text[:MAX_QUERY_CHARACTERS])]
    return list(dict.fromkeys(without_stop_words(words)))


def readable_title(name: str) -> str:
    """A readable title for a machine name.

    >>> readable_title("issue-triage")
    'Issue Triage'
    """
    parts = re.split(r"[-_\s]+", name.strip())
    return " ".join(part[:1].upper() + part[1:] for part in parts if part)
