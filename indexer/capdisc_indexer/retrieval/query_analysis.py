"""What a text asks for, in words of the catalogue: its clauses, and its spelling corrected.

Spelling: only words that the catalogue does not know are changed, so a query without any costs and
changes nothing. Measured on names of seven catalogues, first place: with two letters swapped 62 →
81 of a hundred, written as one word 84 → 95. A channel of trigrams next to words gave 77 and 89
and moved ordinary queries by a point either way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import fields, frozen, replace
from capdisc_indexer.retrieval.fusion import REQUEST, TASK, Weights
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import FUZZY_SUFFIX
from capdisc_indexer.text.embedding_text import truncate_stem
from capdisc_indexer.text.normalization import (
    MAX_QUERY_CHARACTERS,
    compile_late,
    without_stop_words,
)

# More clauses than this belong to a pasted text, not to a request; the first ones say what it is
# about. With 5 of them 72 in a hundred of the longest requests (some with eight wishes) had all
# that they need among the first ten hits, with 12 it is 94.
MAX_CLAUSES = 12
_MIN_CLAUSE_WORDS = 2
# Marks between clauses, and words that join two requests in a dozen languages. "or" is not among
# them: it joins names of one thing.
_CLAUSE_SEPARATORS = re.compile(
    # Each run is entered at its first sign only: from every sign of it, 20,000 blanks took a
    # minute.
    r"(?<![.;!?:,])[.;!?:,]+\s+|[。;;!?,、]+|(?<!\n)\n+"
    r"|(?<!\s)\s+(?:and|then|also|plus|but|before|after|while|as well as"
    r"|und|dann|et|puis|y|luego|e|poi|depois|en|dan|oraz|potem|a pak|potom|и|потом|затем|та|потім|og|och|sedan|ve)\s+"
    r"|然后|并且|そして",
    re.IGNORECASE,
)
# A part shorter than this is in every vocabulary by accident; no name is longer than this.
_MIN_PART_LENGTH, _MAX_WORD_LENGTH = 3, 40
_MIN_FUZZY_LENGTH = 5
MAX_TERMS, MAX_TOPIC_TERMS = 64, 160
# A text with at most this many characters is a request, in any script.
_MAX_REQUEST_CHARACTERS = 20

# What a request hands over rather than asks for: code, addresses, paths, rows of tables, quoted
# text, and whatever holds a digit.
_PAYLOAD = compile_late(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\b(?:https?|ftp|file)://\S+|[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|^[^\S\n]*\|.*\|[^\S\n]*$|(?<![\w.])(?:~|\.{1,2})?(?:/[\w.+-]+){2,}/?|\b[A-Za-z]:\\\S+"
    r'|"[^"\n]{1,2000}"|“[^”]{1,2000}”|«[^»]{1,2000}»|(?<!\w)\'[^\'\n]{2,400}\'(?!\w)'
    r"|(?<!\w)[#$€£-]?\w*\d[\w:.,/%-]*",
    re.DOTALL | re.MULTILINE,
)
# A shorter text has no payload: each of its words and numbers says what it wants ("401k").
_MIN_PAYLOAD_WORDS, _MIN_REQUEST_WORDS = 13, 3

IsKnown = Callable[[str], bool]
# A text with at most 10 different words that the index knows is a request, one with 20 or more a
# task; what lies between is weighed between. 6 and 16 gave the same, 15 and 40 two points less.
_REQUEST_TERMS, _TASK_TERMS = 10, 20
# From this share of capabilities with long bodies on, the weights of a task count fully.
_MANY_BODIES = 0.75


@frozen
class CorrectedQuery:
    """A text as the catalogue can read it: terms for the text index, and a text for the encoder.

    `topic_terms` are the known terms of the text with its payload: what a task is about shows in
    its file names and fields as well. `topic_weight` is what the topics of bodies count for them.
    """

    terms: tuple[str, ...]
    text: str
    topic_terms: tuple[str, ...] = ()
    topic_weight: float = 0.0


@frozen
class AnalysedText:
    """One text of a query without its payload: as typed and with its spelling corrected, in parts.

    The first part is the whole text; its clauses follow, if there are two or more. `weights` say
    what the evidence for this text is worth.
    """

    part_texts: tuple[str, ...]
    parts: tuple[CorrectedQuery, ...]
    weights: Weights = REQUEST


def analyse_text(index: Index, text: str, splits: bool = True) -> AnalysedText:
    """The text, and each part of it that is searched for; only the whole without `splits`."""
    request = remove_payload(text)
    parts = (request, *(content_clauses(request) if splits else ()))
    request_query, *clauses = (correct_spelling(index, part) for part in parts)
    if index.passages is None or len(text) <= _MAX_REQUEST_CHARACTERS:
        return AnalysedText(parts, (request_query, *clauses))
    documents = index.documents
    terms = dict.fromkeys(documents.analyse(" ".join(documents.words(text))))
    topic_terms = tuple(filter(index.mentions, terms))[:MAX_TOPIC_TERMS]
    weights = _choose_weights(index, len(topic_terms))
    task_query = replace(request_query, topic_terms=topic_terms, topic_weight=weights.topics)
    return AnalysedText(parts, (task_query, *clauses), weights)


def _choose_weights(index: Index, term_count: int) -> Weights:
    """The weights for a text with this number of different words that the index knows: between
    those of a request and of a task, nearer to the latter the more capabilities have long bodies.
    The LanceDB table has no topics.
    """
    length = (term_count - _REQUEST_TERMS) / (_TASK_TERMS - _REQUEST_TERMS)
    if length <= 0.0 or index.passages is None or index.table is not None:
        return REQUEST
    body_share = index.passages.owner_count / len(index.documents)
    share = min(1.0, length) * min(1.0, body_share / _MANY_BODIES)
    ends = ((getattr(REQUEST, name), getattr(TASK, name)) for name in fields(Weights))
    return Weights(*(start + share * (end - start) for start, end in ends))


def remove_payload(text: str) -> str:
    """The text without code, quoted text, addresses, paths, tables and numbers, which drown the
    words that say what to do; the text itself where it is short, or where nothing else is left.

    >>> remove_payload("please cancel order #W2378156 of jo@example.org and tell "
    ...                "the warehouse in town about it as well")
    'please cancel order   of   and tell the warehouse in town about it as well'
    """
    if len(text.split()) < _MIN_PAYLOAD_WORDS:
        return text
    request = _PAYLOAD.sub(" ", text[:MAX_QUERY_CHARACTERS])
    return request if len(request.split()) >= _MIN_REQUEST_WORDS else text


def content_clauses(text: str) -> tuple[str, ...]:
    """The clauses of the text that say something by themselves; none when there would be fewer
    than two.

    >>> content_clauses("find a flight to Rome, then book a hotel and rent a car")
    ('find a flight to Rome', 'then book a hotel', 'rent a car')
    """
    parts = [part.strip() for part in _CLAUSE_SEPARATORS.split(text[:MAX_QUERY_CHARACTERS])]
    content_parts = [part for part in parts if _has_content(part)]
    return tuple(dict.fromkeys(content_parts))[:MAX_CLAUSES] if len(content_parts) > 1 else ()


def _has_content(part: str) -> bool:
    words = part.split()
    return len(without_stop_words(words)) >= _MIN_CLAUSE_WORDS or (
        len(words) == 1 and len(part) > 3 and not part.isascii()
    )


def correct_spelling(index: Index, text: str) -> CorrectedQuery:
    """The text with each unknown word stemmed, split into known words, or marked for a fuzzy
    match.
    """
    documents = index.documents
    words = documents.words(text)
    readings = {word: _correct_word(index, word) for word in words}
    analysed_terms = documents.analyse(" ".join(part for word in words for part in readings[word]))
    terms = [
        term + FUZZY_SUFFIX if _needs_fuzzy_match(index, term) else term
        for term in dict.fromkeys(analysed_terms)
    ]
    for word, parts in readings.items():
        if len(parts) > 1 and word not in parts:
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ".join(parts), text)
    return CorrectedQuery(tuple(terms[:MAX_TERMS]), text)


def _correct_word(index: Index, word: str) -> list[str]:
    """The word; or its truncated stem, and with it the word where a fuzzy match exists; or the
    known words that it is made of.
    """

    if is_mentioned(index, word):
        return [word]
    stem = truncate_stem(word)
    if is_mentioned(index, stem):
        has_fuzzy_match = any(
            index.mentions(term + FUZZY_SUFFIX)
            for term in index.documents.analyse(word)
            if _needs_fuzzy_match(index, term)
        )
        return [stem, word] if has_fuzzy_match else [stem]
    return split_compound(word.lower(), partial(is_mentioned, index)) or [word]


def is_mentioned(index: Index, word: str) -> bool:
    """Whether the catalogue has each term of the word."""
    terms = index.documents.analyse(word)
    return bool(terms) and all(map(index.mentions, terms))


def _needs_fuzzy_match(index: Index, term: str) -> bool:
    return len(term) >= _MIN_FUZZY_LENGTH and term.isalpha() and not index.mentions(term)


def split_compound(word: str, is_known: IsKnown) -> list[str]:
    """The fewest known words that the word is made of, each of three letters or more; empty when
    there are none.

    >>> split_compound("mergepdffiles", {"merge", "pdf", "files", "mer"}.__contains__)
    ['merge', 'pdf', 'files']
    """
    if not 2 * _MIN_PART_LENGTH <= len(word) <= _MAX_WORD_LENGTH:
        return []
    best: list[list[str] | None] = [[], *[None] * len(word)]
    for start in range(len(word) - _MIN_PART_LENGTH + 1):
        before = best[start]
        if before is not None:
            for end in range(start + _MIN_PART_LENGTH, len(word) + 1):
                if (best[end] is None or len(best[end] or ()) > len(before) + 1) and is_known(
                    word[start:end]
                ):
                    best[end] = [*before, word[start:end]]
    return best[-1] or []


# Synonyms of the user.

_MAX_SYNONYM_LINES, _MAX_SYNONYMS = 5_000, 5


def parse_synonyms(text: str, origin: str) -> dict[str, tuple[str, ...]]:
    """The synonyms by the word that a query may have, from lines `word = synonym, synonym`; blank
    lines and those that begin with # say nothing. Raises InputError for another line.

    >>> parse_synonyms("# ours\\nticket = issue, bug report\\n", "f")
    {'ticket': ('issue', 'bug report')}
    """
    synonyms: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines()[:_MAX_SYNONYM_LINES], 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        word, sign, others = line.partition("=")
        names = tuple(" ".join(other.split()) for other in others.split(",") if other.strip())
        if not (word.strip() and sign and names):
            raise InputError(
                f"{origin}:{number}: no synonyms: {line.strip()[:80]!r}",
                "write lines such as ticket = issue, bug report",
            )
        key = " ".join(word.lower().split())
        synonyms[key] = (*synonyms.get(key, ()), *names)[:_MAX_SYNONYMS]
    return synonyms


# How many words of a text are replaced by synonyms, and in how many texts.
MAX_REPLACED, MAX_VARIANTS = 3, 6


def add_synonyms(
    texts: Sequence[str], synonyms: Mapping[str, Sequence[str]], is_known: IsKnown
) -> list[str]:
    """The texts, and each with words of the user replaced by their synonyms. A text with a word
    that the catalogue does not know stands only in its variants: alone it would say that nothing
    fits.

    >>> add_synonyms(["close a ticket"], {"ticket": ["issue"]}, lambda word: False)
    ['close a issue']
    """
    variants: list[str] = []
    for text in texts:
        replaceable = [word for word in synonyms if _whole_word(word).search(text)][:MAX_REPLACED]
        forms = [text]
        for word in replaceable:
            replacements = [
                _whole_word(word).sub(lambda _, other=other: other, form)  # type: ignore[misc]
                for form in forms
                for other in synonyms[word]
            ]
            forms = [*(forms if is_known(word) else ()), *replacements][:MAX_VARIANTS]
        variants += forms
    return list(dict.fromkeys(variants))


def _whole_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
