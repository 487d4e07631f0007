"""The rules for names and ids that all formats share: which texts can be names, how a name is
cleaned, which letters are drawn alike, and whose an id is where several files define it.

Ids that differ in capital letters alone are the same id: people and models mix them up, and so do
file systems. The first file in the order of the scan owns the id, for `index` and for `validate`;
what happens to a later claim depends on how it differs.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from pathlib import PurePath
from types import MappingProxyType
from typing import NamedTuple

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import to_nfc
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import compile_late, one_line, space_identifiers

LONGEST_NAME = 256  # characters; of a longer one, the id has the beginning and a digest
MAX_NAME = 64  # characters; the Agent Skills format allows no more
MAX_ID = 256
# Letters that are drawn alike, beyond those that Unicode's normal forms fold: Cyrillic or Greek,
# then Latin.
_LOOKALIKE_PAIRS = (
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw кk тt мm нh вb АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS "
    "οo αa νv ρp τt υu κk ιi ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX"
)
LOOKALIKES = MappingProxyType(
    str.maketrans({pair[0]: pair[1] for pair in _LOOKALIKE_PAIRS.split()})
)
_NAME = compile_late(r"[\w./ -]+")
_UPWARDS = compile_late(r"\.\.+")
_SLASHES = compile_late(r"/(?: ?/)* ?")
_NOT_IN_ID = compile_late(r"[^\w.-]+")
_NOT_IN_KIND = compile_late(r"[^\w]+")
_LETTERS = compile_late(r"[^\W\d_]+")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")
_RARE_SCRIPTS = frozenset({"Armenian", "Cherokee"})  # LOOKALIKES has no letters of these
# Signs that tell names apart: C, C++ and C#.
_SPELT_SIGNS = compile_late(r"\+|(?<=\w)#")
_MAX_KIND = 64
_SHORT_NAME_WORDS, _SHORT_NAME_CHARACTERS = 8, 60
_HARMFUL = compile_late(r"^[./~-]|\.\.|[$`|;<>\\\"*?{}\x00-\x1f\x7f]|[^\w\s!-~]")
_DASHES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
)
_ESCAPE = compile_late(r"\\([_.-])")
_SECRET = compile_late(r"[A-Z][A-Z0-9_]{0,127}")


def clean_name(text: str) -> str:
    """The name in normal form (NFKC), on one line, without blanks around it."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def mended_name(text: str) -> str:
    """The name without the changes that editors make: typographic dashes become hyphens, and
    Markdown's backslashes and leading hyphens are removed. "" if nothing else is in it.

    >>> mended_name("Plan \u2014 Build"), mended_name("my\\\\_skill"), mended_name("-draft")
    ('Plan - Build', 'my_skill', 'draft')
    """
    return _ESCAPE.sub(r"\1", text.translate(_DASHES)).lstrip("- ")


def is_plain_name(name: str) -> bool:
    """Whether a name holds only letters, digits, blanks and `-_./`, and is not a path upwards.

    >>> is_plain_name("pdf-merge"), is_plain_name("../pdf"), is_plain_name("$(ls)")
    (True, False, False)
    """
    letters = name if name.isascii() else _without_marks(name)
    return bool(_NAME.fullmatch(letters)) and not name.startswith((".", "/")) and ".." not in name


def _without_marks(text: str) -> str:
    """The text without combining marks, which many scripts write vowels with."""
    return "".join(char for char in text if not _is_mark(char))


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def usable_name(written: str) -> str:
    """The name as written if it is plain, else what is safe of it; "" where nothing is.

    >>> usable_name("Staff  Handbook"), usable_name("/v1/pay")
    ('Staff Handbook', 'v1/pay')
    """
    name = " ".join(to_nfc(written).split())
    return name if len(name) <= LONGEST_NAME and is_plain_name(name) else safe_name(written)


