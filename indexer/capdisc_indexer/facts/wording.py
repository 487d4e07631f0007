"""The words of a question and of a fact's name that say something, whole words at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile

from capdisc_indexer.text import STOP_WORDS, one_line, simple_words, spaced_identifiers

Terms = Callable[[str], list[str]]

# What is asked for, not what it is about: "how many days", "what defines", "what does it mean".
_ASKING = frozenset(
    """
    define defines defined definition mean means meant meaning explain explains describe describes many much often
    say says called
    """.split()
)
_HOW = re.compile(r"\bhow\s+(?:many|much|long|often|old|far|big|large|high|tall|soon|fast)\b", re.IGNORECASE)
# Questions for a number or a time, questions for what something is, and what answers them.
_COUNTED = re.compile(r"\b(?:how\s+(?:many|much|long|often|old|far|fast|soon)|when)\b", re.IGNORECASE)
_DEFINED = re.compile(r"\b(?:what|who)(?:'s|\s+(?:is|are|was|defines?|does|do))\b|\bdefin|\bmean", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|half"
    r"|first|second|third|fourth|daily|weekly|monthly|yearly|never|always|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|after|before|until|when)\b",
    re.IGNORECASE,
)
_DEFINING = re.compile(r"\b(?:is|are|was|means|refers to|stands for)\b|:\s", re.IGNORECASE)
# `Anna's phone`; not `what's`, which is short for `what is`.
_OWNER = re.compile(
    r"\b(?!(?:what|who|where|when|why|how|that|this|there|here|he|she|it|let)['’])[\w-]+(?:['’]s|s['’])\s+",
    re.IGNORECASE,
)
_READ = 4_096


def subject(text: str) -> list[str]:
    """The words that tell what the text is about, in order; stop words go as whole words.

    >>> subject("What is analysis?"), subject("How many days of sick_leave do we have?")
    (['analysis'], ['days', 'sick', 'leave'])
    """
    words = [word.lower() for word in simple_words(spaced_identifiers(_HOW.sub(" ", text[:_READ])))]
    bare = [word.removesuffix("'s").strip("'") for word in words]
    return [word for word in bare if word and word not in STOP_WORDS and word not in _ASKING]


def owned(text: str) -> str:
    """What is asked for of something else, which an answer has to speak of; empty where nothing is.

    >>> owned("What is Anna's phone number at work?"), owned("What's a hub?"), owned("the customers' limit")
    ('phone number', '', 'limit')
    """
    pieces = _OWNER.split(text[:_READ])
    words = [word.lower() for word in simple_words(spaced_identifiers(pieces[-1]))] if len(pieces) > 1 else []
    return " ".join(takewhile(lambda word: word not in STOP_WORDS, words))


def suits(question: str, sentence: str) -> bool:
    """Whether the sentence is of the sort that is asked for: has a number, or says what something is.

    >>> suits("How many days?", "It takes five days."), suits("What is a hub?", "Hubs need power.")
    (True, False)
    """
    if _COUNTED.search(question[:_READ]):
        return bool(_NUMBER.search(sentence))
    return bool(_DEFINED.search(question[:_READ]) and _DEFINING.search(sentence))


def key(text: str) -> str:
    """One key for all spellings of a name or question: `userAge`, `user_age`, `User age`.

    >>> key("userAge") == key("user_age") == key("The user's age?")
    True
    """
    words = subject(text)
    return " ".join(words) if words else one_line(text, 200).lower()


def weighted(terms: Terms, text: str) -> frozenset[str]:
    """The stemmed terms of the words that tell what the text is about."""
    return frozenset(terms(" ".join(subject(text))))
