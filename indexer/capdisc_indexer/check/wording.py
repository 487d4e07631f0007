"""How a capability is worded: words repeated to be found, and text that costs more tokens than it looks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from capdisc_indexer import engines
from capdisc_indexer.check.texts import Text
from capdisc_indexer.text import STOP_WORDS, simple_words
from capdisc_indexer.types import Finding, Severity

REPEATED = 8
SHARE = 0.25  # of the words that one of them makes up; in public skills at most 0.22
# Of several words together: the share of those that stand at least OFTEN times; in public skills at most 0.31.
OFTEN = 6
SHARE_TOGETHER = 0.5
DENSITY = 1.5  # tokens a character; Chinese and Thai stay below 1.0, English below 0.3
DENSE_BYTES = 2.2  # bytes a character, below which no text is as dense as that
SAMPLE = 20_000

_DESCRIBING = frozenset({"description", "whentouse", "usagehint"})  # phrases may repeat a word: each is a request
_RARE = re.compile("[^\x00-\u04ff\u0590-\u06ff\u0900-\u0d7f\u0e00-\u0e7f\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def wording(texts: Sequence[Text]) -> Iterator[Finding]:
    """Words repeated beyond use in what describes the capability, and the first text that is dense in tokens."""
    yield from _stuffing([text for text in texts if text.field.replace("_", "").lower() in _DESCRIBING])
    dense = (one for text in texts if (one := _density(text)))
    yield from list(dense)[:1]


def _stuffing(texts: Sequence[Text]) -> Iterator[Finding]:
    words = [word.lower() for text in texts for word in simple_words(text.value) if len(word) > 2]
    telling = Counter(word for word in words if word not in STOP_WORDS)
    for word, times in telling.most_common(1):
        if times >= REPEATED and times >= SHARE * len(words):
            message = f"the word {word[:64]!r} stands {times} times among {len(words)}"
            hint = "say it once; a word counts no more for being repeated"
            yield texts[0].finding("keyword-stuffing", Severity.WARNING, message, hint)
            return
    repeated = [times for times in telling.values() if times >= OFTEN]
    if len(repeated) > 1 and sum(repeated) >= SHARE_TOGETHER * len(words):
        message = f"{len(repeated)} words make up {sum(repeated)} of the {len(words)} by being repeated"
        hint = "say each once; a word counts no more for being repeated"
        yield texts[0].finding("keyword-stuffing", Severity.WARNING, message, hint)


def _density(text: Text) -> Finding | None:
    value = text.value[:SAMPLE]
    if value.isascii() or len(value) < 64 or len(_RARE.findall(value)) * 2 < len(value):
        return None
    if len(value.encode("utf-8", "replace")) < DENSE_BYTES * len(value):
        return None
    tokens = engines.token_count()(value)
    if tokens < DENSITY * len(value):
        return None
    message = f"{tokens / len(value):.1f} tokens a character: the text costs far more than its length shows"
    return text.finding("token-density", Severity.WARNING, message, "write it in plain letters")