def safe_name(written: str) -> str:
    """The name that an id is made of: plain, at most LONGEST_NAME characters, "" where nothing
    is left. Signs become blanks, except those that tell names apart; of symbols alone, it has
    their Unicode names.

    >>> safe_name("/v1/pay (card)"), safe_name("../../etc"), safe_name("C++"), safe_name("\U0001f680")
    ('v1/pay card', 'etc', 'C plus plus', 'rocket')
    """
    name = clean_name(one_line(written))
    plain = name if is_plain_name(name) else _replace_signs(name)
    if not any(map(str.isalnum, plain)):
        names = (unicodedata.name(char, "") for char in name[:_MAX_KIND] if not char.isspace())
        plain = " ".join(re.findall(r"[a-z0-9]+", " ".join(names).lower()))
    if len(plain) <= LONGEST_NAME:
        return plain
    import hashlib

    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{_cut_at_blank(plain, MAX_NAME)} {digest}"


def _replace_signs(name: str) -> str:
    """The name with a blank for each sign, without parts that lead upwards in a path."""
    spelt = _SPELT_SIGNS.sub(lambda sign: " plus " if sign[0] == "+" else " sharp ", name)
    text = "".join(
        char if char in "_./- " or char.isalnum() or _is_mark(char) else " " for char in spelt
    )
    parts = " ".join(_UPWARDS.sub(" ", text).split())
    return _SLASHES.sub("/", parts).strip("./- ")


def _cut_at_blank(text: str, limit: int) -> str:
    cut, blank, _ = text[: limit + 1].rpartition(" ")
    return cut if blank and len(cut) > limit // 2 else text[:limit]


def short_name(text: str) -> str:
    """A name of the first words of a text; "" for a text without letters.

    >>> short_name("Counts the digits of a number. Then adds them.")
    'Counts the digits of a number'
    """
    sentence = re.split(r"[.:;!?](?=\s|$)", text.strip(), maxsplit=1)[0]
    words = safe_name(" ".join(sentence.split()[:_SHORT_NAME_WORDS]))
    return _cut_at_blank(words, _SHORT_NAME_CHARACTERS)


def read_kind(written: str) -> str:
    """The kind as one word of letters, digits, `-` and `_` in lower case; "" where none is left.

    >>> read_kind("MCP Tool"), read_kind("mcp_tool"), read_kind("?!")
    ('mcp-tool', 'mcp_tool', '')
    """
    words = _NOT_IN_KIND.sub("-", clean_name(written).lower())
    return words.strip("-_")[:_MAX_KIND].rstrip("-_")


@frozen
class NameProblem:
    """Why a text is not a plain name. `is_refused` if it poses as another name; `is_harmful` if a
    careless program could be misled by it.
    """

    code: str
    message: str
    is_harmful: bool = True
    is_refused: bool = False


def name_problem(written: str) -> NameProblem | None:
    """The reason why this text is not a plain name (characters of paths, shells and markup, or
    letters that pass for others), or None.

    >>> name_problem("caf\u00e9-menu"), name_problem("p\u0430ypal").code, name_problem("\uff30\uff24\uff26").code
    (None, 'confusable-name', 'field-value')
    """
    name = clean_name(written)
    if mixed := _mixed_scripts(name):
        message = f"the name mixes letters of {' and '.join(sorted(mixed))} in one word"
        return NameProblem("confusable-name", message, is_refused=True)
    if len(name) > LONGEST_NAME:
        return NameProblem(
            "field-too-long", f"the name has {len(name):,} characters, more than {LONGEST_NAME}"
        )
    if not is_plain_name(name):
        message = (
            f"the name {name[:MAX_NAME]!r} holds other characters than letters, digits and - _ . /"
        )
        return NameProblem("field-value", message, bool(_HARMFUL.search(_without_marks(name))))
    if name != " ".join(to_nfc(written).split()):
        return NameProblem(
            "field-value",
            "the name is written with letters in another form, such as full-width ones",
        )
    if not name.isascii() and name.translate(LOOKALIKES).isascii():
        return NameProblem("confusable-name", "every letter of the name passes for a Latin one")
    return None


