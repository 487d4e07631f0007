"""Finds characters that hide text, turn it round, or steer a terminal. All of this is decidable,
so most of it is an error.

Tag characters and variation selectors have carried whole instructions past readers; direction
marks have shown source code other than what runs ("Trojan Source"). Joiners, direction marks and
flags in honest use are left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from capdisc_guard.placed_text import CapabilityText
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.text.normalization import compile_late

# Patterns for characters that show nothing, where nothing gives them a cause. They are texts, so
# that larger patterns can be composed of them.

# Scripts and emoji whose letters joiners and zero-width blanks stand between.
_JOINING = "\u0600-\u08ff\u0900-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_ANY_STRAY = f"(?<![{_JOINING}])[\u200b-\u200d\u2060-\u2064\ufeff\u180e]"
# Fillers are parts of old Korean syllables, and an empty cell is a blank to readers of Braille.
_KOREAN = "\u115f(?![\u1161-\u11a7\ud7b0-\ud7c6])|(?<![\u1100-\u115e\ua960-\ua97c])\u1160"
_BRAILLE = "(?<![\u2800-\u28ff])(?<![\u2801-\u28ff] )\u2800++(?! ?[\u2801-\u28ff])"
_ANY_BLANK = f"[\u00ad\u3164\uffa0]|{_KOREAN}|{_BRAILLE}"
# One selector chooses the form of an ideograph, a symbol or an emoji; there are never two, nor one
# after a letter.
_ANY_SELECTOR = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_OF_IDEOGRAPHS = "(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
_AFTER_LETTER = "(?<=[A-Za-z\u00c0-\u058f])[\ufe00-\ufe0f]"
_STRAY_SELECTORS = f"{_ANY_SELECTOR}{{2}}|{_OF_IDEOGRAPHS}|{_AFTER_LETTER}"
_LONE_SELECTORS = f"(?<={_ANY_SELECTOR}){_ANY_SELECTOR}|{_OF_IDEOGRAPHS}|{_AFTER_LETTER}"
# What can have forms to choose from: figures of keys, signs, symbols, ideographs, a few scripts of
# Asia, emoji.
_WITH_FORMS = (
    "#*0-9\u00a9\u00ae\u1000-\u109f\u2010-\u2bff\u3000-\u9fff\ua840-\ua87f\uaa60-\uaa7f\uf900-\ufaff\uff00-\uff60"
    "\U00010ac0-\U00010aff\U00013000-\U00013fff\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
# What may be removed unasked. A character before a letter of a script that uses such characters
# may belong to that letter.
REMOVABLE = f"(?:{_ANY_STRAY})(?![{_JOINING}])|{_ANY_BLANK}|{_LONE_SELECTORS}"
_SHOWN = compile_late(
    f"{_ANY_STRAY}|{_ANY_BLANK}|{_LONE_SELECTORS}|(?<![{_WITH_FORMS}])[\ufe00-\ufe0f]"
)
# This many in a row are a message: pages that a generator of documentation wrote have one at each
# of 16 and more headings.
ZERO_WIDTHS = 16
# This many in one text are a message if two kinds have this share each, as its two signs; such
# pages have one kind.
SPREAD = 16
SHARE_OF_A_KIND = 0.25
MAX_SELECTORS = 4
MAX_MARKS = 8  # on one letter; Vietnamese and Hebrew with all points have three
MAX_SHOWN_MARKS = 64  # this many cover the lines above and below in a terminal
# A flag of a region is a black flag, tag letters and the end tag; any other tag character is
# hidden text.
_FLAG = compile_late("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_TAGS = compile_late("[\U000e0000-\U000e007f]+")
_SELECTOR = compile_late(_ANY_SELECTOR)
_SELECTORS = compile_late(_STRAY_SELECTORS)
_WIDTHLESS = compile_late("[\u200b-\u200d\u2060-\u2064\ufeff\u180e]")
_STRAY = compile_late(_ANY_STRAY)
_STRAY_RUN = compile_late(f"(?:{_ANY_STRAY}){{{ZERO_WIDTHS},}}")
_BIDI = compile_late("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = compile_late("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
_BLANK_SIGN = compile_late("[\u00ad\u3164\uffa0\u115f\u1160\u2800]")
_BLANK = compile_late(_ANY_BLANK)
_UNASSIGNED = compile_late("[\ufdd0-\ufdef\ufffe\uffff\ue000-\uf8ff\U000f0000-\U0010ffff]")
_END = compile_late("\n")
_BREAKS = compile_late("[\u2028\u2029\x85]")
_MARKS = compile_late(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff"
    f"\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{MAX_MARKS + 1},}}"
)
# Most texts hold none of these; one search saves the others.
_ANY_OF_THEM = compile_late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u065f\u0e31-\u0e4e\u115f\u1160\u180e\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u200b-\u200d\u2028-\u202e\u2060-\u206f\u20d0-\u20ff\u2800\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe2f"
    "\ufeff\uffa0\ufffe\uffff\U000e0000-\U0010ffff]"
)
_KIND = "(?:tool|skill|api|table|operation|document|function)"
_NUMBER = r"(?:[-*+\u2022]|[#(\[]?[0-9]{1,3}[.):\]]?)[ \t]+"
# An entry of a list of capabilities: an id, or behind a number a name such as `open-door` or a
# kind in brackets.
_ENTRY = compile_late(
    rf"^[ \t]*(?:{_NUMBER})?(?:>>>|<<<|---|[`*_\[(]{{0,3}}{_KIND}:\S)"
    rf"|^[ \t]*[#(\[]?[0-9]{{1,3}}[.):\]]?[ \t]+(?:[`*_\[]{{0,3}}[a-z0-9]+(?:[-_][a-z0-9]+)+[`*_\]]{{0,3}}"
    rf"[ \t]*(?:[:(\u2013\u2014]|-[ \t]|$)|[^\n]{{1,80}}[ \t][(\[]{_KIND}[)\]])",
    re.MULTILINE,
)
# What steers a reader or a terminal: pattern, code and message.
_STEERING = (
    (
        _BIDI,
        "bidi-control",
        "U+{:04X} turns the direction of text, so that it reads other than it is",
    ),
    (
        _CONTROL,
        "control-character",
        "the control character U+{:04X}, which can steer a terminal",
    ),
)
# Patterns of what shows nothing, each with a sign that begins every match.
_INVISIBLE = (
    (_BLANK, _BLANK_SIGN),
    (_STRAY, _WIDTHLESS),
    (_UNASSIGNED, _UNASSIGNED),
    (_SELECTORS, _SELECTOR),
)
# Shown on one line in lists, so that a line break in one of them makes a line of its own.
_ONE_LINE = frozenset(
    {"name", "id", "kind", "displayname", "title", "category", "tags", "keywords"}
)
# Every pattern looks for characters that are not among these. What is left of a text without them
# is short: where it has no character of a pattern, the text need not be searched.
_PRINTABLE = bytes(range(32, 127)) + b"\t\n"


def invisible_offsets(text: str, start: int = 0, end: int | None = None) -> frozenset[int]:
    """The offsets of characters that show nothing and have no cause, from `start` to `end`.

    >>> sorted(invisible_offsets("a\ufe0f \u2665\ufe0f \u2800"))
    [1, 6]
    """
    if text.isascii():
        return frozenset()
    stop = len(text) if end is None else end
    return frozenset(
        at for match in _SHOWN.finditer(text, start, stop) for at in range(*match.span())
    )


def show_invisible(text: str) -> str:
    """The text with characters that show nothing and have no cause written as `<U+XXXX>`."""
    if text.isascii():
        return text
    return _SHOWN.sub(
        lambda match: "".join(f"<U+{ord(character):04X}>" for character in match[0]), text
    )


def _unusual_characters(value: str) -> str:
    """The text without printable ASCII, tabs and line ends."""
    encoded = value.encode("utf-8", "surrogatepass")
    return encoded.translate(None, _PRINTABLE).decode("utf-8", "surrogatepass")


def _find_matches(
    pattern: re.Pattern[str], sign: re.Pattern[str], value: str
) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, for a pattern whose matches begin with such a sign: to look
    for the sign alone is ten times as fast.
    """
    end = 0
    for place in sign.finditer(value):
        if place.start() >= end and (match := pattern.match(value, place.start())):
            end = match.end()
            yield match


