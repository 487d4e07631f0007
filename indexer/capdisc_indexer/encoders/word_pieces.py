"""Text as ids of a vocabulary's pieces, by the rules of WordPiece (the longest piece first, `##`
before a continuation); and the bag of pieces that is stored of a capability, with which the pieces
of a query are compared one by one.

The tokenizer is our own because both ends matter here: a query must find its dozen pieces in a
memory-mapped vocabulary without reading it (0.1 ms, where loading a tokenizer's file costs 25 ms
and more), and a build must tokenize a hundred thousand words a second (a cached word is one
look-up). Three rules differ from WordPiece's: compound identifiers are split, only Western accents
and Semitic vowel points are dropped, and an unknown character is skipped where WordPiece gives up
the whole word.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.embedding_text import BODY_CHARACTERS, readable_name
from capdisc_indexer.text.exclusions import split_exclusions
from capdisc_indexer.text.normalization import compile_late

CONTINUATION = "##"
LONGEST_PIECE = 24
# A cached word takes about 200 bytes; at this many, all are forgotten.
_CACHE_SIZE = 200_000
_MAX_WORD_CHARACTERS = 200
# Caps found by measuring: a body's 64 weightiest pieces say what all of its first 2,000 characters
# say.
_MAX_NAME, _MAX_DESCRIPTION, _MAX_BODY = 16, 64, 64
_FIRST_UNSPACED = "\u2e80"
_CAMEL_CASE = compile_late(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Accents of Latin, Greek and Cyrillic; Hebrew and Arabic vowel points. Marks of other scripts are
# letters.
_ACCENTS = compile_late("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
# What separates words. `+` and `#` do not: "c++" and "c#" are names.
_SEPARATORS = compile_late(
    '[\\s\x00-\x20!"$-*,-/:-@\\[-`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u2000-\u206f\u2190-\u2bff\u3000-\u303f'
    "\u30fb\ufe30-\ufe4f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_NON_ASCII = compile_late("[^\x00-\x7f]+")
# A table that turns each of them in ASCII into a blank: ten times as fast as to split at the
# expression.
_ASCII_SEPARATORS = bytes(range(33)) + b"!\"$%&'()*,-./:;<=>?@[\\]^_`{|}~\x7f"
_SEPARATORS_TO_BLANKS = bytes.maketrans(_ASCII_SEPARATORS, b" " * len(_ASCII_SEPARATORS))
# The id of a piece, or None for one that the vocabulary does not have.
Lookup = Callable[[str], int | None]
Tokenize = Callable[[str], Sequence[int]]
WeighToken = Callable[[int], float]


class WordPieceTokenizer:
    """Turns texts into ids of one vocabulary, and caches the words that it has seen."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._cache = _TokenIdCache(lookup)

    def ids(self, text: str) -> array[int]:
        """The ids of the text's pieces, in order; empty if none is known."""
        return array("i", b"".join(map(self._cache.__getitem__, split_words(text))))

    def has_known_word(self, text: str) -> bool:
        """Whether a word of the text is in the vocabulary as a whole; invented words hardly ever
        are, though their pieces always are.

        Scripts without blanks between words count as known, and so does a text of short words
        alone ("UI", "CI/CD").
        """
        long_words = [
            word for word in split_words(text) if len(word) > 2 or word[0] >= _FIRST_UNSPACED
        ]
        return not long_words or any(
            word[0] >= _FIRST_UNSPACED or self._lookup(word.lower()) is not None
            for word in long_words
        )


