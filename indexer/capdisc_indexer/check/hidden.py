"""Characters that hide text, turn it round, or steer a terminal. All of this is decidable, so most of it is an error.

Tag characters and variation selectors have carried whole instructions past readers; direction marks have shown source
code other than what runs ("Trojan Source"). Joiners, direction marks and flags in honest use are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.check import unseen
from capdisc_indexer.check.texts import Text
from capdisc_indexer.types import Finding, Severity

ZERO_WIDTHS = 16  # in one text, where none belong; copied web pages bring one or two
SELECTORS = 4
MARKS = 8  # on one letter; Vietnamese and Hebrew with all points have three

# A flag of a region is a black flag, tag letters and the end tag; any other tag character is hidden text.
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_SELECTORS = re.compile(unseen.SELECTORS)
_STRAY = re.compile(unseen.STRAY)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
_BLANK = re.compile(unseen.BLANK)
_UNASSIGNED = re.compile("[\ufdd0-\ufdef\ufffe\uffff\ue000-\uf8ff\U000f0000-\U0010ffff]")
_END = re.compile("\n")
_BREAKS = re.compile("[\u2028\u2029\x85]")
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff"
    f"\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{MARKS + 1},}}"
)
# Most texts hold none of these; one look saves the others.
_SOME = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u065f\u0e31-\u0e4e\u115f\u1160\u180e\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u200b-\u200d\u2028-\u202e\u2060-\u206f\u20d0-\u20ff\u2800\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe2f"
    "\ufeff\uffa0\ufffe\uffff\U000e0000-\U0010ffff]"
)
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*] +)?(?:>>>|<<<|---|(?:tool|skill|api|table|operation|document|function):\S)", re.MULTILINE
)
# Shown on one line in lists, so that a line break in one of them makes a line of its own.
_ONE_LINE = frozenset({"name", "id", "kind", "displayname", "title", "category", "tags", "keywords"})


def hidden(text: Text) -> Iterator[Finding]:
    """What a text hides or steers, the first of each kind."""
    yield from _line_breaks(text)
    if _is_plain(text.value) or not _SOME.search(text.value):
        return
    smuggled = list(_hidden_text(text))
    yield from smuggled
    yield from _direction(text)
    yield from _controls(text)
    if not smuggled:
        yield from _invisible(text)
    yield from _flood(text)


def _is_plain(value: str) -> bool:
    """Whether there is certainly nothing: at texts in plain letters, a look that is many times as fast."""
    return value.isascii() and value.replace("\n", "").replace("\t", "").isprintable()


def _hidden_text(text: Text) -> Iterator[Finding]:
    hint = "remove the characters; whoever wrote them meant them not to be seen"
    for found in _TAGS.finditer(_FLAG.sub(lambda flag: " " * len(flag[0]), text.value)):
        says = "".join(chr(ord(tag) - 0xE0000) for tag in found[0] if 0x20 <= ord(tag) - 0xE0000 < 0x7F)
        message = f"{len(found[0])} tag characters, which nobody sees" + (
            f", {len(says)} of them letters" if says else ""
        )
        yield text.finding("hidden-text", Severity.ERROR, message, hint, found.start())
        return
    for pattern, limit, what in (
        (_SELECTORS, SELECTORS, "variation selectors"),
        (_STRAY, ZERO_WIDTHS, "characters without width"),
    ):
        stray = pattern.findall(text.value)
        if len(stray) >= limit or (pattern is _SELECTORS and any(len(each) > 1 for each in stray)):
            message = f"{len(stray)} {what} where none belong, which can hold a text that nobody sees"
            yield text.finding("hidden-text", Severity.ERROR, message, hint, text.value.index(stray[0]))
            return


def _direction(text: Text) -> Iterator[Finding]:
    if found := _BIDI.search(text.value):
        severity = Severity.WARNING if text.is_body else Severity.ERROR
        message = f"U+{ord(found[0]):04X} turns the direction of text, so that it reads other than it is"
        yield text.finding("bidi-control", severity, message, "remove it", found.start())


def _controls(text: Text) -> Iterator[Finding]:
    if found := _CONTROL.search(text.value):
        severity = Severity.WARNING if text.is_body else Severity.ERROR
        message = f"the control character U+{ord(found[0]):04X}, which can steer a terminal"
        yield text.finding("control-character", severity, message, "remove it", found.start())


def _invisible(text: Text) -> Iterator[Finding]:
    patterns = (_BLANK, _STRAY, _UNASSIGNED, _SELECTORS)
    found = min((each for one in patterns if (each := one.search(text.value))), key=re.Match.start, default=None)
    if found is not None:
        message = f"the character U+{ord(found[0]):04X} shows nothing, or something else in every font"
        yield text.finding("invisible-character", Severity.WARNING, message, "remove it", found.start())


def _flood(text: Text) -> Iterator[Finding]:
    if found := _MARKS.search(text.value):
        message = f"more than {MARKS} marks on one letter"
        yield text.finding("combining-flood", Severity.WARNING, message, "remove them", found.start())


def _line_breaks(text: Text) -> Iterator[Finding]:
    if text.is_body:
        return
    found: re.Match[str] | None = _BREAKS.search(text.value)
    if not found and "\n" in text.value.strip("\n"):
        field = text.field.replace("_", "").replace("-", "").lower()
        found = (_END if field in _ONE_LINE else _ENTRY).search(text.value)
    if found:
        message = f"{text.field[:64]} has a line of its own where a list has one for each capability"
        yield text.finding("line-break-in-field", Severity.WARNING, message, "write it on one line", found.start())