def hidden_text_findings(text: CapabilityText) -> Iterator[Finding]:
    """Findings for what a text hides or steers, the first of each kind."""
    if (place := _line_break(text)) is not None:
        message = (
            f"{text.field[:64]} has a line of its own where a list has one for each capability"
        )
        yield text.finding("line-break-in-field", message, "write it on one line", place)
    unusual = _unusual_characters(text.value)
    if not unusual or not _ANY_OF_THEM.search(unusual):
        return
    hidden = _find_message(text.value, unusual)
    if hidden:
        hint = "remove the characters; their author meant to hide them"
        yield text.finding("hidden-text", hidden[1], hint, hidden[0], Severity.ERROR)
    severity = Severity.WARNING if text.is_body else Severity.ERROR
    for pattern, code, what in _STEERING:
        if pattern.search(unusual) and (match := pattern.search(text.value)):
            message = what.format(ord(match[0]))
            yield text.finding(code, message, "remove it", match.start(), severity)
    if not hidden and (first := _first_invisible(text.value, unusual)):
        message = f"the character U+{ord(first[0][0]):04X} shows nothing, or something else in every font"
        yield text.finding("invisible-character", message, "remove it", first.start())
    if _MARKS.search(unusual) and (match := _MARKS.search(text.value)):
        message = f"more than {MAX_MARKS} marks on one letter"
        is_flood = match.end() - match.start() > MAX_SHOWN_MARKS
        severity = Severity.ERROR if is_flood else Severity.WARNING
        yield text.finding("combining-flood", message, "remove them", match.start(), severity)


