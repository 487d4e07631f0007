"""Characters that hide text, turn it round, or steer a terminal. All of this is decidable, so most of it is an error.

Tag characters and variation selectors have carried whole instructions past readers; direction marks have shown source
code other than what runs ("Trojan Source"). Joiners, direction marks and flags in honest use are left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from capdisc_indexer.check import unseen
from capdisc_indexer.check.texts import Text
from capdisc_indexer.types import Finding, Severity

# In a row, where none belong: pages that a generator of documentation wrote have one at each of 16 and more headings.
ZERO_WIDTHS = 16
# Of so many in one text, two kinds with this share each are the two signs of a message; such pages have one kind.
SPREAD = 16
SHARE_OF_A_KIND = 0.25
SELECTORS = 4
MARKS = 8  # on one letter; Vietnamese and Hebrew with all points have three

# A flag of a region is a black flag, tag letters and the end tag; any other tag character is hidden text.
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_SELECTORS = re.compile(unseen.SELECTORS)
_STRAY = re.compile(unseen.STRAY)
_STRAY_RUN = re.compile(f"(?:{unseen.STRAY}){{{ZERO_WIDTHS},}}")
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
_KIND = "(?:tool|skill|api|table|operation|document|function)"
_NUMBER = r"(?:[-*+\u2022]|[#(\[]?[0-9]{1,3}[.):\]]?)[ \t]+"
# An entry of a list of capabilities: an id, or behind a number a name such as `open-door` or a kind in brackets.
_ENTRY = re.compile(
    rf"^[ \t]*(?:{_NUMBER})?(?:>>>|<<<|---|[`*_\[(]{{0,3}}{_KIND}:\S)"
    rf"|^[ \t]*[#(\[]?[0-9]{{1,3}}[.):\]]?[ \t]+(?:[`*_\[]{{0,3}}[a-z0-9]+(?:[-_][a-z0-9]+)+[`*_\]]{{0,3}}"
    rf"[ \t]*(?:[:(\u2013\u2014]|-[ \t]|$)|[^\n]{{1,80}}[ \t][(\[]{_KIND}[)\]])",
    re.MULTILINE,
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
    selectors = _SELECTORS.findall(text.value)
    if len(selectors) >= SELECTORS or any(len(run) > 1 for run in selectors):
        message = f"{len(selectors)} variation selectors where none belong, which can hold a text that nobody sees"
        yield text.finding("hidden-text", Severity.ERROR, message, hint, text.value.index(selectors[0]))
    elif (offset := _zero_width_message(text.value)) is not None:
        count = len(_STRAY.findall(text.value))
        message = f"{count} characters without width where none belong, which can hold a text that nobody sees"
        yield text.finding("hidden-text", Severity.ERROR, message, hint, offset)


def _zero_width_message(value: str) -> int | None:
    """Where a message in characters without width begins: many in a row, or many of two kinds."""
    if run := _STRAY_RUN.search(value):
        return run.start()
    strays = _STRAY.findall(value)
    signs = [sign for sign, times in Counter(strays).items() if times >= SHARE_OF_A_KIND * len(strays)]
    return value.index(strays[0]) if len(strays) >= SPREAD and len(signs) > 1 else None


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
