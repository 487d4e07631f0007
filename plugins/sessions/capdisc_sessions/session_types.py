"""The values of a session, and the mode of working that a request asks for.

Every text of a session is one line without control characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import ModeChoice

# Whole words of a request decide the mode. A request to do something again keeps the mode, unless
# it names one ("redo in exploratory mode") or compares.
MODES = ("auditable", "exploratory", "knowledge")
REDO_WORDS = frozenset({"redo", "re-do", "rerun", "re-run", "again", "repeat", "retry"})
# Where a request has words of several modes, the first mode here wins; whole words and phrases.
MODE_TRIGGERS: dict[str, tuple[str, ...]] = {
    "knowledge": (
        *("explain", "define", "definition", "meaning", "describe"),
        *("how does", "what is a", "what is an"),
    ),
    "exploratory": (
        *("analyze", "analyse", "explore", "compare", "investigate", "trend", "trends"),
        *("show me", "what is"),
    ),
    "auditable": (
        *("prove", "proof", "verify", "audit", "audited", "justify", "derivation", "derive"),
        *("true that", "is it true"),
    ),
}

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_NAMED_MODE = re.compile(
    rf"\b(?:in|as|with|to)\s+(?:an?\s+|the\s+)?({'|'.join(MODES)})\s+(?:mode|way)\b"
)
_MAX_CHARACTERS = 4_096
# The limits of one session, beyond which the oldest entries are dropped. A prompt shows a tenth of
# this; the file stays one that a person can read.
MAX_IDS = 1_000
MAX_ENTITIES = 100
MAX_NOTES = 100
# In characters; ids may be a URL, a path or a digest.
MAX_TEXT = 300
MAX_NOTE = 2_000


def choose_mode(text: str, last_mode: str = "") -> ModeChoice:
    """The mode that a request asks for, or the last one where it asks for none.

    >>> choose_mode("prove and verify that x")
    ModeChoice(mode='auditable', words=('prove', 'verify'), confidence=0.7)
    >>> choose_mode("redo", "auditable").mode, choose_mode("redo in exploratory mode").mode
    ('auditable', 'exploratory')
    """
    named = _NAMED_MODE.search(text[:_MAX_CHARACTERS].lower())
    if named:
        return ModeChoice(mode=named[1], words=(named[0],), confidence=1.0)
    text_words = _word_set(text)
    if REDO_WORDS & text_words:
        mode = "exploratory" if "compare" in text_words else last_mode
    else:
        mode = next((mode for mode in MODE_TRIGGERS if _find_triggers(text, mode)), last_mode)
    words = tuple(sorted(_find_triggers(text, mode)))
    confidence = round(min(0.9, 0.5 + 0.1 * len(words)), 2) if words else 0.0
    return ModeChoice(mode=mode, words=words, confidence=confidence)


def _find_triggers(text: str, mode: str) -> list[str]:
    """The words and phrases of the text that ask for this mode.

    >>> _find_triggers("is it true that it fell?", "auditable"), _find_triggers("construe", "auditable")
    (['true that', 'is it true'], [])
    """
    words = f" {' '.join(_WORD.findall(text[:_MAX_CHARACTERS].lower()))} "
    return [trigger for trigger in MODE_TRIGGERS.get(mode, ()) if f" {trigger} " in words]


def _word_set(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:_MAX_CHARACTERS].lower()))


@frozen(kw_only=True)
class Discovery:
    """A capability that was found `count` times, last in `turn`."""

    count: int
    turn: int


@frozen(kw_only=True)
class Usage:
    """A capability that was used `count` times, last in `turn`; `last` is the last result: "ok",
    "failed", or "" for unknown.
    """

    count: int
    ok: int = 0
    failed: int = 0
    last: str = ""
    turn: int = 0


@frozen(kw_only=True)
class Entity:
    """A thing that a result named, such as an event, a page or a table; `source` is the capability
    that gave the result.
    """

    type: str
    id: str
    name: str
    source: str
    turn: int


@frozen(kw_only=True)
class SessionNote:
    """A line that the agent noted in `turn`."""

    text: str
    turn: int


@frozen(kw_only=True)
class Session:
    """One session. `turn` counts its requests; `mode` is the last one that a note asked for, ""
    for none; `active` are the capabilities that every prompt shows in full; `observed` counts
    results that were searched for entities, `barren` those of them that gave none.
    """

    name: str
    created: str
    updated: str
    turn: int = 0
    mode: str = ""
    discovered: Mapping[str, Discovery] = field(default_factory=dict)
    used: Mapping[str, Usage] = field(default_factory=dict)
    active: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    notes: tuple[SessionNote, ...] = ()
    observed: int = 0
    barren: int = 0

    @property
    def known_ids(self) -> tuple[str, ...]:
        """The ids that a prompt may offer again: the active ones, then those used, then those
        found, each latest first.
        """
        used_ids = sorted(
            self.used, key=lambda identifier: (-self.used[identifier].turn, identifier)
        )
        discovered_ids = sorted(
            self.discovered, key=lambda identifier: (-self.discovered[identifier].turn, identifier)
        )
        return tuple(dict.fromkeys([*self.active, *used_ids, *discovered_ids]))