def _mixed_scripts(name: str) -> set[str]:
    """The scripts of a word that holds letters of one script among those of another that look
    like them; none where words of several scripts stand next to each other.
    """
    for word in () if name.isascii() else _LETTERS.findall(name):
        mixed = scripts(word)
        if len(mixed) > 1 and (word.translate(LOOKALIKES) != word or mixed & _RARE_SCRIPTS):
            return mixed
    return set()


def scripts(name: str) -> set[str]:
    """The scripts of the name among those with letters that look alike; none for a name in ASCII.

    >>> scripts("plain"), sorted(scripts("p\u0430ypal"))
    (set(), ['Cyrillic', 'Latin'])
    """
    if name.isascii():
        return set()
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in name if letter.isalpha()}
    return {name.capitalize() for name in names if name in _SCRIPTS}


def plain_look(text: str) -> str:
    """What a reader takes the text for: with Latin letters for those that are drawn like them, in
    the usual width and without regard to case.

    >>> plain_look("skill:\u0440\u0441"), plain_look("\uff30\uff24\uff26")
    ('skill:pc', 'pdf')
    """
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKC", text).translate(LOOKALIKES).casefold()


def is_secret_name(text: str) -> bool:
    """Whether the text is the name of a secret, such as API_KEY, and not the secret itself."""
    return bool(_SECRET.fullmatch(text))


def name_of(file: FoundFile) -> str:
    """The name that a declaration gives this very file, else the file's name without its ending;
    it can be part of an id.
    """
    return (
        (plain_part(file.name) if file.is_alone else "")
        or plain_part(printable_path(PurePath(file.path).stem))
        or file.format
    )


def folder_of(file: FoundFile) -> str:
    """The name that a declaration gives, else that of the file's folder."""
    return (
        plain_part(file.name)
        or plain_part(printable_path(PurePath(file.path).parent.name))
        or file.format
    )


def plain_part(text: str) -> str:
    """The text with hyphens in place of all characters but letters, digits, dots and underscores,
    and none at its ends; at most 120 characters.

    >>> plain_part("Staff Handbook (2024)")
    'Staff-Handbook-2024'
    """
    return _NOT_IN_ID.sub("-", to_nfc(one_line(text))).strip("-.")[:120]


def name_in_words(name: str) -> str:
    """A name as words, for a capability without a description; the name where it has no words.

    >>> name_in_words("list_openIssues")
    'list open Issues'
    """
    return " ".join(space_identifiers(re.sub(r"[_\W]+", " ", name)).split()) or name


class ClaimOutcome(StrEnum):
    """What becomes of a capability whose id an earlier one has."""

    COPY = "copy"  # the same file twice: one of them is enough
    SHADOWED = "shadowed"  # an earlier root wins
    DUPLICATE = "duplicate"  # a manifest declares its id, so that a second one is left out
    QUALIFIED = "qualified"  # collections use a name in several folders: indexed under a longer id


class IdClaim(NamedTuple):
    """A file that defines an id. `root` is whatever tells one root from another; `is_declared`
    says that a manifest names the id, rather than a folder or a list.
    """

    path: str
    content_hash: str
    root: str | int
    is_declared: bool


def fold_id(identifier: str) -> str:
    """The id without regard to capital letters and Unicode form, for comparing.

    >>> fold_id("skill:PDF") == fold_id("skill:pdf")
    True
    """
    return to_nfc(identifier).casefold()


def judge_claim(owner: IdClaim, claim: IdClaim) -> ClaimOutcome:
    """What becomes of a claim to an id that `owner` has."""
    if owner.content_hash == claim.content_hash and owner.path != claim.path:
        return ClaimOutcome.COPY
    if owner.root != claim.root:
        return ClaimOutcome.SHADOWED
    return ClaimOutcome.DUPLICATE if claim.is_declared else ClaimOutcome.QUALIFIED
