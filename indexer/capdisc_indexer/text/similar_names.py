"""Which known names are nearest to one that was typed, and the errors that say so.

Names are compared as a query's words are: without case and separators, so that `base_readQuery`
is `base-read-query`; by the letters that two words share; and last by their truncated stem or a
word within the name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.text.embedding_text import truncate_stem
from capdisc_indexer.text.normalization import name_first, one_line

# Share of letters that two names have in common. Over the ids of 2,656 capabilities, 0.5 named
# three strangers for `nosuch`; 0.6 still names the right one for a letter too many, too few,
# wrong or swapped in a name of three letters.
_CUTOFF = 0.6
_MIN_PART_LETTERS = 3
_MAX_LETTERS = 100
_MAX_LISTED_NAMES = 20
_NAME_CHARACTERS = 40


def compact_name(name: str) -> str:
    """The name without case and separators, so that all spellings of it are equal.

    >>> compact_name("base_readQuery") == compact_name("base-read-query") == compact_name("BASE_READQUERY")
    True
    """
    return "".join(filter(str.isalnum, name)).lower()


def nearest_names(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The most similar of the known names, best first, at most `limit`.

    >>> nearest_names("finanse", ["finance", "home"]), nearest_names("database", ["database-server"])
    (['finance'], ['database-server'])
    """
    from difflib import get_close_matches

    by_form = {compact_name(known_name): known_name for known_name in names}
    form = compact_name(name[:_MAX_LETTERS])
    close = get_close_matches(form, by_form, n=limit, cutoff=_CUTOFF)
    close = close or [known for known in by_form if _shares_word(form, by_form[known])][:limit]
    return [by_form[known] for known in close]


def _shares_word(form: str, known_name: str) -> bool:
    """Whether the typed form is a part of the name, or has the truncated stem of a word of it."""
    known_form = compact_name(known_name)
    shorter, longer = sorted((form, known_form), key=len)
    if len(shorter) >= _MIN_PART_LETTERS and longer.startswith(shorter):
        return True
    stems = truncate_stem(form).split()
    return bool(stems) and not set(stems).isdisjoint(truncate_stem(known_name.lower()).split())


def suggest_names(name: str, names: Iterable[str]) -> str:
    """`did you mean a, b or c?`; "" where no name is similar."""
    near = [one_line(known_name, 80) for known_name in nearest_names(name, names)]
    choices = " or ".join(filter(None, (", ".join(near[:-1]), *near[-1:])))
    return f"did you mean {choices}?" if near else ""


def hint_names(name: str, names: Collection[str], introduction: str = "one of") -> str:
    """The hint on an unknown name: the nearest one, and the first of all names in order.

    >>> hint_names("jsn", ["json", "table"])
    'did you mean json? one of: json, table'
    """
    listed = [one_line(known_name, _NAME_CHARACTERS) for known_name in names]
    listing = f"{introduction}: {name_first(listed, _MAX_LISTED_NAMES)}"
    return " ".join(filter(None, (suggest_names(name, names), listing)))


def unknown_choice(label: str, name: str, choices: Collection[str]) -> UsageError:
    """The error for a value that is not one of the choices: `unknown format 'jsn'`."""
    shown = one_line(name, _NAME_CHARACTERS)
    return UsageError(f"unknown {label} {shown!r}", hint_names(name, choices))
