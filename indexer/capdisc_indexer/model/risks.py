"""How much harm can a wrong use of a capability do, and which capabilities pass a limit on that?

Four levels, and the three words that one of the designs has for them. A text that is neither, and
a capability that declares nothing, count as `high`: a limit must not let through what nobody
has judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RISKS = ("low", "medium", "high", "critical")
RISK_WORDS: Mapping[str, str] = MappingProxyType(
    {"safe": "low", "moderate": "medium", "destructive": "high"}
)
# All that an option or a file may say, for messages and completion.
RISK_CHOICES = (*RISKS, *RISK_WORDS)
UNKNOWN_RISK = "high"
# What only is read cannot do harm: it counts as low where nothing is declared.
_KINDS_OF_DATA = frozenset({"document", "section", "term", "table", "database", "api"})


def risk_level(text: str) -> str:
    """The level that a text names, one of RISKS; "" for a text that names none.

    >>> risk_level("Destructive"), risk_level("low"), risk_level("odd")
    ('high', 'low', '')
    """
    word = text.strip().lower()
    return word if word in RISKS else RISK_WORDS.get(word, "")


def counted_risk(kind: str, risk: str) -> str:
    """The level that counts for a capability: the declared one, and else the one of its kind.

    >>> counted_risk("tool", ""), counted_risk("document", ""), counted_risk("tool", "low")
    ('high', 'low', 'low')
    """
    return risk_level(risk) or ("low" if kind in _KINDS_OF_DATA and not risk else UNKNOWN_RISK)


def risks_up_to(limit: str) -> tuple[str, ...]:
    """The levels up to a limit; none for a limit that names no level.

    >>> risks_up_to("moderate")
    ('low', 'medium')
    """
    level = risk_level(limit)
    return RISKS[: RISKS.index(level) + 1] if level else ()