class _TokenIdCache(dict[str, bytes]):
    """The ids of each word, 32 bits each, computed at its first look-up."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        ids = array("i", tokenize_word(word[:_MAX_WORD_CHARACTERS], self._lookup))
        packed_ids = self[word] = ids.tobytes()
        return packed_ids


def split_words(text: str) -> list[str]:
    """The text's words without their accents, their case unchanged.

    >>> split_words("getUserById: Übergrößen in C++?")
    ['getUserById', 'Ubergroßen', 'in', 'C++']
    """
    if not text.isascii():
        text = _NON_ASCII.sub(lambda run: _strip_accents(run[0]), text)
    return (
        text.encode("utf-8", "surrogatepass")
        .translate(_SEPARATORS_TO_BLANKS)
        .decode("utf-8", "surrogatepass")
        .split()
    )


@lru_cache(maxsize=512)
def _strip_accents(run: str) -> str:
    """A run of characters beyond ASCII without accents, with blanks in the place of separators.

    Each run can be treated by itself, since no accent that stays belongs to a letter of ASCII.
    """
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", run)))
    return _SEPARATORS.sub(" ", plain)


def tokenize_word(word: str, lookup: Lookup) -> Iterator[int]:
    """The ids of a word's pieces; a compound that the vocabulary has as a word ("GitHub") is not
    split.
    """
    word_id = lookup(word.lower())
    if word_id is not None:
        yield word_id
        return
    for part in _CAMEL_CASE.sub(" ", word).lower().split():
        yield from _split_pieces(part, lookup)


def _split_pieces(word: str, lookup: Lookup) -> Iterator[int]:
    """The longest known piece at each place, a continuation before a beginning."""
    start, is_inside = 0, False
    while start < len(word):
        token_id, end = _find_longest_piece(word, start, is_inside, lookup)
        if token_id is not None:
            yield token_id
        start, is_inside = end, token_id is not None


def _find_longest_piece(
    word: str, start: int, is_inside: bool, lookup: Lookup
) -> tuple[int | None, int]:
    """The id of the longest piece that begins at `start`, and its end."""
    for end in range(min(len(word), start + LONGEST_PIECE), start, -1):
        part = word[start:end]
        token_id = lookup(CONTINUATION + part) if is_inside else None
        if token_id is None:
            token_id = lookup(part)
        if token_id is not None:
            return token_id, end
    return None, start + 1


def pack_vocabulary(pieces: Iterable[str]) -> tuple[bytes, list[int]]:
    """The pieces in the order of their bytes, a line each, and the offset at which each line
    starts.
    """
    lines = sorted(piece.encode() for piece in pieces)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return b"".join(line + b"\n" for line in lines), starts


def unpack_vocabulary(text: bytes) -> Mapping[str, int]:
    """The ids of a packed vocabulary by their pieces, for many look-ups."""
    return {piece: number for number, piece in enumerate(text.decode().split("\n")[:-1])}


def make_disk_lookup(text: memoryview, starts: memoryview) -> Lookup:
    """A look-up by bisection in the packed vocabulary, for a few pieces: each reads about
    seventeen lines.
    """

    def line(number: int) -> bytes:
        return bytes(text[starts[number] : starts[number + 1] - 1])

    def lookup(piece: str) -> int | None:
        key, low, high = piece.encode("utf-8", "surrogatepass"), 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            if line(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(starts) - 1 and line(low) == key else None

    return lookup


@frozen
class TokenBag:
    """Piece ids without repetition: those of the name, those that the description adds, and those
    that the rest adds.
    """

    name: tuple[int, ...] = ()
    description: tuple[int, ...] = ()
    body: tuple[int, ...] = ()


def build_token_bag(
    descriptor: Descriptor, tokenize: Tokenize, weigh_token: WeighToken
) -> TokenBag:
    """The bag of a capability."""
    d = descriptor
    labels = [d.category, *d.tags, *(p.name for p in d.parameters)]
    body_texts = [
        split_exclusions(d.usage_hint).text,
        *(p.description for p in d.parameters),
        *d.phrases,
        d.content[:BODY_CHARACTERS],
    ]
    name = _unseen_ids(tokenize(readable_name(d.title or d.name)), ())[:_MAX_NAME]
    about = split_exclusions(d.description).text
    description = _unseen_ids(tokenize(f"{about} {' '.join(map(readable_name, labels))}"), name)[
        :_MAX_DESCRIPTION
    ]
    body = sorted(
        _unseen_ids(tokenize("\n".join(body_texts)), (*name, *description)),
        key=weigh_token,
        reverse=True,
    )[:_MAX_BODY]
    return TokenBag(tuple(name), tuple(description), tuple(body))


def encode_bag(token_bag: TokenBag) -> bytes:
    """The bag as bytes: the lengths of its first two parts, then all ids, 32 bits each."""
    return array(
        "I",
        (
            len(token_bag.name),
            len(token_bag.description),
            *token_bag.name,
            *token_bag.description,
            *token_bag.body,
        ),
    ).tobytes()


def decode_bag(data: bytes) -> TokenBag:
    """The bag of these bytes; an empty bag for no bytes."""
    if not data:
        return TokenBag()
    in_name, in_description, *ids = array("I", data)
    end_of_description = in_name + in_description
    return TokenBag(
        tuple(ids[:in_name]),
        tuple(ids[in_name:end_of_description]),
        tuple(ids[end_of_description:]),
    )


def _unseen_ids(ids: Sequence[int], known: Sequence[int]) -> list[int]:
    known_ids = set(known)
    return [token_id for token_id in dict.fromkeys(ids) if token_id not in known_ids]
