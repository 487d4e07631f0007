"""Which skills of a collection would win the same request, by the words of their descriptions?

`capdisc audit` answers that with searches in an index. A check before a commit has no index, and
no library but the reader of YAML: here words alone decide. Two descriptions compete that share
much of what is rare in the collection. The request that shows it is made of the shared words that
tell most, and a third description must not have them all.

In four public collections (1,112 skills) this finds 113 pairs; for 98 of them a search in an
index with that very request has both in its first two places.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.exclusions import split_exclusions
from capdisc_indexer.text.normalization import BOILERPLATE_WORDS, STOP_WORDS, compile_late

# What clients list with its description, for a model to choose from.
COMPETING_KINDS = frozenset({"skill", "agent", "command"})
# From 0.3 to 0.4 the share of pairs whose request finds both is the same; their number halves.
MIN_COSINE = 0.35
# A word of more descriptions than this leads to no pair: a large collection would have millions.
_MAX_LEADING = 24
_MIN_LEADS = 3
_MOST_OF_A_NAME = 3
# Further words of a description are its details.
_MAX_WORDS = 96
_MIN_WORDS = 4
_STEM_LETTERS = 6
_REQUEST_WORDS = 5
_WORD = compile_late(r"[^\W_][\w+#.]*[\w+#]|[^\W_]")
# Without the boundary, a word of n letters would be tried from each of them.
_NAME = compile_late(r"\b\w+(?:[-:/_]\w+)+")


@frozen
class ListedWords:
    """What a client's list says of a capability: its name, its telling words in order, blanks
    between, and the names of others that its description mentions.
    """

    name: str = ""
    words: str = ""
    mentions: tuple[str, ...] = ()


def read_listed_words(descriptor: Descriptor) -> ListedWords:
    """The words of name, description and hint, without what they say that it is not for; none for
    a kind that clients do not list.
    """
    if descriptor.kind not in COMPETING_KINDS or descriptor.hidden:
        return ListedWords()
    texts = (descriptor.description, descriptor.usage_hint)
    positive = " ".join(split_exclusions(text).text for text in texts)
    words = dict.fromkeys(
        word
        for word in map(
            str.lower, _WORD.findall(f"{descriptor.name.replace('_', '-')} {positive}")
        )
        if word not in STOP_WORDS
        and word not in BOILERPLATE_WORDS
        and not word.isdigit()
        and (len(word) > 1 or not word.isascii())
    )
    mentions = {name.lower() for text in texts for name in _NAME.findall(text)}
    return ListedWords(
        descriptor.name, " ".join(list(words)[:_MAX_WORDS]), tuple(sorted(mentions))
    )


@frozen
class Competition:
    """Two places of a list whose descriptions compete, and the request that shows it."""

    first: int
    second: int
    cosine: float
    request: str


def find_competitions(listed: Sequence[ListedWords]) -> list[Competition]:
    """The pairs that compete, nearest first. A pair of which one names the other is left out: its
    author has said which is for what.
    """
    postings = defaultdict[str, list[int]](list)
    for place, entry in enumerate(listed):
        stems = _words_by_stem(entry.words)
        for stem in stems if len(stems) >= _MIN_WORDS else ():
            postings[stem].append(place)
    weights = {stem: math.log(1 + len(listed) / len(places)) for stem, places in postings.items()}
    competitions = []
    # A large collection has millions of pairs: those of one place are in memory at a time.
    for first, entry in enumerate(listed):
        stems = _words_by_stem(entry.words)
        rare = [postings[stem] for stem in stems if len(postings.get(stem, ())) <= _MAX_LEADING]
        counts = Counter(place for places in rare for place in places if place > first)
        for second, count in counts.items():
            rival = listed[second]
            if count >= _MIN_LEADS and not _is_delimited(entry, rival, postings):
                rival_stems = _words_by_stem(rival.words)
                cosine = _compare(stems, rival_stems, weights)
                request = _shared_request(
                    stems, rival_stems, weights, f"{entry.name} {rival.name}"
                )
                if cosine >= MIN_COSINE and _both_win(request, first, second, postings):
                    text = " ".join(stems[stem] for stem in request)
                    competitions.append(Competition(first, second, round(cosine, 3), text))
    return sorted(competitions, key=lambda pair: (-pair.cosine, pair.first, pair.second))


def _compare(
    first: Mapping[str, str], second: Mapping[str, str], weights: Mapping[str, float]
) -> float:
    """The cosine 0..1 of two sets of stems, each stem with its weight."""
    # `fsum` gives the same digits whatever the order and the version of Python.
    shared, *squares = (
        math.fsum(weights.get(stem, 0.0) ** 2 for stem in stems)
        for stems in (first.keys() & second.keys(), first, second)
    )
    return shared / math.sqrt(squares[0] * squares[1]) if shared else 0.0


def _shared_request(
    first: Mapping[str, str],
    second: Mapping[str, str],
    weights: Mapping[str, float],
    names: str,
) -> list[str]:
    """The stems of the shared words that tell most, in the order of the first description; those
    of the two names count double, so that the request says what it is about.
    """
    in_names = _words_by_stem(names.lower().replace("_", "-"))
    shared = [stem for stem in first if stem in second and stem in weights]
    telling = sorted(shared, key=lambda stem: -weights[stem] * (2 if stem in in_names else 1))
    return [stem for stem in shared if stem in telling[:_REQUEST_WORDS]]


def _words_by_stem(text: str) -> Mapping[str, str]:
    """The words by their first letters, the first of each."""
    stems: dict[str, str] = {}
    for word in text.split():
        for part in word.split("-"):
            stems.setdefault(part[:_STEM_LETTERS], part)
    return stems


def _is_delimited(
    first: ListedWords, second: ListedWords, postings: Mapping[str, Sequence[int]]
) -> bool:
    """Whether the two have one name, or one of them names the other."""
    first_name, second_name = first.name.lower(), second.name.lower()
    return (
        first_name == second_name
        or any(
            name in entry.mentions
            # A name of one word is a name where hardly any other description has the word.
            or (
                name in entry.words.split()
                and len(postings[name[:_STEM_LETTERS]]) <= _MOST_OF_A_NAME
            )
            for name, entry in ((first_name, second), (second_name, first))
        )
    )


def _both_win(
    stems: Sequence[str], first: int, second: int, postings: Mapping[str, Sequence[int]]
) -> bool:
    """Whether no third description has all these words, too."""
    common: Iterator[set[int]] = (set(postings[stem]) for stem in stems)
    rivals = set.intersection(*common) - {first, second} if stems else set()
    return len(stems) > 1 and not rivals
