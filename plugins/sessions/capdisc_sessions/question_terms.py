"""The sentences of a text, and the words of a question or of a fact's name that carry its
meaning.
"""

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

MAX_CHARACTERS = 65_536
MAX_SENTENCE_CHARACTERS = 400
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+([^\n]*)")
# The beginning of an item or a quotation, which stands on a line of its own.
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)]|>)[ \t]*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])|(?<=[。！？])")
_ROW = re.compile(r"[ \t]*\|")
_RULE = re.compile(r"[ \t|:-]+")


@frozen(kw_only=True)
class Sentence:
    """One sentence, item or row, on one line; `heading` is the last heading before it, for a row
    with the first row of its table.
    """

    text: str
    heading: str = ""


def split_sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text in Markdown, in order, without code. The lines of a paragraph count
    as one text.
    """
    heading, columns, paragraph = "", "", [""]
    for _, line in prose_lines(strip_controls(text[:MAX_CHARACTERS])):
        if _ROW.match(line):
            yield from _split_paragraph(" ".join(paragraph), heading)
            paragraph = [""]
            if columns and not _RULE.fullmatch(line):
                yield from _split_paragraph(line, f"{heading} {columns}")
            columns = columns or one_line(line, MAX_SENTENCE_CHARACTERS)
            continue
        heading_match, item_match, columns = _HEADING.fullmatch(line), _ITEM.match(line), ""
        if heading_match or item_match or not line.strip():
            yield from _split_paragraph(" ".join(paragraph), heading)
            if heading_match:
                heading = one_line(heading_match[1].strip(" #"), MAX_SENTENCE_CHARACTERS)
                paragraph = [""]
            else:
                paragraph = [line[item_match.end() :] if item_match else ""]
        else:
            paragraph.append(line)
    yield from _split_paragraph(" ".join(paragraph), heading)


def _split_paragraph(paragraph: str, heading: str) -> Iterator[Sentence]:
    for part in _SENTENCE_END.split(paragraph):
        if text := one_line((part or "").strip(" |"), MAX_SENTENCE_CHARACTERS):
            yield Sentence(text=text, heading=heading)


TermAnalyser = Callable[[str], list[str]]

# These words say what is asked for, not what the question is about: "how many days", "what does it
# mean".
_ASKING_WORDS = frozenset(
    """
    define defines defined definition mean means meant meaning explain explains describe describes
    many much often say says called
    """.split()
)
_HOW_MANY = re.compile(
    r"\bhow\s+(?:many|much|long|often|old|far|big|large|high|tall|soon|fast)\b", re.IGNORECASE
)
# Questions for a number or a time, and the words of an answer; then the same for questions that
# ask what something is.
_COUNT_QUESTION = re.compile(
    r"\b(?:how\s+(?:many|much|long|often|old|far|fast|soon)|when)\b", re.IGNORECASE
)
_NUMBER_WORD = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
    r"|hundred|thousand|half|first|second|third|fourth|daily|weekly|monthly|yearly|never|always"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|after|before|until|when)\b",
    re.IGNORECASE,
)
_DEFINITION_QUESTION = re.compile(
    r"\b(?:what|who)(?:'s|\s+(?:is|are|was|defines?|does|do))\b|\bdefin|\bmean", re.IGNORECASE
)
_DEFINING_PHRASE = re.compile(r"\b(?:is|are|was|means|refers to|stands for)\b|:\s", re.IGNORECASE)
# `Anna's phone`; not `what's`, which is short for `what is`.
_OWNER = re.compile(
    r"\b(?!(?:what|who|where|when|why|how|that|this|there|here|he|she|it|let)['’])"
    r"[\w-]+(?:['’]s|s['’])\s+",
    re.IGNORECASE,
)
_MAX_CHARACTERS = 4_096


def subject_words(text: str) -> list[str]:
    """The words that say what the text is about, in lower case and in order.

    >>> subject_words("What is analysis?")
    ['analysis']
    >>> subject_words("How many days of sick_leave do we have?")
    ['days', 'sick', 'leave']
    """
    text = space_identifiers(_HOW_MANY.sub(" ", text[:_MAX_CHARACTERS]))
    words = (word.lower().removesuffix("'s").strip("'") for word in simple_words(text))
    return [
        word for word in words if word and word not in STOP_WORDS and word not in _ASKING_WORDS
    ]


def requested_attribute(text: str) -> str:
    """The attribute of an owner that the question asks for, which an answer must mention; "" for a
    question without an owner.

    >>> requested_attribute("What is Anna's phone number at work?")
    'phone number'
    >>> requested_attribute("the customers' limit"), requested_attribute("What's a hub?")
    ('limit', '')
    """
    _, *after_owners = _OWNER.split(text[:_MAX_CHARACTERS])
    if not after_owners:
        return ""
    words = (word.lower() for word in simple_words(space_identifiers(after_owners[-1])))
    return " ".join(takewhile(lambda word: word not in STOP_WORDS, words))


def fits_question_type(question: str, sentence: str) -> bool:
    """Whether a sentence can answer this type of question: with a number, or with a definition.

    >>> fits_question_type("How many days?", "It takes five days.")
    True
    >>> fits_question_type("What is a hub?", "Hubs need power.")
    False
    """
    if _COUNT_QUESTION.search(question[:_MAX_CHARACTERS]):
        return bool(_NUMBER_WORD.search(sentence))
    return bool(
        _DEFINITION_QUESTION.search(question[:_MAX_CHARACTERS])
        and _DEFINING_PHRASE.search(sentence)
    )


def spelling_key(text: str) -> str:
    """One key for all spellings of a name or a question, as `userAge`, `user_age`, `User age`.

    >>> spelling_key("userAge") == spelling_key("user_age") == spelling_key("The user's age?")
    True
    """
    words = subject_words(text)
    return " ".join(words) if words else one_line(text, 200).lower()


def subject_terms(terms: TermAnalyser, text: str) -> frozenset[str]:
    """The stemmed terms of the words that say what the text is about."""
    return frozenset(terms(" ".join(subject_words(text))))
