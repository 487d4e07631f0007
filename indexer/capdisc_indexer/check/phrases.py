"""Phrases that give orders to a model past its user. Warnings, never the only defence: what is meant nobody can decide.

Scanners of this kind agree on a tenth of their findings, so only the plainest phrases are here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capdisc_indexer.check.texts import Text, is_plain_word
from capdisc_indexer.types import Finding, Severity

_BEFORE = r"(?:previous|prior|above|earlier|preceding|other|existing|system|safety|all)"
_ORDERS = r"(?:instructions?|rules?|prompts?|directions?|guidelines?|messages?|policies|policy|orders?|constraints?)"
_NEVER = r"(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show|alert|notify)"
_LEAK = r"(?:conversation|chat\s+history|system\s+prompt|credentials|api\s+keys?)"
# Each with words of which one must be there at all, all in lower case.
_INJECTIONS = (
    (
        ("ignore", "disregard", "forget", "override", "bypass"),
        rf"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){{0,2}}?{_BEFORE}\s+(?:\w+\s+){{0,2}}?{_ORDERS}\b",
    ),
    (
        ("you are now",),
        r"\byou are now\s+(?:in\s+)?(?:an?\s+)?(?:unrestricted|developer\s+mode|dan\b|jailbroken|a\s+different)",
    ),
    (("the user",), rf"\b{_NEVER}\s+(?:\w+\s+){{0,4}}?(?:to\s+)?the user\b"),
    (("without ",), r"\bwithout\s+(?:telling|informing|asking|notifying|alerting)\s+the\s+user\b"),
    (("new system",), r"\bnew system\s+(?:prompt|instructions?)\s*:"),
    (
        (" to http",),
        rf"\b(?:send|post|upload|forward|exfiltrate)\s+(?:\w+\s+){{0,5}}?{_LEAK}\s+to\s+https?:",
    ),
)
_INJECTION = tuple((words, re.compile(pattern)) for words, pattern in _INJECTIONS)
_FIRST = re.compile(
    r"\b(?:always|must)\s+(?:be\s+)?(?:use|call|run|invoke|choose|pick|select|called|used|chosen)\s+(?:this|me\b|it)"
    r"(?:\s+\w+){0,3}?\s+(?:first|before\s+(?:any|every|all)|instead\s+of\s+(?:any|every|all))",
    re.IGNORECASE,
)
_OFFICIAL = re.compile(r"\b(?:official|officially|verified|certified|endorsed|approved)\b", re.IGNORECASE)
_REPLACES = re.compile(
    r"\b(?:replaces|supersedes|(?:use|prefer|choose)\s+(?:this|it)\s+(?:\w+\s+)?instead\s+of|deprecated\s+in\s+favou?r"
    r"|is\s+(?:now\s+)?deprecated|no\s+longer\s+(?:use|supported))\b",
    re.IGNORECASE,
)
_HINT = "say what the capability does; leave to the agent and its user when to use it"


def phrases(texts: Sequence[Text]) -> Iterator[Finding]:
    """Orders to the model: in each text, and in all fields together, where one may be cut into pieces."""
    found = [one for text in texts if (one := _order(text))]
    yield from found[:1]
    fields = [text for text in texts if not text.is_body]
    if not found and fields:
        joined = " ".join(" ".join(text.value.split()) for text in fields)
        if _injection(joined) is not None:
            message = "several fields together give the model orders that go past its user"
            yield fields[0].finding("injection-phrase", Severity.WARNING, message, _HINT)
    yield from _claims(fields)


def _order(text: Text) -> Finding | None:
    if is_plain_word(text.value):
        return None
    offset = _injection(text.value)
    if offset is None and not text.is_body and (found := _FIRST.search(text.value)):
        offset = found.start()
    if offset is None:
        return None
    message = "the text gives the model orders that go past its user"
    return text.finding("injection-phrase", Severity.WARNING, message, _HINT, offset)


def _injection(value: str) -> int | None:
    """Where such an order begins."""
    lowered = value.lower()
    for words, pattern in _INJECTION:
        if any(map(lowered.__contains__, words)) and (found := pattern.search(lowered)):
            return found.start()
    return None


def _claims(fields: Sequence[Text]) -> Iterator[Finding]:
    described = [text for text in fields if text.field.lower() in ("description", "displayname", "title", "usagehint")]
    joined = " ".join(text.value for text in described)
    if described and _OFFICIAL.search(joined) and _REPLACES.search(joined):
        message = "claims to be official and to take another's place"
        yield described[0].finding("impersonation", Severity.WARNING, message, "say what it does; trust is not claimed")
