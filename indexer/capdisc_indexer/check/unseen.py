"""Characters that show nothing, where they have no cause to stand. All patterns are texts, to be put together."""

from __future__ import annotations

import re

# Scripts and emoji whose letters joiners and zero-width blanks stand between.
JOINING = "\u0600-\u08ff\u0900-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
STRAY = f"(?<![{JOINING}])[\u200b-\u200d\u2060-\u2064\ufeff\u180e]"
# Fillers are parts of old Korean syllables, and an empty cell is a blank to readers of Braille.
_KOREAN = "\u115f(?![\u1161-\u11a7\ud7b0-\ud7c6])|(?<![\u1100-\u115e\ua960-\ua97c])\u1160"
_BRAILLE = "(?<![\u2800-\u28ff])(?<![\u2801-\u28ff] )\u2800++(?! ?[\u2801-\u28ff])"
BLANK = f"[\u00ad\u3164\uffa0]|{_KOREAN}|{_BRAILLE}"
# One selector chooses the form of an ideograph, a symbol or an emoji; there are never two, nor one after a letter.
_ANY_SELECTOR = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_OF_IDEOGRAPHS = "(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
_AFTER_LETTER = "(?<=[A-Za-z\u00c0-\u058f])[\ufe00-\ufe0f]"
SELECTORS = f"{_ANY_SELECTOR}{{2}}|{_OF_IDEOGRAPHS}|{_AFTER_LETTER}"
LONE_SELECTORS = f"(?<={_ANY_SELECTOR}){_ANY_SELECTOR}|{_OF_IDEOGRAPHS}|{_AFTER_LETTER}"
# What can have forms to choose from: figures of keys, signs, symbols, ideographs, a few scripts of Asia, emoji.
_WITH_FORMS = (
    "#*0-9\u00a9\u00ae\u1000-\u109f\u2010-\u2bff\u3000-\u9fff\ua840-\ua87f\uaa60-\uaa7f\uf900-\ufaff\uff00-\uff60"
    "\U00010ac0-\U00010aff\U00013000-\U00013fff\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
_SHOWN = re.compile(f"{STRAY}|{BLANK}|{LONE_SELECTORS}|(?<![{_WITH_FORMS}])[\ufe00-\ufe0f]")


def unseen(text: str, start: int = 0, end: int | None = None) -> frozenset[int]:
    """The offsets of what shows nothing without a cause, in that part of the text.

    >>> sorted(unseen("a\ufe0f \u2665\ufe0f \u2800"))
    [1, 6]
    """
    if text.isascii():
        return frozenset()
    last = len(text) if end is None else end
    return frozenset(at for found in _SHOWN.finditer(text, start, last) for at in range(*found.span()))


def shown(text: str) -> str:
    """The text with those characters as `<U+XXXX>`."""
    if text.isascii():
        return text
    return _SHOWN.sub(lambda found: "".join(f"<U+{ord(each):04X}>" for each in found[0]), text)
