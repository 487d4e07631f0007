"""What is read out of texts for facts: the sentences of a text in Markdown, which may answer a
question; the words that carry the meaning of a question or of a fact's name; and the facts that
lines state literally, found by four patterns, with the reason for every other sentence.
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
# A fact has a short name, and a value that can be read at once; in characters.
MAX_NAME, MAX_VALUE = 200, 4_000
_NAME_WORDS = 8

PATTERNS = {
    "X = Y": re.compile(r"([^=<>!:]+?)\s*=(?!=)\s*(.+)"),
    "change X to Y": re.compile(
        # "redo, but change my age to 50"
        r"(?:[^,;]+[,;]\s*)?(?:(?:but|and|then|please|now)\s+)*"
        r"(?:change|set|update|make)\s+(.+?)\s+to\s+(.+)",
        re.IGNORECASE,
    ),
    "X: Y": re.compile(r"([^:]+?)\s*:\s+(.+)"),
    "X is Y": re.compile(r"(.+?)\s+(?:is|are|means|equals)\s+(.+)", re.IGNORECASE),
}
_LEADING_ARTICLE = re.compile(r"\A(?:the|a|an|my|our|your|this)\s+", re.IGNORECASE)
_LIST_MARKS = re.compile(r"^\s*(?:[-*+>]|\d{1,3}[.)])\s+|[*`]|(?<!\w)_+|_+(?!\w)")
_STATEMENT_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z])")
_POINTING_WORDS = frozenset(
    "it this that these those there he she they we you i which who what here".split()
)
_CONDITIONAL_WORDS = frozenset(
    "if when unless because although while whether maybe perhaps".split()
)
_NEGATION = re.compile(r"(?:not|never|no longer|neither)\b", re.IGNORECASE)

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
_MAX_QUESTION_CHARACTERS = 4_096


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


# The words of a question or of a name.


def subject_words(text: str) -> list[str]:
    """The words that say what the text is about, in lower case and in order.

    >>> subject_words("What is analysis?")
    ['analysis']
    >>> subject_words("How many days of sick_leave do we have?")
    ['days', 'sick', 'leave']
    """
    text = space_identifiers(_HOW_MANY.sub(" ", text[:_MAX_QUESTION_CHARACTERS]))
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
    _, *after_owners = _OWNER.split(text[:_MAX_QUESTION_CHARACTERS])
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
    if _COUNT_QUESTION.search(question[:_MAX_QUESTION_CHARACTERS]):
        return bool(_NUMBER_WORD.search(sentence))
    return bool(
        _DEFINITION_QUESTION.search(question[:_MAX_QUESTION_CHARACTERS])
        and _DEFINING_PHRASE.search(sentence)
    )


def spelling_key(text: str) -> str:
    """One key for all spellings of a name or a question, as `userAge`, `user_age`, `User age`.

    >>> spelling_key("userAge") == spelling_key("user_age") == spelling_key("The user's age?")
    True
    """
    words = subject_words(text)
    return " ".join(words) if words else one_line(text, 200).lower()


def subject_terms(terms: Callable[[str], list[str]], text: str) -> frozenset[str]:
    """The stemmed terms of the words that say what the text is about."""
    return frozenset(terms(" ".join(subject_words(text))))


# Facts that lines state.


@frozen(kw_only=True)
class Statement:
    """What a sentence in line `line` of a text states, by one of the rules; `rule` is "" where it
    states no fact, and `why` says the reason.
    """

    line: int
    text: str
    rule: str = ""
    name: str = ""
    value: str = ""
    why: str = ""


def read_statements(text: str) -> list[Statement]:
    """One entry for each sentence of each line, in order: a fact, or why it states none. Only the
    first 64 Ki characters are read.
    """
    return [_parse_statement(number, sentence) for number, sentence in _split_statements(text)]


def _split_statements(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(strip_controls(text[:MAX_CHARACTERS]).split("\n"), 1):
        # Runs of blanks become one: a pattern would try a long run from each of its characters.
        for sentence in _STATEMENT_END.split(" ".join(_LIST_MARKS.sub("", line).split())):
            if sentence:
                yield number, sentence


def _parse_statement(number: int, sentence: str) -> Statement:
    if sentence.endswith("?"):
        return _skip_statement(number, sentence, "a question")
    for rule, pattern in PATTERNS.items():
        if (match := pattern.fullmatch(sentence)) is None:
            continue
        name = _LEADING_ARTICLE.sub("", match[1].strip(), count=1)
        value = match[2].strip().rstrip(".;")
        if problem := _fact_problem(name, value):
            return _skip_statement(number, sentence, problem)
        return Statement(
            line=number,
            text=one_line(sentence, 200),
            rule=rule,
            name=one_line(name),
            value=one_line(value),
        )
    return _skip_statement(number, sentence, "no rule fits it")


def _fact_problem(name: str, value: str) -> str:
    """Why name and value do not make a fact; "" where they do."""
    words = name.lower().split()
    if not words or not value:
        return "its name or its value is empty"
    if words[0] in _POINTING_WORDS:
        return "its name points to an earlier sentence"
    if words[0] in _CONDITIONAL_WORDS:
        return "it holds under a condition"
    if _NEGATION.match(value):
        return "it says what something is not"
    if len(words) > _NAME_WORDS or len(name) > MAX_NAME:
        return f"its name has more than {_NAME_WORDS} words"
    return "the value is too long" if len(value) > MAX_VALUE else ""


def _skip_statement(number: int, sentence: str, why: str) -> Statement:
    return Statement(line=number, text=one_line(sentence, 200), why=why)
