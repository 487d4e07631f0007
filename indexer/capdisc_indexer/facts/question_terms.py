"""The words of a question and of a fact's name that say something, whole words at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.markdown import prose_lines
from capdisc_indexer.text.normalization import (
    STOP_WORDS,
    one_line,
    simple_words,
    space_identifiers,
    strip_controls,
)

# The sentences of a text in Markdown, each with the headings that it stands under.

MAX_CHARACTERS = 65_536
MAX_SENTENCE_CHARACTERS = 400
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+([^\n]*)")
# What begins a line of its own: an item, a quotation.
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)]|>)[ \t]*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])|(?<=[。！？])")


_ROW = re.compile(r"[ \t]*\|")
_RULE = re.compile(r"[ \t|:-]+")


@frozen(kw_only=True)
class Sentence:
    """One sentence, item or row on one line; `under` is the last heading before it, of a row the
    table's own too.
    """

    text: str
    heading: str = ""


def split_sentences(text: str) -> Iterator[Sentence]:
    """The sentences in order, code left out. Lines of one paragraph are one text."""
    under, columns, paragraph = "", "", [""]
    for line in (line for _, line in prose_lines(strip_controls(text[:MAX_CHARACTERS]))):
        if _ROW.match(line):
            yield from _split_paragraph(" ".join(paragraph), under)
            paragraph = [""]
            if columns and not _RULE.fullmatch(line):
                yield from _split_paragraph(line, f"{under} {columns}")
            columns = columns or one_line(line, MAX_SENTENCE_CHARACTERS)
            continue
        heading, item, columns = _HEADING.fullmatch(line), _ITEM.match(line), ""
        if heading or item or not line.strip():
            yield from _split_paragraph(" ".join(paragraph), under)
            under = one_line(heading[1].strip(" #"), MAX_SENTENCE_CHARACTERS) if heading else under
            paragraph = [line[item.end() :] if item and not heading else ""]
        else:
            paragraph.append(line)
    yield from _split_paragraph(" ".join(paragraph), under)


def _split_paragraph(paragraph: str, under: str) -> Iterator[Sentence]:
    for piece in _SENTENCE_END.split(paragraph):
        if text := one_line((piece or "").strip(" |"), MAX_SENTENCE_CHARACTERS):
            yield Sentence(text=text, heading=under)


TermAnalyser = Callable[[str], list[str]]

# What is asked for, not what it is about: "how many days", "what defines", "what does it mean".
_ASKING_WORDS = frozenset(
    """
    define defines defined definition mean means meant meaning explain explains describe describes many much often
    say says called
    """.split()
)
_HOW_MANY = re.compile(
    r"\bhow\s+(?:many|much|long|often|old|far|big|large|high|tall|soon|fast)\b", re.IGNORECASE
)
# Questions for a number or a time, questions for what something is, and what answers them.
_COUNT_QUESTION = re.compile(
    r"\b(?:how\s+(?:many|much|long|often|old|far|fast|soon)|when)\b", re.IGNORECASE
)
_DEFINITION_QUESTION = re.compile(
    r"\b(?:what|who)(?:'s|\s+(?:is|are|was|defines?|does|do))\b|\bdefin|\bmean", re.IGNORECASE
)
_NUMBER_WORD = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|half"
    r"|first|second|third|fourth|daily|weekly|monthly|yearly|never|always|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|after|before|until|when)\b",
    re.IGNORECASE,
)
_DEFINING_PHRASE = re.compile(r"\b(?:is|are|was|means|refers to|stands for)\b|:\s", re.IGNORECASE)
# `Anna's phone`; not `what's`, which is short for `what is`.
_OWNER = re.compile(
    r"\b(?!(?:what|who|where|when|why|how|that|this|there|here|he|she|it|let)['’])[\w-]+(?:['’]s|s['’])\s+",
    re.IGNORECASE,
)
_MAX_CHARACTERS = 4_096


def subject_words(text: str) -> list[str]:
    """The words that tell what the text is about, in order; stop words go as whole words.

    >>> subject_words("What is analysis?"), subject_words("How many days of sick_leave do we have?")
    (['analysis'], ['days', 'sick', 'leave'])
    """
    words = [
        word.lower()
        for word in simple_words(space_identifiers(_HOW_MANY.sub(" ", text[:_MAX_CHARACTERS])))
    ]
    bare = [word.removesuffix("'s").strip("'") for word in words]
    return [word for word in bare if word and word not in STOP_WORDS and word not in _ASKING_WORDS]


def asked_attribute(text: str) -> str:
    """What is asked for of something else, which an answer has to speak of; empty where nothing
    is.

    >>> asked_attribute("What is Anna's phone number at work?"), asked_attribute("What's a hub?"), asked_attribute("the customers' limit")
    ('phone number', '', 'limit')
    """
    pieces = _OWNER.split(text[:_MAX_CHARACTERS])
    words = (
        [word.lower() for word in simple_words(space_identifiers(pieces[-1]))]
        if len(pieces) > 1
        else []
    )
    return " ".join(takewhile(lambda word: word not in STOP_WORDS, words))


def fits_question_type(question: str, sentence: str) -> bool:
    """Whether the sentence is of the sort that is asked for: has a number, or says what something
    is.

    >>> fits_question_type("How many days?", "It takes five days."), fits_question_type("What is a hub?", "Hubs need power.")
    (True, False)
    """
    if _COUNT_QUESTION.search(question[:_MAX_CHARACTERS]):
        return bool(_NUMBER_WORD.search(sentence))
    return bool(
        _DEFINITION_QUESTION.search(question[:_MAX_CHARACTERS])
        and _DEFINING_PHRASE.search(sentence)
    )


def spelling_key(text: str) -> str:
    """One key for all spellings of a name or question: `userAge`, `user_age`, `User age`.

    >>> spelling_key("userAge") == spelling_key("user_age") == spelling_key("The user's age?")
    True
    """
    words = subject_words(text)
    return " ".join(words) if words else one_line(text, 200).lower()


def subject_terms(terms: TermAnalyser, text: str) -> frozenset[str]:
    """The stemmed terms of the words that tell what the text is about."""
    return frozenset(terms(" ".join(subject_words(text))))
