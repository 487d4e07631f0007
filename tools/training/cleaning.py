"""What a translated text must be to teach anything: words, little markup, in the script of its language."""

from __future__ import annotations

import re

LANGUAGES = "de fr es it pt nl pl cs ru uk zh ja sv da nb fi hu tr ro ko el bg sk hr sr sl ca ar he fa hi id vi zh-tw".split()
SAME_LANGUAGE = dict(
    pair.split(":")
    for pair in (
        "zh-cn:zh zh-hans:zh zh-hant:zh-tw pt-br:pt pt-pt:pt es-es:es hi-in:hi nb-no:nb sv-se:sv sr-cyrl:sr sr-latn:sr "
        "no:nb iw:he in:id"
    ).split()
)
SCRIPTS = {
    **dict.fromkeys(("ru", "uk", "bg"), "\u0400-\u04ff"),
    **dict.fromkeys(("zh", "zh-tw"), "\u4e00-\u9fff"),
    **dict.fromkeys(("ar", "fa"), "\u0600-\u06ff"),
    "ja": "\u3040-\u30ff\u4e00-\u9fff",
    "ko": "\uac00-\ud7af",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "hi": "\u0900-\u097f",
}
IN_SCRIPT = {language: re.compile(f"[{span}]") for language, span in SCRIPTS.items()}

MAX_CHARS = 200
MAX_HOLES = 3
HOLE = re.compile(
    r"%\([^)]*\)[a-z]|%L?[0-9]+|%[-+#0-9.$*]*(?:l|ll|z)?[a-zA-Z]\b|\$?\{[^}]*\}|\$[A-Za-z_(]+\)?|@[A-Z]+@"
)
MARKUP = re.compile(
    r"<[^<>]{1,200}>|&(?:amp|lt|gt|quot|nbsp|apos);|https?://\S+|\\[ntr]|[\x00-\x1f]+"
)
EASTERN_MNEMONIC = re.compile(r"\s*[(（][_&~][A-Za-z0-9][)）]")
MNEMONIC = re.compile(r"(?<![\w])[_&~](?=\w)|(?<=\w)[_&](?=[^\W_])(?=\w*(?:\W|$))")
NOT_TEXT = re.compile(
    r"(?i:translator|\.(?:ui|svg|png|html|desktop)\b)|^[A-Z0-9_ ]*_[A-Z0-9_ ]*$|[a-z]+_[a-z]+|::|->|[|\\]|^-"
)
EDGES = " \t.…:;,*•-–=\"'«»„“”"
WORD = re.compile(r"[A-Za-z]{2,}")


def language_of(tag: str) -> str | None:
    """Our name for a language as catalogues write it; None for a variety or language that is not learned.

    >>> [language_of(tag) for tag in ("de", "pt_BR", "zh_CN", "sr@latin", "de_AT", "tlh")]
    ['de', 'pt', 'zh', 'sr', None, None]
    """
    plain = tag.replace("_", "-").lower().removesuffix("@latin").removesuffix(".utf-8")
    plain = SAME_LANGUAGE.get(plain, plain)
    return plain if plain in LANGUAGES else None


def clean(text: str) -> str:
    """The text without markup, placeholders and mnemonics; empty if that leaves holes everywhere.

    >>> [clean(text) for text in ("<b>_Open</b> the file %s...", "开始(_S)", "%d of %d in %s to %s")]
    ['Open the file', '开始', '']
    """
    text = EASTERN_MNEMONIC.sub("", MARKUP.sub(" ", text))
    if len(HOLE.findall(text)) > MAX_HOLES:
        return ""
    text = HOLE.sub(" ", text)
    if text.count("_") + text.count("&") + text.count("~") == 1:
        text = MNEMONIC.sub("", text)
    return " ".join(text.split()).strip(EDGES)


def is_pair(language: str, english: str, translation: str) -> bool:
    """True if both are texts of a useful length and the translation is one."""
    if not (2 <= len(english) <= MAX_CHARS and 1 <= len(translation) <= MAX_CHARS + 50):
        return False
    if english.casefold() == translation.casefold() or (
        not english.isascii() and not WORD.search(english)
    ):
        return False
    letters = sum(map(len, WORD.findall(english)))
    if letters < 0.6 * len(english) or NOT_TEXT.search(english):
        return False
    script = IN_SCRIPT.get(language)
    return script is None or bool(script.search(translation))