def _find_message(value: str, unusual: str) -> tuple[int, str] | None:
    """The offset of a message that nobody sees, and what it is made of."""
    has_tags = _TAGS.search(unusual)
    shown = _FLAG.sub(lambda flag: " " * len(flag[0]), value) if has_tags else ""
    if match := _TAGS.search(shown):
        letters = sum(0x20 <= ord(tag) - 0xE0000 < 0x7F for tag in match[0])
        tail = f", {letters:,} of them letters" if letters else ""
        return match.start(), f"{len(match[0]):,} tag characters, which nobody sees{tail}"
    selectors = [match[0] for match in _find_matches(_SELECTORS, _SELECTOR, value)]
    count, what, offset = len(selectors), "variation selectors", None
    if count >= MAX_SELECTORS or any(len(run) > 1 for run in selectors):
        offset = value.index(selectors[0])
    elif _WIDTHLESS.search(unusual):
        strays = _STRAY.findall(value)
        count, what = len(strays), "characters without width"
        offset = _zero_width_message(value, strays)
    if offset is None:
        return None
    return offset, f"{count:,} {what} where none belong, which can hold a text that nobody sees"


def _zero_width_message(value: str, strays: Sequence[str]) -> int | None:
    """The offset of a message in characters without width: many in a row, or many of two kinds."""
    if run := _STRAY_RUN.search(value):
        return run.start()
    signs = [
        sign for sign, times in Counter(strays).items() if times >= SHARE_OF_A_KIND * len(strays)
    ]
    return value.index(strays[0]) if len(strays) >= SPREAD and len(signs) > 1 else None


def _first_invisible(value: str, unusual: str) -> re.Match[str] | None:
    matches = (
        next(_find_matches(pattern, sign, value), None)
        for pattern, sign in _INVISIBLE
        if sign.search(unusual)
    )
    return min(filter(None, matches), key=re.Match.start, default=None)


def _line_break(text: CapabilityText) -> int | None:
    """The offset of the end of a line that a list shows as a line of its own."""
    if text.is_body:
        return None
    match: re.Match[str] | None = _BREAKS.search(text.value)
    if not match and "\n" in text.value.strip("\n"):
        field = text.field.replace("_", "").replace("-", "").lower()
        match = (_END if field in _ONE_LINE else _ENTRY).search(text.value)
    return match.start() if match else None
