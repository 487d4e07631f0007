"""The rules that every format shares for names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.sources.readers.field_reader import Fields

# The fields of a CAPABILITY.yaml and the keys they are known by; case, `_` and `-` in a key do
# not matter.

MAX_UNKNOWN = 20

MANIFEST_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "kind": ("kind",),
        "description": ("description",),
        "id": ("id",),
        "title": ("displayName", "title"),
        "category": ("category",),
        "tags": ("tags",),
        "keywords": ("keywords",),
        "phrases": ("phrases",),
        "examples": ("examples",),
        "queries": ("hypotheticalQueries",),
        "requires": ("requires", "requiredTools"),
        "secrets": ("requiredSecrets", "secrets"),
        "bins": ("requiredBins", "bins"),
        "composed_with": ("composedWith",),
        "related": ("related", "relatedTo"),
        "edges": ("edges",),
        "risk": ("riskLevel", "risk"),
        "has_side_effects": ("hasSideEffects",),
        "confirm": ("requiresConfirmation",),
        "available": ("available",),
        "hidden": ("hidden",),
        "schema": ("inputSchema", "schema", "parameters"),
        "output_schema": ("outputSchema",),
        "content": ("skillContent",),
        "usage_hint": ("usageHint",),
        "guidance": ("guidance",),
        "instructions": ("instructions",),
        "extract": ("extraction",),
        "run": ("run",),
        "metadata": ("metadata",),
        "version": ("version",),
        "author": ("author",),
        "license": ("license",),
        "homepage": ("homepage",),
    }
)
EXTRA_FIELDS = ("version", "author", "license", "homepage")


def warn_of_unknown(fields: Fields) -> None:
    """Notes each key that means nothing here, with the nearest one that does."""
    known_keys = [key for keys in MANIFEST_FIELDS.values() for key in keys]
    for key, entry in list(fields.others.items())[:MAX_UNKNOWN]:
        fields.warn_at(
            entry,
            "unknown-key",
            f"unknown key {key[:64]!r}; not read",
            _suggestion(key, known_keys),
        )


def _suggestion(key: str, known_keys: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key[:64], known_keys, n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else "put other facts below metadata"


LONGEST_NAME = 256  # of any format; beyond that, nothing is read as a name
MAX_NAME = 64  # characters; the Agent Skills format allows no more

# What is drawn alike, beyond what Unicode's own normal forms fold: Cyrillic and Greek letters.
_DRAWN = (
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw кk тt мm нh вb АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS "
    "οo αa νv ρp τt υu κk ιi ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX"
)
LOOKALIKES = MappingProxyType(str.maketrans({pair[0]: pair[1] for pair in _DRAWN.split()}))

_NAME = re.compile(r"[\w./ -]+")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")
_HARMFUL = re.compile(r"^[./~-]|\.\.|[$`|;<>\\\"*?{}\x00-\x1f\x7f]|[^\w\s!-~]")
_DASHES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
)
_ESCAPE = re.compile(r"\\([_.-])")
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,127}")


def clean_name(text: str) -> str:
    """The name in normal form (NFKC), on one line, without blanks around it."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def mended_name(text: str) -> str:
    """The name without what editors make of it: typographic dashes are hyphens, Markdown's
    backslashes and hyphens at its beginning are left out. Empty where nothing else is in it.

    >>> mended_name("Plan \u2014 Build"), mended_name("my\\\\_skill"), mended_name("-draft")
    ('Plan - Build', 'my_skill', 'draft')
    """
    return _ESCAPE.sub(r"\1", text.translate(_DASHES)).lstrip("- ")


def is_plain_name(name: str) -> bool:
    """Whether a name holds only letters, digits, blanks and `-_./`, and does not climb.

    >>> is_plain_name("pdf-merge"), is_plain_name("../pdf"), is_plain_name("$(ls)")
    (True, False, False)
    """
    return bool(_NAME.fullmatch(name)) and not name.startswith((".", "/")) and ".." not in name


@frozen
class NameProblem:
    """Why a name cannot be one; `is_harmful` where a careless program would do something with
    it.
    """

    code: str
    message: str
    is_harmful: bool = True


def name_problem(written: str) -> NameProblem | None:
    """What keeps this text from being a name: characters of paths, shells and markup, or letters
    that pass for others.

    >>> name_problem("caf\u00e9-menu"), name_problem("p\u0430ypal").code, name_problem("\uff30\uff24\uff26").code
    (None, 'confusable-name', 'field-value')
    """
    name = clean_name(written)
    if len(name) > LONGEST_NAME:
        return NameProblem(
            "field-too-long", f"the name has {len(name):,} characters, more than {LONGEST_NAME}"
        )
    if not is_plain_name(name):
        message = (
            f"the name {name[:MAX_NAME]!r} holds other characters than letters, digits and - _ . /"
        )
        return NameProblem("field-value", message, bool(_HARMFUL.search(name)))
    if name != " ".join(unicodedata.normalize("NFC", written).split()):
        return NameProblem(
            "field-value",
            "the name is written with letters in another form, such as full-width ones",
        )
    if len(scripts(name)) > 1:
        return NameProblem(
            "confusable-name", f"the name mixes letters of {' and '.join(sorted(scripts(name)))}"
        )
    if not name.isascii() and name.translate(LOOKALIKES).isascii():
        return NameProblem("confusable-name", "every letter of the name passes for a Latin one")
    return None


def scripts(name: str) -> set[str]:
    """Which of the scripts whose letters are taken for each other the name uses; one without
    non-ASCII letters: none.

    >>> scripts("plain"), sorted(scripts("p\u0430ypal"))
    (set(), ['Cyrillic', 'Latin'])
    """
    if name.isascii():
        return set()
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in name if letter.isalpha()}
    return {name.capitalize() for name in names if name in _SCRIPTS}


def is_secret_name(text: str) -> bool:
    """Whether the text is the name of a secret, as environment variables are named, and not the
    secret.
    """
    return bool(_SECRET.fullmatch(text))
