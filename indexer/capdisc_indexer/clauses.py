"""A long wish taken apart: each clause may name a capability of its own."""

from __future__ import annotations

import re

from capdisc_indexer.text import MAX_QUERY_CHARACTERS, without_stop_words

# More clauses than this belong to a pasted text, not to a wish; the first ones say what it is about.
MOST = 5
_LEAST_WORDS = 2
# Marks between clauses, and what joins two wishes in a dozen languages. "or" is not here: it joins names of one thing.
_JOINTS = re.compile(
    # Each run is entered at its first sign only: from every sign of it, 20,000 blanks took a minute.
    r"(?<![.;!?:,])[.;!?:,]+\s+|[。;;!?,、]+|(?<!\n)\n+"
    r"|(?<!\s)\s+(?:and|then|also|plus|but|before|after|while|as well as"
    r"|und|dann|et|puis|y|luego|e|poi|depois|en|dan|oraz|potem|a pak|potom|и|потом|затем|та|потім|og|och|sedan|ve)\s+"
    r"|然后|并且|そして",
    re.IGNORECASE,
)


def clauses(text: str) -> tuple[str, ...]:
    """The clauses of the text that say something by themselves; none when there would be fewer than two.

    >>> clauses("find a flight to Rome, then book a hotel and tell my boss")
    ('find a flight to Rome', 'then book a hotel', 'tell my boss')
    """
    parts = [part.strip() for part in _JOINTS.split(text[:MAX_QUERY_CHARACTERS])]
    telling = [part for part in parts if _says_something(part)]
    return tuple(dict.fromkeys(telling))[:MOST] if len(telling) > 1 else ()


def _says_something(part: str) -> bool:
    words = part.split()
    return len(without_stop_words(words)) >= _LEAST_WORDS or (len(words) == 1 and len(part) > 3 and not part.isascii())
